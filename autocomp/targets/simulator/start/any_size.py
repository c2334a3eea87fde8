"""A kernel for every size of an operation, which takes sizes and strides as arguments.

The vendor's own routine where the description names one, else, of a matrix product, the plain loops over tiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from autocomp.errors import ConfigError
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.syntax.parser import parse
from autocomp.targets.simulator.kernel.syntax.printer import print_kernel
from autocomp.targets.simulator.start.fold import fold_kernel
from autocomp.targets.simulator.start.idioms import c_type, fill
from autocomp.targets.simulator.start.library import convolution_holes
from autocomp.targets.simulator.start.naive import gemm_holes, tiled_gemm
from autocomp.workload.model import TensorSpec, Workload

OPERATIONS = ("gemm", "conv2d")
NAME = "any_size"  # the function
STRIDE = "stride_"  # and the tensor's name: elements from row to row


def of_any_size(workload: Workload, accelerator: Accelerator, arguments: Sequence[str]) -> str:
    """The text of a function whose parameters are pointers to the tensors, then int for the `passed` sizes and the
    strides, in elements, of the `strided` tensors, then `arguments`, options of type float. Other options are those of
    the workload, whose own sizes do not matter; biases have no gaps.

    The operation is one of `OPERATIONS`. Raises ConfigError where the machine's description lacks what it needs.
    """
    make = {"gemm": _gemm, "conv2d": _convolution}[workload.operation]
    pointers = ", ".join(f"{c_type(t.dtype)} *{t.name}" for t in workload.tensors)
    names = [*passed(workload), *(f"{STRIDE}{t.name}" for t in strided(workload))]
    floats = [f"float {name}" for name in arguments]
    head = f"void {NAME}({', '.join([pointers, *(f'int {name}' for name in names), *floats])})"
    return make(workload, accelerator, head, {name: name for name in arguments})


def passed(workload: Workload) -> tuple[str, ...]:
    """The sizes that the function takes; the others follow from these."""
    return tuple(name for name in workload.dims if (workload.operation, name) != ("conv2d", "S"))


def refused(workload: Workload) -> tuple[str, ...]:
    """Conditions in C on the sizes, each at least 1, for which there is no result or the function has none."""
    if workload.operation != "conv2d":
        return ()
    pooling = workload.options["pool"]
    conditions = ["S != R"]
    for extent in "HW":
        conditions.append(f"{extent} + {2 * workload.options['padding']} < {_reach(workload)}")
        if pooling is not None:
            conditions.append(f"{_results(workload, extent)} + {2 * pooling['padding']} < {pooling['size']}")
    return tuple(conditions)


def _reach(workload: Workload) -> str:
    """Pixels that a filter covers."""
    return f"{workload.options['dilation']} * (R - 1) + 1"


def _results(workload: Workload, extent: str) -> str:
    """Results along an axis before pooling, as `autocomp.workload.convolution.Axis` counts them."""
    options = workload.options
    return f"({extent} + {2 * options['padding']} - ({_reach(workload)})) / {options['stride']} + 1"


def _gemm(workload: Workload, accelerator: Accelerator, head: str, given: Mapping[str, str]) -> str:
    holes = gemm_holes(workload) | dict(given)
    apart = strided(workload)
    holes |= {f"stride_{t.name.lower()}": f"{np.dtype(t.dtype).itemsize} * {STRIDE}{t.name}" for t in apart}
    holes["stride_bias"] = "4 * J" if workload.options["bias"] == "full" else "0"
    if accelerator.idiom("gemm_library") is not None:
        whole = {name: name for name in ("A", "B", "C")}
        whole["bias"] = "0" if workload.options["bias"] == "none" else "bias"
        return _by_library(workload, accelerator, "gemm_library", head, {**holes, **whole})
    return tiled_gemm(workload, accelerator, head, {name: name for name in "IJK"}, holes | _pointers(workload))


def _convolution(workload: Workload, accelerator: Accelerator, head: str, given: Mapping[str, str]) -> str:
    if accelerator.idiom("conv_library") is None:
        raise ConfigError(
            f"{accelerator.full_name} names no routine (idiom 'conv_library') that convolves with any size"
        )
    if workload.options["groups"] != 1:
        raise ConfigError(f"the routine of {accelerator.full_name} that convolves with any size has no groups")
    results = {f"size_{name}": _results(workload, extent) for name, extent in (("p", "H"), ("q", "W"))}
    holes = {**convolution_holes(workload), **results, **given}
    return _by_library(workload, accelerator, "conv_library", head, holes)


def strided(workload: Workload) -> tuple[TensorSpec, ...]:
    """The tensors whose rows may lie apart."""
    return tuple(t for t in workload.tensors if t.name != "bias") if workload.operation == "gemm" else ()


def _by_library(workload: Workload, accelerator: Accelerator, idiom: str, head: str, holes: Mapping[str, str]) -> str:
    sizes = {f"size_{name.lower()}": name for name in passed(workload)}
    text = f"{head} {{ {fill(accelerator, idiom, {**sizes, **holes})} }}"
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
