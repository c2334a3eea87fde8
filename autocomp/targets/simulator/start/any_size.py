"""A kernel for every size of an operation, which takes sizes and strides as arguments.

The vendor's own routine where the description names one, and for what that does not do the plain loops over tiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from autocomp.errors import ConfigError
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.start.convolution_tiles import Shape, Side
from autocomp.targets.simulator.start.fold import folded
from autocomp.targets.simulator.start.idioms import c_type, fill
from autocomp.targets.simulator.start.library import convolution_holes, one_for_all
from autocomp.targets.simulator.start.naive import gemm_holes, tiled_gemm
from autocomp.targets.simulator.start.naive_convolution import convolution_loops
from autocomp.workload.convolution import Axis, convolution
from autocomp.workload.model import TensorSpec, Workload

OPERATIONS = ("gemm", "conv2d")
NAME = "any_size"  # the function
SIDES = {"H": "R", "W": "S"}  # the extents of an image, with the filter's along each
MOST_ELEMENTS = (1 << 31) - 1  # of a tensor: places are counted in int
STRIDE = "stride_"  # and the tensor's name: elements from row to row


def of_any_size(workload: Workload, accelerator: Accelerator, arguments: Sequence[str]) -> str:
    """The text of a function whose parameters are pointers to the tensors, then int for the sizes and the
    strides, in elements, of the `strided` tensors, then `arguments`, options of type float. Other options are those of
    the workload, whose own sizes do not matter; biases have no gaps. No tensor has more than `MOST_ELEMENTS`.

    The operation is one of `OPERATIONS`. Raises ConfigError where the machine's description lacks what it needs.
    """
    make = {"gemm": _gemm, "conv2d": _convolution}[workload.operation]
    pointers = ", ".join(f"{c_type(t.dtype)} *{t.name}" for t in workload.tensors)
    names = [*workload.dims, *(f"{STRIDE}{t.name}" for t in strided(workload))]
    floats = [f"float {name}" for name in arguments]
    head = f"void {NAME}({', '.join([pointers, *(f'int {name}' for name in names), *floats])})"
    return make(workload, accelerator, head, {name: name for name in arguments})


def refused(workload: Workload) -> tuple[str, ...]:
    """Conditions in C on the sizes and strides, each at least 1, for which there is no result or the function has none.
    Each holds only if those before it do not."""
    conditions = _refused_windows(workload) if workload.operation == "conv2d" else []
    for extents in _extents(workload).values():
        *others, last = extents
        conditions.append(f"{last} > {' / '.join([str(MOST_ELEMENTS), *others])}")
    return tuple(conditions)


def _refused_windows(workload: Workload) -> list[str]:
    options = workload.options
    pooling, groups = options["pool"], options["groups"]
    conditions = ["S != R"] if pooling is not None else []  # only the vendor's routines pool
    conditions += [f"{channels} % {groups} != 0" for channels in "CK" if groups > 1]
    for extent in SIDES:
        conditions.append(f"{extent} + {_margin(workload, extent)} < {_reach(workload, extent)}")
        if pooling is not None:
            conditions.append(f"{_results(workload, extent)} + {2 * pooling['padding']} < {pooling['size']}")
    return conditions


def _extents(workload: Workload) -> dict[str, tuple[str, ...]]:
    """The extents of each tensor but biases, as expressions of C."""
    if workload.operation == "gemm":
        rows = {"A": "K" if workload.options["transpose_a"] else "I", "C": "I"}
        rows["B"] = "J" if workload.options["transpose_b"] else "K"
        return {name: (rows[name], f"{STRIDE}{name}") for name in ("A", "B", "C")}
    results = [f"({_results(workload, extent)})" for extent in SIDES]
    extents = {"inp": ("N", "H", "W"), "weights": ("R", "S", _depth(workload)), "output": ("N", *results)}
    last = without_gaps(workload) | {t.name: f"{STRIDE}{t.name}" for t in strided(workload)}
    return {name: (*others, last[name]) for name, others in extents.items()}


def _depth(workload: Workload) -> str:
    groups = workload.options["groups"]
    return "C" if groups == 1 else f"(C / {groups})"


def _reach(workload: Workload, extent: str) -> str:
    """Pixels that a filter covers."""
    return _reach_of(extent, _axis(workload, extent))


def _reach_of(extent: str, axis: Axis) -> str:
    return f"{axis.dilation} * ({SIDES[extent]} - 1) + 1"


def _results(workload: Workload, extent: str) -> str:
    return results_along(extent, _axis(workload, extent))


def results_along(extent: str, axis: Axis) -> str:
    """Results along an axis before pooling, as `autocomp.workload.convolution.Axis` counts them: an expression of C on
    the `extent` of the image and of the filter. The sizes of `axis` do not matter."""
    return f"({extent} + {axis.before + axis.after} - ({_reach_of(extent, axis)})) / {axis.stride} + 1"


def _margin(workload: Workload, extent: str) -> int:
    """Pixels of 0 on both sides."""
    axis = _axis(workload, extent)
    return axis.before + axis.after


def _axis(workload: Workload, extent: str) -> Axis:
    """The axis of an extent. Its sizes are those of the workload, which do not matter."""
    shape = convolution(workload.dims, workload.options)
    return shape.rows if extent == "H" else shape.cols


def _gemm(workload: Workload, accelerator: Accelerator, head: str, given: Mapping[str, str]) -> str:
    holes = gemm_holes(workload) | dict(given)
    apart = strided(workload)
    holes |= {f"stride_{t.name.lower()}": f"{np.dtype(t.dtype).itemsize} * {STRIDE}{t.name}" for t in apart}
    holes["stride_bias"] = "4 * J" if workload.options["bias"] == "full" else "0"
    if accelerator.idiom("gemm_library") is not None:
        whole = {name: name for name in ("A", "B", "C")}
        whole["bias"] = "0" if workload.options["bias"] == "none" else "bias"
        body = fill(accelerator, "gemm_library", {**_sizes(workload), **holes, **whole})
        return _finished(workload, f"{head} {{ {body} }}")
    return tiled_gemm(workload, accelerator, head, {name: name for name in "IJK"}, holes | _pointers(workload))


def _convolution(workload: Workload, accelerator: Accelerator, head: str, given: Mapping[str, str]) -> str:
    """The vendor's routine for square filters, pixels without gaps and what it has; the loops for others, and on
    machines without one."""
    pooled, suits = workload.options["pool"] is not None, one_for_all(workload)
    has_routine = accelerator.idiom("conv_library") is not None and suits
    if has_routine and pooled:
        return _finished(workload, f"{head} {{ {_convolution_by_library(workload, accelerator, given)} }}")
    if pooled:
        reason = "is missing (idiom 'conv_library')" if suits else "has no groups, and no sides that differ"
        raise ConfigError(f"the routine of {accelerator.full_name} that convolves and pools with any size {reason}")
    body = "\n".join(_convolution_by_tiles(workload, accelerator, given))
    if has_routine:
        dense = " && ".join(f"{STRIDE}{name} == {channels}" for name, channels in without_gaps(workload).items())
        body = f"if (R == S && {dense}) {{ {_convolution_by_library(workload, accelerator, given)} }} else {{ {body} }}"
    return _finished(workload, f"{head} {{ {body} }}")


def _convolution_by_library(workload: Workload, accelerator: Accelerator, given: Mapping[str, str]) -> str:
    results = {f"size_{name}": _results(workload, extent) for name, extent in (("p", "H"), ("q", "W"))}
    holes = {**_sizes(workload), **convolution_holes(workload), **results, **given}
    return fill(accelerator, "conv_library", holes)


def _convolution_by_tiles(workload: Workload, accelerator: Accelerator, given: Mapping[str, str]) -> list[str]:
    extents = {**_extents(workload), "bias": ("1", "K")}
    rows, cols = (
        Side(extent, taps, f"({_results(workload, extent)})", axis.stride, axis.before, axis.after, axis.dilation)
        for extent, taps in SIDES.items()
        for axis in [_axis(workload, extent)]
    )

    def at(tensor: str, subscripts: Sequence[str]) -> str:
        place, *others = subscripts
        for subscript, extent in zip(others, extents[tensor][1:], strict=True):
            place = f"({place}) * {extent} + {subscript}"
        return f"{tensor} + ({place})"

    shape = Shape("N", rows, cols, "C", "K", workload.options["groups"])
    pixels = {"stride_a": cols.stride, "stride_b": 1, "stride_c": 1}  # from row to row of what a move takes
    strides = {
        hole: f"{count * np.dtype(tensor.dtype).itemsize} * {STRIDE}{tensor.name}"
        for (hole, count), tensor in zip(pixels.items(), strided(workload), strict=True)
    }
    return convolution_loops(workload, accelerator, shape, "output", at, {**strides, **given})


def strided(workload: Workload) -> tuple[TensorSpec, ...]:
    """The tensors whose rows, of elements along the last axis, may lie apart. Only the vendor's routines pool, and they
    take no strides."""
    pools = workload.operation == "conv2d" and workload.options["pool"] is not None
    return () if pools else tuple(t for t in workload.tensors if t.name != "bias")


def without_gaps(workload: Workload) -> dict[str, str]:
    """The elements of a row of each tensor but biases, as names of sizes."""
    options = workload.options
    if workload.operation == "conv2d":
        return {"inp": "C", "weights": "K", "output": "K"}
    return {"A": "I" if options["transpose_a"] else "K", "B": "K" if options["transpose_b"] else "J", "C": "J"}


def _sizes(workload: Workload) -> dict[str, str]:
    return {f"size_{name.lower()}": name for name in workload.dims}


def _finished(workload: Workload, text: str) -> str:
    return folded(text, f"<kernel of {workload.operation} of any size>")


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
