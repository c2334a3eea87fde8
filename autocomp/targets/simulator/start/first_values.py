"""The values that sums start from where an image is padded: none of their products need be one of a whole tile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.start.idioms import boolean, c_type, known_options
from autocomp.targets.simulator.start.requirements import takes_null
from autocomp.workload.model import Workload

ZEROS = "zeros"


@dataclass(frozen=True)
class FirstValues:
    """A declaration at the kernel's beginning, holes of all idioms, and those of a product before all others, if there
    is one."""

    declared: str = ""
    holes: Mapping[str, str] = field(default_factory=dict)
    product: Mapping[str, str] = field(default_factory=dict)


def first_values(workload: Workload, accelerator: Accelerator, size: tuple[int, int, int]) -> FirstValues:
    """Sums start from biases, or from 0 before the first product, where the machine's idioms do that. Else zeros are
    loaded as biases; or, on a machine without biases, one product with zeros comes before the others."""
    rows, cols, depth = size
    tile = accelerator.idiom("gemm_tile")
    if workload.options["bias"] != "none" or tile is None or "first" not in tile.parameters:
        return FirstValues()
    if "bias" not in known_options(accelerator):
        declared = f"static {c_type(workload.tensors[0].dtype)} {ZEROS}[{max(rows, depth)}];"
        product = {"A": f"&{ZEROS}[0]", "stride_a": "0", "first": boolean(True)}
        return FirstValues(declared, {"first": boolean(False)}, product)
    if takes_null(accelerator, "gemm_begin"):
        return FirstValues(holes={"has_bias": boolean(True)})
    sums = "int32_t" if workload.tensors[0].dtype == "int8" else "float"
    declared = f"static {sums} {ZEROS}[{cols}];"
    return FirstValues(declared, {"has_bias": boolean(True), "bias": f"&{ZEROS}[0]"})
