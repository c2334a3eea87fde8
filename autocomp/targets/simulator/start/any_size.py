"""A kernel for every size of an operation, which takes sizes and strides as arguments.

The vendor's own routine where the description names one, else the plain loops over tiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.parser import parse
from autocomp.targets.simulator.kernel.printer import print_kernel
from autocomp.targets.simulator.start.fold import fold_kernel
from autocomp.targets.simulator.start.idioms import c_type, fill
from autocomp.targets.simulator.start.naive import gemm_holes, tiled_gemm
from autocomp.workload.model import TensorSpec, Workload

NAME = "any_size"  # the function
STRIDE = "stride_"  # and the tensor's name: elements from row to row


def gemm_of_any_size(workload: Workload, accelerator: Accelerator, arguments: Sequence[str]) -> str:
    """The text of a function whose parameters are pointers to the tensors, then int I, J, K, then for A, B and C the
    strides in elements, then `arguments`, options of type float. Other options are those of the workload, whose own
    sizes do not matter; biases have no gaps.

    Raises ConfigError when the machine's description lacks an idiom that the operation needs.
    """
    apart = strided(workload)
    holes = gemm_holes(workload) | {name: name for name in arguments}
    holes |= {f"stride_{t.name.lower()}": f"{np.dtype(t.dtype).itemsize} * {STRIDE}{t.name}" for t in apart}
    holes["stride_bias"] = "4 * J" if workload.options["bias"] == "full" else "0"
    pointers = ", ".join(f"{c_type(t.dtype)} *{t.name}" for t in workload.tensors)
    integers = ", ".join(f"int {name}" for name in [*"IJK", *(f"{STRIDE}{t.name}" for t in apart)])
    head = f"void {NAME}({', '.join([pointers, integers, *(f'float {name}' for name in arguments)])})"
    if accelerator.idiom("gemm_library") is not None:
        return _by_library(workload, accelerator, head, holes)
    return tiled_gemm(workload, accelerator, head, {name: name for name in "IJK"}, holes | _pointers(workload))


def strided(workload: Workload) -> tuple[TensorSpec, ...]:
    """The tensors whose rows may lie apart."""
    return tuple(tensor for tensor in workload.tensors if tensor.name != "bias")


def _by_library(workload: Workload, accelerator: Accelerator, head: str, holes: Mapping[str, str]) -> str:
    whole = {name: name for name in ("A", "B", "C")} | {f"size_{name.lower()}": name for name in "IJK"}
    whole["bias"] = "0" if workload.options["bias"] == "none" else "bias"
    text = f"{head} {{ {fill(accelerator, 'gemm_library', {**holes, **whole})} }}"
    return print_kernel(fold_kernel(parse(text, f"<library kernel of {workload.operation} of any size>")))


def _pointers(workload: Workload) -> dict[str, str]:
    options = workload.options

    def at(tensor: str, place: str, stride: str) -> str:
        return f"{tensor} + ({place[0]} * {stride} + {place[1]})"

    return {
        "A": at("A", "ki" if options["transpose_a"] else "ik", f"{STRIDE}A"),
        "B": at("B", "jk" if options["transpose_b"] else "kj", f"{STRIDE}B"),
        "C": at("C", "ij", f"{STRIDE}C"),
        "bias": {"none": "0", "row": "bias + j", "full": at("bias", "ij", "J")}[options["bias"]],
        "first": "k == 0",
    }
