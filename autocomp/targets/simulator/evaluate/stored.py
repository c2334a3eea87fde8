"""A product or convolution as its tensors are stored: rows of operands, biases and results, and passes of an array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from autocomp.targets.simulator.evaluate.cutting import Rows
from autocomp.targets.simulator.evaluate.dependence import lines_of
from autocomp.workload import TensorSpec, Workload
from autocomp.workload.convolution import Convolution, convolution
from autocomp.workload.datatypes import data_type


@dataclass(frozen=True)
class Stored:
    """`operands` are moved by rows. Of `others`, bytes are known alone: not all of their rows are needed, or one row
    goes on in the next. `bias` is one row for all rows of sums, or a row for each.

    `lines` are rows of sums, of which each has `width`. `shape` is that of a convolution, and None for a product.

    A result needs a part of each row of `across`, and a `line` that those of other rows do not need; None where they
    may come together. Lines are rows of a tensor, or `joined`: one goes on in the next.
    """

    operands: tuple[Rows, ...]
    others: int
    bias: Rows | None
    output: Rows
    lines: int
    width: int
    depth: int
    across: Rows
    line: Rows | None
    joined: bool = False
    shape: Convolution | None = None

    def passes(self, columns: int, depth: int) -> int:
        """Rows that pass an array, if each has at most `depth` neighbouring elements of one row, and gives at most
        `columns` neighbouring sums of one row.

        Of elements that lie `depth` apart, no two are in one pass, nor are two such sums.
        """
        across = math.ceil(self.width / columns)
        if self.shape is None:
            return self.lines * across * math.ceil(self.depth / depth)
        shape = self.shape
        high = sum(len(window) for window in shape.rows.windows)
        wide = sum(_runs([pixel for _, pixel in window], shape, depth) for window in shape.cols.windows)
        return shape.images * high * wide * across


def stored(workload: Workload) -> Stored | None:
    """The tensors of a product or convolution; None for other operations, and for tensors in layouts of their own."""
    tensors = {tensor.name: tensor for tensor in workload.tensors}
    if workload.operation == "gemm" and {"A", "B", "C"} <= tensors.keys():
        return _product(workload, tensors["A"], tensors["B"], tensors["C"], tensors.get("bias"))
    if workload.operation == "conv2d" and {"inp", "weights", "output"} <= tensors.keys():
        return _convolution(workload, tensors["inp"], tensors["weights"], tensors["output"], tensors.get("bias"))
    return None


def _product(
    workload: Workload, left: TensorSpec, right: TensorSpec, out: TensorSpec, bias: TensorSpec | None
) -> Stored | None:
    lines, width, depth = (workload.dims[letter] for letter in "IJK")
    plain = out.shape == (lines, width) and all(len(each.shape) == 2 for each in (left, right))
    if not plain or (bias is not None and math.prod(bias.shape) not in (width, lines * width)):
        return None
    # Of an operand whose rows are not sums' own, each row is needed.
    own = data_type(left.dtype).bytes(depth)
    crossed = depth * (workload.options["transpose_a"] + (not workload.options["transpose_b"]))
    across = Rows(crossed, 1, 1) if crossed else Rows(1, own, own)
    line = None if workload.options["transpose_a"] else Rows(1, own, own)
    return Stored((_rows(left), _rows(right)), 0, _bias(bias, width), _rows(out), lines, width, depth, across, line)


def _convolution(
    workload: Workload, image: TensorSpec, weights: TensorSpec, out: TensorSpec, bias: TensorSpec | None
) -> Stored | None:
    shape = convolution(workload.dims, workload.options)
    plain = out.shape[-1] == weights.shape[-1] == shape.filters and all(
        len(t.shape) == 4 for t in (image, weights, out)
    )
    if not plain or image.shape[-1] != shape.channels or (bias is not None and math.prod(bias.shape) != shape.filters):
        return None
    # Pixels follow one another, and not all need be used; nor all weights.
    used = image.bytes + weights.bytes - workload.unused_bytes
    all_used = workload.unused_bytes == 0
    operands, others = ((_rows(weights),), image.bytes) if all_used else ((), used)
    lines = shape.images * len(shape.rows.windows) * len(shape.cols.windows)
    taps = math.prod(min(len(window) for window in axis.windows) for axis in (shape.rows, shape.cols))
    across, own = Rows(taps * shape.depth, 1, 1), data_type(image.dtype).bytes(shape.depth)
    line = None if lines_of(workload) is None else Rows(1, own, own)
    bias_rows, width = _bias(bias, shape.filters), shape.filters
    return Stored(operands, others, bias_rows, _rows(out), lines, width, shape.depth, across, line, True, shape)


def _rows(tensor: TensorSpec) -> Rows:
    bytes_ = data_type(tensor.dtype).bytes(tensor.shape[-1])
    return Rows(math.prod(tensor.shape[:-1]), bytes_, bytes_)


def _bias(bias: TensorSpec | None, width: int) -> Rows | None:
    if bias is None:
        return None
    row = data_type(bias.dtype).bytes(width)
    return Rows(math.prod(bias.shape) // width, row, row)


def _runs(pixels: Sequence[int], shape: Convolution, depth: int) -> int:
    """The fewest runs of neighbouring elements, of at most `depth`, that have a filter's channels of some pixels."""
    count, covered = 0, 0  # elements before `covered` are in a run
    for pixel in pixels:
        first = max(pixel * shape.channels, covered)
        missing = pixel * shape.channels + shape.depth - first
        if missing > 0:
            more = math.ceil(missing / depth)
            count, covered = count + more, first + more * depth
    return count
