"""The vendor's own way to do an operation, as a kernel: what a search has to be compared with."""

from __future__ import annotations

from collections.abc import Mapping

from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.start.fold import folded
from autocomp.targets.simulator.start.idioms import boolean, fill, scale_holes, signature
from autocomp.targets.simulator.start.naive import gemm_holes
from autocomp.workload.convolution import convolution
from autocomp.workload.model import Workload


def library_kernel(workload: Workload, accelerator: Accelerator) -> str | None:
    """A kernel that calls the library routine that the description names for the operation (its idioms `gemm_library`
    and `conv_library`), or None where it names none. Not every routine can do every workload: evaluate it."""
    makers = {"gemm": ("gemm_library", _gemm), "conv2d": ("conv_library", _convolution)}
    idiom, holes = makers.get(workload.operation, ("", None))
    if holes is None or accelerator.idiom(idiom) is None:
        return None
    values = holes(workload)
    if values is None:
        return None
    text = f"{signature(workload.tensors)} {{ {fill(accelerator, idiom, values)} }}"
    return folded(text, f"<library kernel of {workload.name}>")


def _gemm(workload: Workload) -> Mapping[str, str]:
    pointers = {name: name for name in ("A", "B", "C")}
    return {**gemm_holes(workload), **pointers, "bias": _bias(workload), **_sizes(workload)}


def _convolution(workload: Workload) -> Mapping[str, str] | None:
    """The holes of `conv_library`; None for what has no hole, as `one_for_all` says, and rectangular filters."""
    dims = workload.dims
    shape = convolution(dims, workload.options)
    if dims["R"] != dims["S"] or not one_for_all(workload):
        return None
    results = {"size_p": str(shape.rows.results), "size_q": str(shape.cols.results)}
    return {**convolution_holes(workload), **_sizes(workload), **results}


def one_for_all(workload: Workload) -> bool:
    """True without groups, and where strides, dilations and paddings do not differ from side to side."""
    options = workload.options
    return options["groups"] == 1 and all(isinstance(options[n], int) for n in ("stride", "padding", "dilation"))


def convolution_holes(workload: Workload) -> dict[str, str]:
    """The holes of `conv_library` that do not depend on sizes."""
    options = workload.options
    pooling = options["pool"] or {"size": 0, "stride": 0, "padding": 0}
    return {
        **{name: name for name in ("inp", "weights", "output")},
        "bias": _bias(workload),
        **{name: str(options[name]) for name in ("stride", "padding", "dilation")},
        **{f"pool_{name}": str(value) for name, value in pooling.items()},
        "relu": boolean(options["activation"] == "relu"),
        **scale_holes(options),
    }


def _sizes(workload: Workload) -> Mapping[str, str]:
    return {f"size_{letter.lower()}": str(extent) for letter, extent in workload.dims.items()}


def _bias(workload: Workload) -> str:
    return "bias" if workload.options["bias"] != "none" else "0"
