"""Convolutions: the sizes that follow from a workload's, the work they need at least, and the right result.

An image lies as [image][row][column][channel], a filter bank as [row][column][channel][filter]. The letters are the
usual ones: N images of H x W pixels with C channels, K filters of R x S, results of P x Q pixels before pooling.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
EXACT_DEPTH = 1024  # 1024 * 128 * 128 = 2^24: sums of int8 products up to here are exact in binary32


@dataclass(frozen=True)
class Pooling:
    """The maximum over windows of `size` x `size` results; what lies outside the image is 0."""

    size: int
    stride: int
    padding: int


@dataclass(frozen=True)
class Axis:
    """One of the two directions of an image: `extent` pixels in, windows of `taps` of them, `results` windows. Zeros
    come `before` the first pixel and `after` the last one."""

    extent: int
    taps: int
    stride: int
    before: int
    after: int
    dilation: int
    pooling: Pooling | None

    @property
    def results(self) -> int:
        return (self.padded - self.dilation * (self.taps - 1) - 1) // self.stride + 1

    @property
    def padded(self) -> int:
        """Pixels with those of 0."""
        return self.before + self.extent + self.after

    @property
    def pooled(self) -> int:
        """Extent of the output."""
        pool = self.pooling
        return self.results if pool is None else (self.results + 2 * pool.padding - pool.size) // pool.stride + 1

    @cached_property
    def windows(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """The (tap, pixel) inside the image of each window that some output depends on."""
        pool, wanted = self.pooling, range(self.results)
        if pool is not None:
            starts = (p * pool.stride - pool.padding for p in range(self.pooled))
            wanted = {start + i for start in starts for i in range(pool.size)} & set(wanted)  # type: ignore[assignment]
        spans = (
            [(t, p * self.stride + t * self.dilation - self.before) for t in range(self.taps)] for p in sorted(wanted)
        )
        return tuple(tuple((tap, pixel) for tap, pixel in window if 0 <= pixel < self.extent) for window in spans)

    @property
    def products(self) -> tuple[tuple[int, int], ...]:
        """(tap, pixel) of every product of a pixel inside the image that some output depends on."""
        return tuple(itertools.chain.from_iterable(self.windows))


@dataclass(frozen=True)
class Convolution:
    images: int
    rows: Axis
    cols: Axis
    channels: int
    filters: int
    groups: int

    @property
    def results(self) -> tuple[int, int, int, int]:
        """Extents of the results before pooling."""
        return self.images, self.rows.results, self.cols.results, self.filters

    @property
    def depth(self) -> int:
        """Input channels that a filter sees."""
        return self.channels // self.groups

    @property
    def multiply_accumulates(self) -> int:
        """Products that the outputs depend on; those with padding, which is 0, do not count."""
        return self.images * len(self.rows.products) * len(self.cols.products) * self.depth * self.filters

    @property
    def sums(self) -> Mapping[int, int]:
        """The sums that the outputs depend on: the number of products in a sum, mapped to the number of such sums."""
        rows, cols = (Counter(len(window) for window in axis.windows) for axis in (self.rows, self.cols))
        counts: Counter[int] = Counter()
        for (high, n), (wide, m) in itertools.product(rows.items(), cols.items()):
            counts[high * wide * self.depth] += n * m * self.images * self.filters
        return counts

    @property
    def unused(self) -> int:
        """Elements of the operands that no output depends on, such as those of pixels that a stride leaves out."""
        taps = [{tap for tap, _ in axis.products} for axis in (self.rows, self.cols)]
        pixels = [{pixel for _, pixel in axis.products} for axis in (self.rows, self.cols)]
        weights = self.rows.taps * self.cols.taps - len(taps[0]) * len(taps[1])
        image = self.rows.extent * self.cols.extent - len(pixels[0]) * len(pixels[1])
        return weights * self.depth * self.filters + self.images * image * self.channels


def convolution(dims: Mapping[str, int], options: Mapping[str, Any]) -> Convolution:
    """The convolution that a workload's sizes and options describe."""
    pooling = Pooling(**options["pool"]) if options["pool"] else None

    strides, dilations, (top, left, bottom, right) = (
        each(options["stride"], 2),
        each(options["dilation"], 2),
        each(options["padding"], 4),
    )
    rows = Axis(dims["H"], dims["R"], strides[0], top, bottom, dilations[0], pooling)
    cols = Axis(dims["W"], dims["S"], strides[1], left, right, dilations[1], pooling)
    return Convolution(dims["N"], rows, cols, dims["C"], dims["K"], options["groups"])


def each(option: int | Sequence[int], count: int) -> tuple[int, ...]:
    """The values of an option that may be one number for all directions, or sides, of an image."""
    return (option,) * count if isinstance(option, int) else tuple(option)


def joined(values: Sequence[int]) -> int | list[int]:
    """The option for values of all directions, or sides: one number where they are equal."""
    return values[0] if len(set(values)) == 1 else list(values)


def sums(shape: Convolution, images: Array, weights: Array) -> npt.NDArray[np.int64]:
    """The exact sums of int8 products [N][P][Q][K] before biases, of images [N][H][W][C] and weights
    [R][S][C / groups][K]."""
    rows, cols, groups = shape.rows, shape.cols, shape.groups
    image = _padded(shape, images)
    exact = np.float32 if shape.depth <= EXACT_DEPTH else np.float64
    total = np.zeros((groups, shape.images * rows.results * cols.results, shape.filters // groups), np.int64)
    for r in range(rows.taps):
        for s in range(cols.taps):
            window = image[:, _taken(rows, r), _taken(cols, s)].astype(exact)
            pixels = window.reshape(-1, groups, shape.depth).transpose(1, 0, 2)
            filters = weights[r, s].astype(exact).reshape(shape.depth, groups, -1).transpose(1, 0, 2)
            total += (pixels @ filters).astype(np.int64)
    summed: npt.NDArray[np.int64] = total.transpose(1, 0, 2)
    return summed.reshape(shape.results)


def windows(shape: Convolution, images: Array, weights: Array) -> list[tuple[Array, Array]]:
    """The products that a convolution consists of, for each group: its pixels [N * P * Q][R * S * C / groups], and its
    filters [R * S * C / groups][K / groups]."""
    image, groups = _padded(shape, images), shape.groups
    taps = [(r, s) for r in range(shape.rows.taps) for s in range(shape.cols.taps)]
    taken = np.stack([image[:, _taken(shape.rows, r), _taken(shape.cols, s)] for r, s in taps], axis=3)
    pixels = taken.reshape(-1, len(taps), groups, shape.depth)
    filters = weights.reshape(len(taps) * shape.depth, groups, -1)
    return [(pixels[:, :, g].reshape(len(pixels), -1), filters[:, g]) for g in range(groups)]


def _padded(shape: Convolution, images: Array) -> Array:
    margins = ((axis.before, axis.after) for axis in (shape.rows, shape.cols))
    return np.pad(images, ((0, 0), *margins, (0, 0)))


def _taken(axis: Axis, tap: int) -> slice:
    """The pixels of the padded image that a tap meets."""
    start = tap * axis.dilation
    return slice(start, start + (axis.results - 1) * axis.stride + 1, axis.stride)


def pool(results: Array, pooling: Pooling) -> Array:
    """The largest result of each window; what lies outside the image is 0."""
    margin, size, stride = pooling.padding, pooling.size, pooling.stride
    padded = np.pad(results, ((0, 0), (margin, margin), (margin, margin), (0, 0)))
    rows = np.lib.stride_tricks.sliding_window_view(padded, size, 1)
    windows = np.lib.stride_tricks.sliding_window_view(rows, size, 2)
    largest: Array = windows[:, ::stride, ::stride].max(axis=(-1, -2))
    return largest
