"""The parts of a convolution's loops: the sizes that they walk, tiles of pixels, filters and channels, and their sums.

A tile multiplies the pixels of one output row that meet one tap with the tap's weights; nothing is rearranged in DRAM.
Where the image is padded, a tile leaves out the pixels that lie outside; `first_values` says where those sums start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.start.first_values import FirstValues, first_values
from autocomp.targets.simulator.start.fold import folded
from autocomp.targets.simulator.start.idioms import (
    TILES,
    address_step,
    boolean,
    fill,
    rows_of_sums,
    scale_holes,
    tile_addresses,
    tile_extent,
    tile_of,
)
from autocomp.targets.simulator.start.operand_types import check_operands
from autocomp.targets.simulator.start.requirements import rows_lie_apart
from autocomp.targets.simulator.start.stored import (
    At,
    as_stored,
    filter_operand,
    image_operand,
    layouts_of,
    product_sizes,
)
from autocomp.workload.convolution import Convolution
from autocomp.workload.datatypes import data_type
from autocomp.workload.model import Workload

Extent = int | str  # a number, or an expression of C without operators outside of parentheses


@dataclass(frozen=True)
class Side:
    """One of the two directions of an image, as loops walk it: see `Axis`."""

    extent: Extent
    taps: Extent
    results: Extent
    stride: int
    before: int
    after: int
    dilation: int

    @property
    def padded(self) -> bool:
        return self.before > 0 or self.after > 0


@dataclass(frozen=True)
class Shape:
    """The sizes that loops over a convolution's tiles need: see `Convolution`."""

    images: Extent
    rows: Side
    cols: Side
    channels: Extent
    filters: Extent
    groups: int

    @classmethod
    def of(cls, operands: Convolution) -> Shape:
        rows, cols = (
            Side(axis.extent, axis.taps, axis.results, axis.stride, axis.before, axis.after, axis.dilation)
            for axis in (operands.rows, operands.cols)
        )
        return cls(operands.images, rows, cols, operands.channels, operands.filters, operands.groups)

    @property
    def depth(self) -> Extent:
        """Input channels that a filter sees."""
        return self._each(self.channels)

    @property
    def filters_each(self) -> Extent:
        """Filters of a group."""
        return self._each(self.filters)

    def _each(self, extent: Extent) -> Extent:
        if isinstance(extent, int):
            return extent // self.groups
        return extent if self.groups == 1 else f"({extent} / {self.groups})"


@dataclass(frozen=True)
class Tiles:
    """The parts that all loops over tiles share."""

    workload: Workload
    accelerator: Accelerator
    shape: Shape
    size: tuple[int, int, int]
    holes: dict[str, str]
    first: FirstValues
    step: int

    @classmethod
    def of(
        cls,
        workload: Workload,
        accelerator: Accelerator,
        shape: Shape,
        result: str,
        at: At,
        given: Mapping[str, str],
    ) -> Tiles:
        size = tile_of(workload, accelerator)
        check_operands(workload, accelerator)
        if shape.cols.padded and not rows_lie_apart(accelerator, "gemm_tile"):
            size = (1, *size[1:])  # one pixel is inside the image or outside
        padded = shape.rows.padded or shape.cols.padded
        first = first_values(workload, accelerator, size) if padded else FirstValues()
        holes = _facts(workload, shape) | _layouts(workload, accelerator, size) | _pointers(workload, shape, result, at)
        holes |= {"has_bias": boolean(workload.options["bias"] != "none")} | {**first.holes, **given}
        holes["rows"] = tile_extent("rows", "q", shape.cols.results, size[0])[0]
        holes["cols"] = tile_extent("cols", "k", shape.filters_each, size[1])[0]
        holes |= {name: name for name in TILES}
        return cls(workload, accelerator, shape, size, holes, first, address_step(workload, accelerator))

    @property
    def room(self) -> int:
        """Rows of sums from the first tile on."""
        return rows_of_sums(self.workload, self.accelerator, *self._operand_rows)

    @property
    def _operand_rows(self) -> tuple[int, int]:
        a, b = as_stored(*self.size, self.holes)
        return a[0], b[0]

    @property
    def begin(self) -> list[str]:
        """Zeros, if there have to be some, where tiles lie, and the machine's configuration."""
        addresses = tile_addresses(self.workload, self.accelerator, *self._operand_rows)
        return [
            self.first.declared,
            *(f"const uint32_t {name} = {value};" for name, value in addresses),
            fill(self.accelerator, "gemm_configure", self.holes),
        ]

    @property
    def filters(self) -> str:
        shape = self.shape
        declared = tile_extent("cols", "k", shape.filters_each, self.size[1])[1]
        groups = loop("g", shape.groups) if shape.groups > 1 else ""
        return groups + loop("k", shape.filters_each, self.size[1]) + declared

    def pixels_declared(self, end: str | None = None) -> str:
        """Code for the pixels of a row in a tile, where they differ from tile to tile; the row goes up to `end`."""
        if end is None:
            return tile_extent("rows", "q", self.shape.cols.results, self.size[0])[1]
        return f"const int rows = {end} - q < {self.size[0]} ? {end} - q : {self.size[0]};"

    def sums(self, tile: str, whole: bool = True) -> list[str]:
        """The sums of one tile of pixels and filters, over all taps and channels; `whole` rows of pixels are walked."""
        shape, size = self.shape, self.size
        depth, declared = tile_extent("depth", "c", shape.depth, size[2])
        rows, cols = self.holes["rows"] if whole else "rows", self.holes["cols"]
        taken = "pixels" if shape.cols.padded else rows
        holes = self.holes | {"rows": rows, "c_tile": tile}
        inner = product_sizes(taken, cols, depth, self.holes)
        if shape.cols.padded and size[0] > 1:
            inner["c_tile"] = f"{tile} + {times('first_pixel', self.step)}"
        alike = {} if declared else {"depth": depth}  # of all tiles
        begin = [fill(self.accelerator, "gemm_begin", alike | holes)]
        if self.first.product:
            least = str(size[2] if isinstance(shape.depth, str) else min(size[2], shape.depth))
            zeros = product_sizes(rows, cols, least, self.holes) | {"B": self.holes["first_B"], **self.first.product}
            begin.append(fill(self.accelerator, "gemm_tile", holes | zeros))
        return [
            *begin,
            loop("r", shape.rows.taps),
            _row_inside(shape.rows) if shape.rows.padded else "",
            loop("s", shape.cols.taps),
            _pixels_inside(shape.cols, rows) if shape.cols.padded else "",
            loop("c", shape.depth, size[2]) + declared,
            fill(self.accelerator, "gemm_tile", holes | inner),
            "} } }" + " }" * (shape.rows.padded + shape.cols.padded),
        ]


def loop(variable: str, extent: Extent, step: int = 1) -> str:
    by = f"{variable}++" if step == 1 else f"{variable} += {step}"
    return f"for (int {variable} = 0; {variable} < {extent}; {by}) {{ "


def _facts(workload: Workload, shape: Shape) -> dict[str, str]:
    """Strides are bytes, from pixel to pixel."""
    options = workload.options
    operand, result = (data_type(tensor.dtype).bytes(1) for tensor in (workload.inputs[0], workload.outputs[0]))
    return {
        "stride_a": _product(shape.cols.stride * operand, shape.channels),
        "stride_b": _product(operand, shape.filters),
        "stride_c": _product(result, shape.filters),
        "stride_bias": "0",
        "relu": boolean(options["activation"] == "relu"),
        **scale_holes(options),
        "transpose_a": "false",
        "transpose_b": "false",
    }


def _layouts(workload: Workload, accelerator: Accelerator, size: tuple[int, int, int]) -> dict[str, str]:
    """Holes for strides of operands that have layouts."""
    layouts, holes = layouts_of(workload), dict[str, str]()
    if "inp" in layouts:
        holes |= image_operand(workload, accelerator, layouts["inp"], size[2])
    if "weights" in layouts:
        holes |= filter_operand(workload, accelerator, layouts["weights"])
    return holes


def _pointers(workload: Workload, shape: Shape, result: str, at: At) -> dict[str, str]:
    grouped = shape.groups > 1
    channel = f"{times('g', shape.depth)} + c" if grouped else "c"
    filter_ = f"{times('g', shape.filters_each)} + k" if grouped else "k"
    row = "y" if shape.rows.padded else _pixel("p", "r", shape.rows)
    col = f"x + {times('first_pixel', shape.cols.stride)}" if shape.cols.padded else _pixel("q", "s", shape.cols)
    return {
        "A": at("inp", ("n", row, col, channel)),
        "B": at("weights", ("r", "s", "c", filter_)),
        "first_B": at("weights", ("0", "0", "0", filter_)),  # for a product before those of all taps
        "C": at(result, ("n", "p", "q", filter_)),
        "bias": "0" if workload.options["bias"] == "none" else at("bias", ("0", filter_)),
        "first": "r == 0 && s == 0 && c == 0",
    }


def _pixel(result: str, tap: str, side: Side) -> str:
    """Where a tap of a result meets the image; negative or too large in the padding."""
    margin = f" - {side.before}" if side.before else ""
    return f"{times(result, side.stride)} + {times(tap, side.dilation)}{margin}"


def times(variable: str, factor: Extent) -> str:
    return variable if factor == 1 else f"{variable} * {factor}"


def _product(number: int, extent: Extent) -> str:
    return str(number * extent) if isinstance(extent, int) else times(extent, number)


def _row_inside(side: Side) -> str:
    return f"const int y = {_pixel('p', 'r', side)}; if (y >= 0 && y < {side.extent}) {{ "


def _pixels_inside(side: Side, rows: str) -> str:
    """The pixels of a tile that meet a tap inside the image: `pixels` of them from `first_pixel`."""
    stride, extent = side.stride, side.extent
    before = "-x" if stride == 1 else f"(-x + {stride - 1}) / {stride}"
    inside = f"{extent} - x" if stride == 1 else f"({extent} - x + {stride - 1}) / {stride}"
    return (
        f"const int x = {_pixel('q', 's', side)};"
        f"const int first_pixel = x < 0 ? {before} : 0;"
        f"const int end_pixel = {inside} < {rows} ? {inside} : {rows};"
        "const int pixels = end_pixel - first_pixel;"
        "if (pixels > 0) { "
    )


def finished(workload: Workload, lines: Sequence[str]) -> str:
    """The text of a starting kernel."""
    return folded("\n".join(lines), f"<naive kernel of {workload.name}>")
