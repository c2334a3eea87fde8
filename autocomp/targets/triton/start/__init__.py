"""Starting kernels: one for each operation, as plain as a textbook has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autocomp.errors import ConfigError
from autocomp.targets.triton.start.attention import attention, rotary
from autocomp.targets.triton.start.products import fused_mlp, matmul, scaled_matmul
from autocomp.targets.triton.start.rows import cross_entropy, layernorm, rmsnorm, softmax, sum_of_rows

Dims = Mapping[str, int]
_STARTS: dict[str, Callable[[Dims, Mapping[str, Any]], str]] = {
    "matmul": matmul,
    "scaled_matmul": scaled_matmul,
    "fused_mlp": fused_mlp,
    "softmax": softmax,
    "layernorm": layernorm,
    "rmsnorm": rmsnorm,
    "sum": sum_of_rows,
    "cross_entropy": cross_entropy,
    "attention": attention,
    "rotary": rotary,
}


def starting_kernel(operation: str, dims: Dims, options: Mapping[str, Any]) -> str:
    """The text of the kernel that a search of an operation starts from. Raises ConfigError for an operation without
    one."""
    if operation not in _STARTS:
        raise ConfigError(
            f"there is no starting kernel for operation {operation!r}",
            hint="name one in the workload file: `kernel: FILE.py`",
        )
    return _STARTS[operation](dims, options)
