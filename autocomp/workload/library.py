"""The vendor's own way to do an operation, as a kernel: what a search has to be compared with."""

from __future__ import annotations

from autocomp.isa.model import Accelerator
from autocomp.kernel.parser import parse
from autocomp.kernel.printer import print_kernel
from autocomp.workload.fold import fold_kernel
from autocomp.workload.idioms import fill, signature
from autocomp.workload.model import Workload
from autocomp.workload.naive import gemm_holes


def library_kernel(workload: Workload, accelerator: Accelerator) -> str | None:
    """A kernel that calls the library routine that the description names for a matrix multiplication (its idiom
    `gemm_library`), or None where it names none. Not every routine can do every workload: evaluate it."""
    if workload.operation != "gemm" or accelerator.idiom("gemm_library") is None:
        return None
    pointers = {name: name for name in ("A", "B", "C")}
    pointers["bias"] = "bias" if workload.options["bias"] != "none" else "0"
    extents = {f"size_{letter.lower()}": str(extent) for letter, extent in workload.dims.items()}
    call = fill(accelerator, "gemm_library", {**gemm_holes(workload), **pointers, **extents})
    text = f"{signature(workload.tensors)} {{ {call} }}"
    return print_kernel(fold_kernel(parse(text, f"<library kernel of {workload.name}>")))
