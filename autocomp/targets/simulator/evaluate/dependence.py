"""The results that can be complete when a part of the inputs has come in: each needs all that it is a sum of."""

from __future__ import annotations

import math
from dataclasses import dataclass

from autocomp.workload import Workload
from autocomp.workload.convolution import Axis, convolution
from autocomp.workload.datatypes import data_type


@dataclass(frozen=True)
class Lines:
    """Results that are sums of products of a line of one operand with a line of the other: `groups` tables of
    `left` x `right` results, each line with its bytes."""

    left: int
    left_bytes: float
    right: int
    right_bytes: float
    groups: int = 1

    @property
    def results(self) -> int:
        return self.groups * self.left * self.right

    def complete(self, loaded: float) -> float:
        """Results that `loaded` bytes are enough for, at most.

        a x b results need a lines on the left and b on the right. In one table the largest product has as many bytes of
        either, or all of one. It grows faster the more there is, so that one table after the other is best.
        """
        table = self.left * self.left_bytes + self.right * self.right_bytes
        whole = min(self.groups, int(loaded // table))
        if whole == self.groups:
            return self.results
        rest = loaded - whole * table
        rows = min(self.left, rest / (2 * self.left_bytes))
        cols = min(self.right, rest / (2 * self.right_bytes))
        rows = min(self.left, max(rows, (rest - cols * self.right_bytes) / self.left_bytes))
        cols = min(self.right, max(cols, (rest - rows * self.left_bytes) / self.right_bytes))
        return whole * self.left * self.right + rows * cols


def lines_of(workload: Workload) -> Lines | None:
    """The lines of a product or convolution; None where that is not known."""
    sizes = {tensor.name: data_type(tensor.dtype).bits / 8 for tensor in workload.inputs}
    dims = workload.dims
    if workload.operation == "gemm" and {"A", "B"} <= sizes.keys():
        return Lines(dims["I"], dims["K"] * sizes["A"], dims["J"], dims["K"] * sizes["B"])
    if workload.operation != "conv2d" or not {"inp", "weights"} <= sizes.keys():
        return None
    shape = convolution(dims, workload.options)
    axes = (shape.rows, shape.cols)
    # One tap of each window is in the image, on another pixel for each: as many pixels as windows are needed at least.
    if any(axis.pooling is not None or not _shared(axis) for axis in axes):
        return None
    taps = math.prod(min(len(window) for window in axis.windows) for axis in axes)
    images, high, wide, filters = shape.results
    pixel, tap = shape.depth * sizes["inp"], shape.depth * sizes["weights"]
    return Lines(images * high * wide, pixel, filters // shape.groups, taps * tap, shape.groups)


def _shared(axis: Axis) -> set[int]:
    """The taps that are in the image in every window."""
    return set.intersection(*({tap for tap, _ in window} for window in axis.windows))
