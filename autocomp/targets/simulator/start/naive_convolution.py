"""The starting kernel of a convolution: pixels of a row, filters and channels in tiles, one pair of taps at a time.

A tile multiplies the pixels of one output row that meet one tap with the tap's weights; nothing is rearranged in DRAM.
Where the image is padded, a tile leaves out the pixels that lie outside; `first_values` says where those sums start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autocomp.errors import ConfigError, KernelError
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.compiler import check
from autocomp.targets.simulator.kernel.syntax.parser import parse
from autocomp.targets.simulator.kernel.syntax.printer import print_kernel
from autocomp.targets.simulator.start.first_values import FirstValues, first_values
from autocomp.targets.simulator.start.fold import fold_kernel
from autocomp.targets.simulator.start.idioms import (
    address_step,
    boolean,
    c_type,
    fill,
    rows_of_sums,
    signature,
    tile_addresses,
    tile_extent,
    tile_of,
)
from autocomp.targets.simulator.start.operand_types import check_operands
from autocomp.targets.simulator.start.requirements import rows_lie_apart
from autocomp.targets.simulator.start.results import address_of_results
from autocomp.targets.simulator.start.stored import At, elements, filter_operand, image_operand, layouts_of
from autocomp.workload.convolution import Axis, Convolution, Pooling, convolution
from autocomp.workload.datatypes import data_type
from autocomp.workload.model import Workload

RESULT = "result"  # the unpooled results
POOLING_STORE = "conv_pool_store"
LEAST = {"int8": "-128", "int32": "-2147483647 - 1"}  # of the types that a host pools
Extent = int | str  # a number, or an expression of C without operators outside of parentheses


@dataclass(frozen=True)
class Side:
    """One of the two directions of an image, as loops walk it: see `Axis`."""

    extent: Extent
    taps: Extent
    results: Extent
    stride: int
    padding: int
    dilation: int


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
    def of(cls, found: Convolution) -> Shape:
        rows, cols = (
            Side(axis.extent, axis.taps, axis.results, axis.stride, axis.padding, axis.dilation)
            for axis in (found.rows, found.cols)
        )
        return cls(found.images, rows, cols, found.channels, found.filters, found.groups)

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


def naive_convolution(workload: Workload, accelerator: Accelerator) -> str:
    """The plain loops. Pooled by the machine where its description says how, else by a host that may compute.

    Raises ConfigError where nothing pools.
    """
    shape = convolution(workload.dims, workload.options)
    pooling = shape.rows.pooling
    if pooling is None:
        return _finished(workload, _plain(workload, accelerator, shape, "output"))
    dtype = workload.outputs[0].dtype
    text = _pooled_by_the_machine(workload, accelerator, shape, pooling) if dtype == "int8" else None
    if text is not None:
        return text
    if workload.host != "control" and dtype in LEAST:
        lines = _plain(workload, accelerator, shape, RESULT)
        return _finished(workload, [lines[0], _buffer(shape, dtype), *lines[1:-1], _pool(shape, pooling, dtype), "}"])
    raise ConfigError(
        f"{accelerator.full_name} has no store that pools {pooling.size} x {pooling.size} windows like those of "
        f"{workload.name!r}, so no starting kernel can be made",
        hint=f"describe one for int8 as idiom {POOLING_STORE!r} in the .isa file, or let the host pool "
        f"{' or '.join(LEAST)} with `host: compute`",
    )


def _finished(workload: Workload, lines: Sequence[str]) -> str:
    return print_kernel(fold_kernel(parse("\n".join(lines), f"<naive kernel of {workload.name}>")))


def _plain(workload: Workload, accelerator: Accelerator, shape: Convolution, result: str) -> list[str]:
    """The convolution without pooling, line by line from its head to its last brace."""
    loops = convolution_loops(workload, accelerator, Shape.of(shape), result, elements(workload, accelerator))
    return [signature(workload.tensors) + " {", *loops, "}"]


def convolution_loops(
    workload: Workload,
    accelerator: Accelerator,
    shape: Shape,
    result: str,
    at: At,
    given: Mapping[str, str] | None = None,
) -> list[str]:
    """The loops over tiles of a convolution without pooling, line by line, with what comes before and after them. They
    write the tensor `result`; `at` addresses elements, the sizes are those of `shape`, and `given` fills holes of the
    idioms otherwise than the workload."""
    tiles = _Tiles.of(workload, accelerator, shape, result, at, given or {})
    return [
        *tiles.begin,
        _loop("n", shape.images),
        _loop("p", shape.rows.results),
        _loop("q", shape.cols.results, tiles.size[0]) + tiles.pixels_declared(),
        tiles.filters,
        *tiles.sums("c_tile"),
        fill(accelerator, "gemm_store", tiles.holes | {"c_tile": address_of_results(workload, accelerator, "c_tile")}),
        "} } } }" + (" }" if shape.groups > 1 else ""),
        fill(accelerator, "gemm_finish", tiles.holes),
    ]


def _pooled_by_the_machine(
    workload: Workload, accelerator: Accelerator, shape: Convolution, pooling: Pooling
) -> str | None:
    """As many sums as fit into local memory, and a store that pools them; None where the machine cannot."""
    if accelerator.idiom(POOLING_STORE) is None:
        return None
    tiles = _Tiles.of(workload, accelerator, Shape.of(shape), "output", elements(workload, accelerator), {})
    cols = _Block.within(shape.cols, pooling, "w", ("left", "right"), tiles.room // pooling.size)
    rows = _Block.within(shape.rows, pooling, "o", ("top", "bottom"), tiles.room // max(1, cols.most))
    if cols.most < pooling.size or rows.most < pooling.size:
        return None
    image = f"[{'0' if rows.whole else 'o'}][{'0' if cols.whole else 'w'}]"
    holes = tiles.holes | {
        "C": tiles.holes["C"].replace("[p][q]", image),
        "pool_size": str(pooling.size),
        "pool_stride": str(pooling.stride),
        "pool_rows": rows.pooled,
        "pool_cols": cols.pooled,
        "pool_width": str(shape.cols.pooled),
        "image_rows": rows.extent,
        "image_cols": cols.extent,
        "above": rows.before,
        "before": cols.before,
    }
    place = f"({_offset('p', rows.low)} * {cols.extent} + {_offset('q', cols.low)})"
    lines = [
        signature(workload.tensors) + " {",
        *tiles.begin,
        _loop("n", shape.images),
        rows.head,
        cols.head,
        tiles.filters,
        f"for (int p = {rows.low}; p < {rows.high}; p++) {{",
        f"for (int q = {cols.low}; q < {cols.high}; q += {tiles.size[0]}) {{",
        tiles.pixels_declared(None if cols.whole else cols.high),
        f"const uint32_t tile = c_tile + {_times(place, tiles.step)};",
        *tiles.sums("tile", cols.whole),
        "} }",
        fill(accelerator, POOLING_STORE, holes),
        "} }" + rows.tail + cols.tail + (" }" if shape.groups > 1 else ""),
        fill(accelerator, "gemm_finish", tiles.holes),
        "}",
    ]
    text = _finished(workload, lines)
    try:
        check(parse(text), accelerator, workload.constants, workload.tensors)
    except KernelError:  # a window or an image beyond what the store takes
        return None
    return text


def _offset(variable: str, low: str) -> str:
    return variable if low == "0" else f"({variable} - {low})"


@dataclass(frozen=True)
class _Block:
    """A part of an axis that one pooling store covers: `size` pooled results, counted by `variable`, and the sums that
    they compare, at most `most` of them, between the expressions `low` and `high`."""

    axis: Axis
    pooling: Pooling
    variable: str
    bounds: tuple[str, str]
    size: int
    most: int

    @classmethod
    def within(cls, axis: Axis, pooling: Pooling, variable: str, bounds: tuple[str, str], room: int) -> _Block:
        """The largest block of at most `room` sums."""
        if axis.results <= room:
            return cls(axis, pooling, variable, bounds, axis.pooled, axis.results)
        size = max(1, (room - pooling.size) // pooling.stride + 1)
        return cls(axis, pooling, variable, bounds, size, min(room, (size - 1) * pooling.stride + pooling.size))

    @property
    def whole(self) -> bool:
        """True if all sums of the axis fit; a block of all pooled results may leave out sums between windows."""
        return self.most == self.axis.results

    @property
    def low(self) -> str:
        return "0" if self.whole else self.bounds[0]

    @property
    def high(self) -> str:
        return str(self.axis.results) if self.whole else self.bounds[1]

    @property
    def extent(self) -> str:
        return self.high if self.whole else f"({self.high} - {self.low})"

    @property
    def pooled(self) -> str:
        return str(self.size) if self.whole else tile_extent("pooled_" + self.variable, self.variable, *self._steps)[0]

    @property
    def before(self) -> str:
        """Zeros in front of the first sum."""
        if not self.pooling.padding:
            return "0"
        return str(self.pooling.padding) if self.whole else f"{self.low} - {self._first}"

    @property
    def tail(self) -> str:
        return "" if self.whole else " }"

    @property
    def head(self) -> str:
        """The loop over blocks, and which sums each needs: those of its windows that lie inside the image."""
        if self.whole:
            return ""
        counted = tile_extent("pooled_" + self.variable, self.variable, *self._steps)[1]
        low = f"{self._first} < 0 ? 0 : {self._first}" if self.pooling.padding else self._first
        count = int(self.pooled) if self.pooled.isdigit() else 0
        reach = (
            str((count - 1) * self.pooling.stride + self.pooling.size)
            if count
            else (f"({self.pooled} - 1) * {self.pooling.stride} + {self.pooling.size}")
        )
        end = f"{self._first} + {reach}"
        last = (self.axis.pooled - 1) * self.pooling.stride - self.pooling.padding + self.pooling.size
        high = end if last <= self.axis.results else f"{end} < {self.axis.results} ? {end} : {self.axis.results}"
        loop = _loop(self.variable, self.axis.pooled, self.size)
        return f"{loop}{counted} const int {self.low} = {low}; const int {self.high} = {high};"

    @property
    def _steps(self) -> tuple[int, int]:
        return self.axis.pooled, self.size

    @property
    def _first(self) -> str:
        """The first sum that the block's first window compares, negative in the padding."""
        first = _times(self.variable, self.pooling.stride)
        return f"({first} - {self.pooling.padding})" if self.pooling.padding else first


@dataclass(frozen=True)
class _Tiles:
    """The parts that all loops over tiles share. `room` is how many rows of sums there are from the first tile on."""

    workload: Workload
    accelerator: Accelerator
    shape: Shape
    size: tuple[int, int, int]
    holes: dict[str, str]
    first: FirstValues
    step: int
    room: int

    @classmethod
    def of(
        cls,
        workload: Workload,
        accelerator: Accelerator,
        shape: Shape,
        result: str,
        at: At,
        given: Mapping[str, str],
    ) -> _Tiles:
        size = tile_of(workload, accelerator)
        check_operands(workload, accelerator)
        padded = shape.cols.padding > 0
        if padded and not rows_lie_apart(accelerator, "gemm_tile"):
            size = (1, *size[1:])  # one pixel is inside the image or outside
        first = first_values(workload, accelerator, size) if padded else FirstValues()
        holes = _facts(workload, shape) | _layouts(workload, accelerator, size) | _pointers(workload, shape, result, at)
        holes |= {"has_bias": boolean(workload.options["bias"] != "none")} | {**first.holes, **given}
        holes["rows"] = tile_extent("rows", "q", shape.cols.results, size[0])[0]
        holes["cols"] = tile_extent("cols", "k", shape.filters_each, size[1])[0]
        tiles = cls(workload, accelerator, shape, size, holes, first, address_step(workload, accelerator), 0)
        holes |= {name: name for name, _ in tiles.addresses}
        return replace(tiles, room=rows_of_sums(workload, accelerator, size[0], size[2]))

    @property
    def addresses(self) -> list[tuple[str, str]]:
        """Where tiles lie."""
        rows, cols, depth = self.size
        a_rows = depth if self.holes["transpose_a"] == boolean(True) else rows
        b_rows = cols if self.holes["transpose_b"] == boolean(True) else depth
        return tile_addresses(self.workload, self.accelerator, a_rows, b_rows)

    @property
    def begin(self) -> list[str]:
        """Zeros, if there have to be some, where tiles lie, and the machine's configuration."""
        return [
            self.first.declared,
            *(f"const uint32_t {name} = {value};" for name, value in self.addresses),
            fill(self.accelerator, "gemm_configure", self.holes),
        ]

    @property
    def filters(self) -> str:
        shape = self.shape
        declared = tile_extent("cols", "k", shape.filters_each, self.size[1])[1]
        groups = _loop("g", shape.groups) if shape.groups > 1 else ""
        return groups + _loop("k", shape.filters_each, self.size[1]) + declared

    def pixels_declared(self, end: str | None = None) -> str:
        """Code for the pixels of a row in a tile, where they differ from tile to tile; the row goes up to `end`."""
        if end is None:
            return tile_extent("rows", "q", self.shape.cols.results, self.size[0])[1]
        return f"const int rows = {end} - q < {self.size[0]} ? {end} - q : {self.size[0]};"

    def sums(self, tile: str, whole: bool = True) -> list[str]:
        """The sums of one tile of pixels and filters, over all taps and channels; `whole` rows of pixels are walked."""
        shape, size = self.shape, self.size
        padded = shape.cols.padding > 0
        depth, declared = tile_extent("depth", "c", shape.depth, size[2])
        rows, cols = self.holes["rows"] if whole else "rows", self.holes["cols"]
        taken = "pixels" if padded else rows
        holes = self.holes | {"rows": rows, "c_tile": tile}
        inner = self._sizes(taken, cols, depth)
        if padded and size[0] > 1:
            inner["c_tile"] = f"{tile} + {_times('first_pixel', self.step)}"
        begin = [fill(self.accelerator, "gemm_begin", holes)]
        if self.first.product:
            least = str(size[2] if isinstance(shape.depth, str) else min(size[2], shape.depth))
            zeros = self._sizes(rows, cols, least) | {"B": self.holes["first_B"], **self.first.product}
            begin.append(fill(self.accelerator, "gemm_tile", holes | zeros))
        return [
            *begin,
            _loop("r", shape.rows.taps),
            _row_inside(shape.rows) if padded else "",
            _loop("s", shape.cols.taps),
            _pixels_inside(shape.cols, rows) if padded else "",
            _loop("c", shape.depth, size[2]) + declared,
            fill(self.accelerator, "gemm_tile", holes | inner),
            "} } }" + (" } }" if padded else ""),
        ]

    def _sizes(self, rows: str, cols: str, depth: str) -> dict[str, str]:
        """Holes for the sizes of one product and of its operands as they are stored."""
        left, right = (rows, depth), (depth, cols)
        a = left[::-1] if self.holes["transpose_a"] == boolean(True) else left
        b = right[::-1] if self.holes["transpose_b"] == boolean(True) else right
        sizes = ("rows", "depth", "a_rows", "a_cols", "b_rows", "b_cols")
        return dict(zip(sizes, (rows, depth, *a, *b), strict=True))


def _loop(variable: str, extent: Extent, step: int = 1) -> str:
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
        "scale": f"{float(np.float32(options['scale']))!r}f",
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
    padded, grouped = shape.cols.padding > 0, shape.groups > 1
    channel = f"{_times('g', shape.depth)} + c" if grouped else "c"
    filter_ = f"{_times('g', shape.filters_each)} + k" if grouped else "k"
    row = "y" if padded else _pixel("p", "r", shape.rows)
    col = f"x + {_times('first_pixel', shape.cols.stride)}" if padded else _pixel("q", "s", shape.cols)
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
    margin = f" - {side.padding}" if side.padding else ""
    return f"{_times(result, side.stride)} + {_times(tap, side.dilation)}{margin}"


def _times(variable: str, factor: Extent) -> str:
    return variable if factor == 1 else f"{variable} * {factor}"


def _product(number: int, extent: Extent) -> str:
    return str(number * extent) if isinstance(extent, int) else _times(extent, number)


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


def _buffer(shape: Convolution, dtype: str) -> str:
    extents = (shape.images, shape.rows.results, shape.cols.results, shape.filters)
    return f"static {c_type(dtype)} {RESULT}{''.join(f'[{extent}]' for extent in extents)};"


def _pool(shape: Convolution, pooling: Pooling, dtype: str) -> str:
    """The host takes the maxima; the kernel's last fence stands before."""
    rows, cols = shape.rows, shape.cols
    value = f"{RESULT}[n][y][x][k]"
    if pooling.padding:
        value = f"y >= 0 && y < {rows.results} && x >= 0 && x < {cols.results} ? {value} : 0"
    margin = f" - {pooling.padding}" if pooling.padding else ""
    return "\n".join(
        [
            _loop("n", shape.images) + _loop("p", rows.pooled) + _loop("q", cols.pooled) + _loop("k", shape.filters),
            f"int most = {LEAST[dtype]};",
            _loop("i", pooling.size) + _loop("j", pooling.size),
            f"const int y = {_times('p', pooling.stride)} + i{margin};",
            f"const int x = {_times('q', pooling.stride)} + j{margin};",
            f"const int value = {value};",
            "if (value > most) most = value;",
            "} }",
            "output[n][p][q][k] = most;",
            "} } } }",
        ]
    )
