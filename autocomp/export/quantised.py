"""Whole quantised layers in C: zero points, bounds and scales at run time, around the kernels of a dispatch function.

Kernels that leave int32 sums serve all of them: the host takes the zero points of the operands out of the sums, and
makes results of these. Kernels that leave int8 results, with the scale as an argument, serve one scale, and those zero
points and bounds of results that follow from results in int8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autocomp.export.dispatch import families
from autocomp.export.schedule import Schedule
from autocomp.export.source import sized_parameters, tensor_names
from autocomp.targets.simulator.start.any_size import OPERATIONS, SIDES, results_along
from autocomp.workload.convolution import convolution

HEADER, SOURCE = "quantised.h", "quantised.c"
NUMBERS = "const struct autocomp_quantisation *numbers"
RESULTS = "results"  # the parameter, where the kernels leave sums
SCALE = ("scale",)  # the arguments of kernels that leave results


@dataclass(frozen=True)
class Layer:
    """The function beside a dispatch function which computes whole layers; `first` is one of its schedules. It takes
    what that one does without the scale, then int8 results where the kernels leave sums, then the layer's numbers."""

    first: Schedule

    @property
    def function(self) -> str:
        return f"{self.first.family}_quantised"

    @property
    def sums(self) -> bool:
        """True if the kernels leave int32 sums, and the host makes results of them."""
        return self.first.tensors[-1].dtype == "int32"

    @property
    def head(self) -> str:
        results = [f"int8_t *{RESULTS}"] if self.sums else []
        return f"int {self.function}({', '.join([sized_parameters(self.first), *results, NUMBERS])})"

    @property
    def text(self) -> str:
        """The function's definition."""
        left, right, *_, output = names = tensor_names(self.first)
        scale = [] if self.sums else ["numbers->scales[0]"]
        call = f"{self.first.family}({', '.join([*self.first.dims, *names, *scale])})"
        products = self._products()
        count = " * ".join([*products["images"], *products["results"]])
        fields = ", ".join(f".{name} = {_initial(value)}" for name, value in products.items())
        (columns,) = products["columns"]
        lines = [f"{self.head} {{"]
        if self.sums:
            lines += [
                f"    if (!autocomp_valid(numbers, {columns}) || {call} != 0) {{",
                "        return -1;",
                "    }",
                f"    const struct autocomp_products products = {{{fields}}};",
                f"    autocomp_subtract_zeros(&products, numbers, {left}, {right}, {output});",
                f"    autocomp_requantise(numbers, {count}, {columns}, {output}, {RESULTS});",
            ]
        else:
            lines += [
                f"    if (!autocomp_valid(numbers, 1) || !autocomp_kept_in_int8(numbers) || {call} != 0) {{",
                "        return -1;",
                "    }",
                f"    autocomp_finish(numbers, {count} * {columns}, {output});",
            ]
        return "\n".join([*lines, "    return 0;", "}"])

    def _products(self) -> dict[str, Sequence[str]]:
        """The fields of `struct autocomp_products`: one or two expressions of C on the sizes each."""
        options = self.first.options
        if self.first.operation == "gemm":
            across, down = bool(options.get("transpose_a")), bool(options.get("transpose_b"))
            image = {"images": "1", "extent": "1I", "channels": "K", "groups": "1", "columns": "J"}
            windows = dict.fromkeys(("taps", "stride", "dilation"), "11")
            left = {"pixel": "1" if across else "K", "channel": "I" if across else "1"}
            right = {"depth": "1" if down else "J", "column": "K" if down else "1"}
            return {**image, **windows, "results": "1I", "before": "00", **left, **right}
        shape = convolution(self.first.dims, options)
        axes = {"H": shape.rows, "W": shape.cols}
        return {
            "images": "N",
            "extent": tuple(axes),
            "channels": "C",
            "groups": [str(shape.groups)],
            "columns": "K",
            "taps": tuple(SIDES[extent] for extent in axes),
            "stride": tuple(str(axis.stride) for axis in axes.values()),
            "dilation": tuple(str(axis.dilation) for axis in axes.values()),
            "results": tuple(f"({results_along(extent, axis)})" for extent, axis in axes.items()),
            "before": tuple(str(axis.before) for axis in axes.values()),
            "pixel": "C",
            "channel": "1",
            "depth": "K",
            "column": "1",
        }


def layers(schedules: Sequence[Schedule]) -> tuple[Layer, ...]:
    """The functions for whole layers: beside those dispatch functions whose kernels multiply int8 and leave their sums,
    or int8 results with any scale."""
    firsts = (group[0] for group in families(schedules).values())
    return tuple(Layer(first) for first in firsts if first.operation in OPERATIONS and _serves(first))


def _serves(schedule: Schedule) -> bool:
    options = schedule.options
    left, right, *_, output = (tensor.dtype for tensor in schedule.tensors)
    if (left, right) != ("int8", "int8") or options.get("layout") or options.get("pool"):
        return False
    if output == "int32":
        return not schedule.arguments and options["activation"] == "none"
    return output == "int8" and tuple(schedule.arguments) == SCALE


def layer_files(offered: Sequence[Layer]) -> dict[str, str]:
    """The header and the source of the layers, by file name; none without layers."""
    if not offered:
        return {}
    header, source = (Path(__file__).with_name(name).read_text(encoding="utf-8") for name in (HEADER, SOURCE))
    heads = "".join(f"{layer.head};\n" for layer in offered)
    return {HEADER: header + heads, SOURCE: "\n".join([source, *(f"{layer.text}\n" for layer in offered)])}


def _initial(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"{{{', '.join(values)}}}"
