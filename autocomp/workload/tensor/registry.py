"""The operations by name."""

from __future__ import annotations

from autocomp.data import closest
from autocomp.errors import ConfigError
from autocomp.workload.tensor.attention import Attention, FusedMlp, Rotary
from autocomp.workload.tensor.matmul import MatMul, ScaledMatMul
from autocomp.workload.tensor.operation import Operation
from autocomp.workload.tensor.rows import CrossEntropy, LayerNorm, RmsNorm, Softmax, Sum

OPERATIONS: dict[str, Operation] = {
    known.name: known
    for known in (
        MatMul(),
        ScaledMatMul(),
        Softmax(),
        LayerNorm(),
        RmsNorm(),
        Sum(),
        CrossEntropy(),
        Attention(),
        Rotary(),
        FusedMlp(),
    )
}


def operation(name: str) -> Operation:
    """The operation of a name. Raises ConfigError with the closest name."""
    if name not in OPERATIONS:
        near = closest(name, list(OPERATIONS))
        hint = (f"did you mean {near!r}? " if near else "") + f"operations: {', '.join(OPERATIONS)}"
        raise ConfigError(f"no operation on tensors named {name!r}", hint=hint)
    return OPERATIONS[name]
