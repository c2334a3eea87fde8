"""From one node of a graph to the matrix multiplication or convolution that an accelerator is asked for.

Everything counts as int8: that is what a quantised model says, and what a float model becomes by post-training
quantisation. A scale has no influence on cycles: kernels take it as an argument, and so serve layers of any scale.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from autocomp.workload.convolution import joined

Shape = tuple[int, ...]
ANY_SCALE = 2.0**-10  # in a workload whose scale is known at run time; 1, the usual one, would be a constant of kernels
SUMS: Mapping[str, Any] = MappingProxyType({"result": "int32", "scale": 1})  # options of a kernel that stops there


@dataclass(frozen=True)
class Operation:
    """A workload file's keys without the accelerator; hashable, so that equal operations can be grouped."""

    kind: str  # gemm or conv2d
    dims: tuple[tuple[str, int], ...]
    options: tuple[tuple[str, Any], ...]

    def text(self, accelerator: str) -> str:
        """The operation as a workload file. JSON is YAML."""
        stated = {"scale": ANY_SCALE, **dict(self.options)}
        document = {"operation": self.kind, "accelerator": accelerator, "dims": dict(self.dims), **stated}
        return json.dumps(document, indent=2) + "\n"

    @property
    def name(self) -> str:
        """Kind and sizes, then the options that are not the usual ones."""
        words = [self.kind, *(f"{letter}{size}" for letter, size in self.dims)]
        return "_".join([*words, *(f"{key}_{_word(value)}" for key, value in self.options)])


@dataclass(frozen=True)
class Layer:
    """A node of a graph, by its name there, and the type of the numbers that it is given."""

    name: str
    dtype: str


def _word(value: Any) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def gemm(a: Shape, b: Shape, options: Mapping[str, Any]) -> tuple[Operation, int] | None:
    """The multiplication a [..., I, K] by b [..., K, J] (stored as `options` say), and how often it is done: once for
    each matrix of a `b` that has several. None for vectors, and for several matrices that one is broadcast to."""
    if len(a) < 2 or len(b) < 2 or math.prod(a) == 0 or math.prod(b) == 0:
        return None
    batches = math.prod(b[:-2])
    if batches > 1 and a[:-2] != b[:-2]:
        return None
    rows, depth = (a[-1], a[-2]) if options.get("transpose_a") else (a[-2], a[-1])
    cols = b[-2] if options.get("transpose_b") else b[-1]
    if batches == 1:
        rows *= math.prod(a[:-2])
    return Operation("gemm", (("I", rows), ("J", cols), ("K", depth)), _sorted(options)), batches


def convolution(
    image: Shape, filters: Shape, attributes: Mapping[str, Any], options: Mapping[str, Any]
) -> Operation | None:
    """The convolution of image [N, C, H, W] with filters [K, C / groups, R, S] as one of images that lie with their
    channels last; one of a single tap is a matrix multiplication. None for what no workload can say: other than two
    dimensions, and pixels cut off at the sides."""
    if len(image) != 4 or len(filters) != 4:
        return None
    (images, channels, height, width), (count, _, taps, across) = image, filters
    strides = [int(number) for number in attributes.get("strides", (1, 1))]
    dilations = [int(number) for number in attributes.get("dilations", (1, 1))]
    reaches = [dilation * (size - 1) + 1 for dilation, size in zip(dilations, (taps, across), strict=True)]
    pads = [int(number) for number in attributes.get("pads", (0, 0, 0, 0))]
    way = str(attributes.get("auto_pad", "NOTSET"))
    if way != "NOTSET":
        pads = _padding(way, (height, width), reaches, strides)
    if min(pads) < 0:
        return None
    stride, dilation, padding = _joined(strides), _joined(dilations), _joined(pads)
    groups = int(attributes.get("group", 1))
    if (taps, across, stride, padding, groups) == (1, 1, 1, 0, 1):
        dims = (("I", images * height * width), ("J", count), ("K", channels))
        return Operation("gemm", dims, _sorted(options))
    sizes = zip("NHWCKRS", (images, height, width, channels, count, taps, across), strict=True)
    usual = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
    stated = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    unusual = {key: value for key, value in stated.items() if value != usual[key]}
    return Operation("conv2d", tuple(sizes), _sorted({**options, **unusual}))


def _joined(values: Sequence[int]) -> int | tuple[int, ...]:
    single = joined(values)
    return tuple(single) if isinstance(single, list) else single


def _padding(way: str, extents: Sequence[int], reaches: Sequence[int], strides: Sequence[int]) -> list[int]:
    """Pixels of 0 at the top, left, bottom and right, as ONNX defines `auto_pad`. VALID has none; the others give as
    many results as the image has strides, and SAME_UPPER puts the odd pixel at the end."""
    if way == "VALID":
        return [0, 0, 0, 0]
    needed = [
        max(0, ((extent + stride - 1) // stride - 1) * stride + reach - extent)
        for extent, reach, stride in zip(extents, reaches, strides, strict=True)
    ]
    less, more = [number // 2 for number in needed], [number - number // 2 for number in needed]
    return [*less, *more] if way == "SAME_UPPER" else [*more, *less]


def _sorted(options: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(options.items()))
