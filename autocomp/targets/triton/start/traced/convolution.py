"""Kernels of large convolutions: a copy of the input as rows of channels, one of the filters, and sums of products.

One step multiplies a tile of shifted rows by the filters of one tap: its places are the tile's own, plus numbers.
Tensor cores multiply numbers of tf32. An operand that stays float32 is copied as two such numbers, whose sum it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autocomp.targets.triton.start.traced.blocks import Blocks
from autocomp.targets.triton.start.traced.contraction import is_stored, store_lines, value_at
from autocomp.targets.triton.start.traced.elementwise import AWAY
from autocomp.targets.triton.start.traced.graph import Graph, Node, Ref
from autocomp.targets.triton.start.traced.grid import Axis, Grid, grid_of
from autocomp.targets.triton.start.traced.index import Index, join, split, symbol
from autocomp.targets.triton.start.traced.kernels import Kernel
from autocomp.targets.triton.start.traced.roundings import KEPT, ROUNDED, roundings_of
from autocomp.targets.triton.start.traced.values import LONGEST, Scope, both
from autocomp.targets.triton.start.traced.windows import Reach

PARTS = ("", "_low")  # of elements that are the sum of two numbers of tf32, as names of tiles end
CELLS, CHANNELS = 4096, 64  # elements of a tile of the copied input, and its columns at most
SHALLOW = 16  # columns of a step that is half as deep, of narrow taps and of elements in parts
NARROWEST, WIDEST = 16, 256  # columns of a tile that has all channels


@dataclass(frozen=True)
class Convolution:
    """The three kernels of a convolution. With `tf32`, operands are rounded to that as they are copied, as the
    library does it."""

    graph: Graph
    node: Node
    stored: Mapping[str, str]
    tf32: bool = False

    @property
    def roundings(self) -> tuple[str, str]:
        """The roundings of both operands."""
        return roundings_of(self.graph, self.node, self.tf32)

    @property
    def parts(self) -> tuple[int, int]:
        """The numbers of tf32 that an element of each operand is the sum of."""
        image, filters = (2 if rounding == KEPT else 1 for rounding in self.roundings)
        return (image, filters)

    @property
    def grid(self) -> Grid:
        source = self.graph[self.node.args[0]]
        reach = Reach.of(self.graph, self.node)
        return grid_of(reach, source.shape[0], source.shape[1], source.shape[2:], self.node.shape[1:])

    @property
    def products_each(self) -> int:
        """The products that a tile makes for each result; all but those of two low parts."""
        image, filters = self.parts
        return math.prod(self.grid.counts) * self.grid.width * (image + filters - 1)

    @property
    def shape_of_image(self) -> tuple[int, ...]:
        return (self.parts[0], self.grid.rows, self.grid.columns)

    @property
    def shape_of_filters(self) -> tuple[int, ...]:
        grid = self.grid
        taps = grid.kinds * math.prod(grid.counts)
        return (self.parts[1], taps, grid.groups * grid.products, grid.stored_width)

    # --- the copies ----------------------------------------------------------------------------------------------

    def image(self, output: str) -> Kernel:
        """The copy of the input: cells with the phases of the last axis are rows of a tile, the rest its columns."""
        grid, source = self.grid, self.graph[self.node.args[0]]
        *others, last = grid.axes
        kept = [axis.phases for axis in others]
        across = grid.groups * grid.depth
        first, total = grid.front * last.phases, grid.rows * last.phases
        cells = symbol("cell[:, None]", grid.cells * last.phases)
        image, *at = split(cells, (grid.images, *grid.lines[:-1], last.line * last.phases))
        *phases, group, channel = split(
            symbol("offs_c[None, :]", math.prod(kept) * across), (*kept, grid.groups, grid.depth)
        )
        at = [cell.times(axis.phases) + phase for axis, cell, phase in zip(others, at, phases, strict=False)] + at[-1:]
        conditions = [f"(cell[:, None] >= 0) & (offs_z[:, None] < {total}) & ({channel.text({})} < {grid.channels})"]
        conditions += [f"({place.text({})} < {axis.extent})" for axis, place in zip(grid.axes, at, strict=True)]
        scope = Scope(self.graph, self.stored, {}, f"offs_c[None, :] < {math.prod(kept) * across}")
        place = (image, group.times(grid.channels) + channel, *at)
        value = self._value(scope, source, place, both(f"({scope.mask})", " & ".join(conditions)))
        row, phase = split(symbol("offs_z[:, None]", total), (grid.rows, last.phases))
        outer, inner = split(symbol("offs_c[None, :]", math.prod(kept) * across), (math.prod(kept), across))
        where = join((row, outer, phase, inner), (grid.rows, math.prod(kept), last.phases, across)).text({})
        wide = max(source.elements, math.prod(self.shape_of_image)) >= LONGEST
        lines = [
            f"offs_z = tl.program_id(0){'.to(tl.int64)' if wide else ''} * BLOCK_Z + tl.arange(0, BLOCK_Z)",
            "offs_c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)",
            f"cell = offs_z - {first}",
            *scope.lines,
            *self._stores(0, f"{output}_ptr + {where}", value, f"({scope.mask}) & (offs_z[:, None] < {total})"),
        ]
        columns = min(CHANNELS, 1 << (math.prod(kept) * across - 1).bit_length())
        launch = f"(triton.cdiv({total}, {CELLS // columns}), triton.cdiv({math.prod(kept) * across}, {columns}))"
        return Kernel(scope, lines, launch, {"BLOCK_Z": str(CELLS // columns), "BLOCK_C": str(columns)})

    def filters(self, output: str) -> Kernel:
        """The copy of the filters: for each class of programs and tap, the columns of the product as rows."""
        grid, weight = self.grid, self.graph[self.node.args[1]]
        reach, rank = Reach.of(self.graph, self.node), len(grid.axes)
        run = (len(grid.reads[-1][0]), *(axis.phases for axis in grid.axes)) if grid.runs else ()
        shape = (*grid.classes, *grid.counts, grid.groups, grid.filters, grid.padded, *run, grid.depth)
        parts = list(split(symbol("offs", math.prod(shape)), shape))
        results, taps = parts[: rank - 1], parts[rank - 1 : 2 * rank - 1]
        group, column, result = parts[2 * rank - 1 : 2 * rank + 2]
        channel = parts[-1]
        if grid.runs:
            taps[-1] = parts[2 * rank + 2]
            reads = [
                (tap.plus(of_class[0].start)).times(axis.phases) + phase
                for axis, of_class, tap, phase in zip(
                    grid.axes, grid.reads, taps, parts[2 * rank + 3 : -1], strict=True
                )
            ]
        else:
            of = zip(grid.axes, grid.reads, [*results, Index()], taps, strict=True)
            reads = [_place(axis, of_class, kind.text({}), tap) for axis, of_class, kind, tap in of]
        conditions = [f"(offs < {math.prod(shape)})", f"({channel.text({})} < {grid.channels})"]
        conditions += [f"({result.text({})} < {grid.axes[-1].results})"] if grid.padded > 1 else []
        own = []
        for axis, read, kind in zip(grid.axes, reads, [*results, result], strict=True):
            ahead = kind - read.times(axis.stride) if axis.transposed else read - kind.times(axis.stride)
            text = ahead.plus(axis.padding).text({})
            conditions += [f"({text} >= 0)", f"({text} < {axis.taps * axis.dilation})"]
            conditions += [f"(({text}) % {axis.dilation} == 0)"] if axis.dilation > 1 else []
            own.append(symbol(f"(({text}) // {axis.dilation})" if axis.dilation > 1 else f"({text})", axis.taps))
        filters, channels = grid.filters // grid.joined, grid.channels // grid.joined
        block, column_of_group = column.divide(filters)
        other, channel_of_group = channel.divide(channels)
        if grid.joined > 1:
            conditions.append(f"({block.text({})} == {other.text({})})")
        outer = group.times(grid.channels) + channel if reach.transposed else group.times(grid.filters) + column
        scope = Scope(self.graph, self.stored, {}, "offs < count")
        place = (outer, column_of_group if reach.transposed else channel_of_group, *own)
        value = self._value(scope, weight, place, " & ".join(conditions))
        lines = [
            "offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
            *scope.lines,
            *self._stores(1, f"{output}_ptr + offs", value, "offs < count"),
        ]
        count = math.prod(shape)
        return Kernel(scope, lines, f"(triton.cdiv({count}, ELEMENTS),)", {"BLOCK": "ELEMENTS"}, {"count": str(count)})

    def _value(self, scope: Scope, source: Node, place: tuple[Index, ...], mask: str) -> str:
        """An operand's elements, zero where the mask does not hold."""
        value = scope.value(source.name, place, "0.0", mask)
        if not is_stored(self.graph, source, self.stored):
            value = scope.name("kept", f"tl.where({mask}, {value}, 0.0)")
        return value

    def _stores(self, operand: int, place: str, value: str, mask: str) -> list[str]:
        """The lines that store the parts of an operand's elements. Infinite ones have a first part alone."""
        rounding = self.roundings[operand]
        if rounding != KEPT:
            return [f"tl.store({place}, {ROUNDED[rounding][0]}({value}), mask={mask})"]
        apart = math.prod((self.shape_of_image, self.shape_of_filters)[operand][1:])
        return [
            f"high = rounded({value})",
            f'low = rounded(tl.where(tl.abs(high) < float("inf"), {value} - high, 0.0))',
            f"tl.store({place}, high, mask={mask})",
            f"tl.store({place} + {apart}, low, mask={mask})",
        ]

    @property
    def functions(self) -> set[str]:
        """The texts of functions that the kernels call."""
        return {AWAY if rounding == KEPT else ROUNDED[rounding][1] for rounding in self.roundings}

    # --- the products --------------------------------------------------------------------------------------------

    @property
    def fits_a_tile(self) -> bool:
        """True where one tile can have all channels of a result."""
        return self.grid.groups == 1 and _columns(self.grid) <= WIDEST

    def products(self, image: str, filters: str, whole: bool = False) -> Products:
        return Products(self, image, filters, whole)


def _columns(grid: Grid) -> int:
    """The columns of a tile that has all channels."""
    return max(NARROWEST, 1 << (grid.products - 1).bit_length())


class Products:
    """The kernel that multiplies: `lines`, in whose `scope` a tile of results is held, and the launch of these and of
    what follows. With `whole`, the tile has all channels."""

    def __init__(self, convolution: Convolution, image: str, filters: str, whole: bool) -> None:
        self.grid = grid = convolution.grid
        self.node = node = convolution.node
        self.columns = _columns(grid) // grid.padded if whole else 0  # channels that a tile has, where it has all
        self._width = str(_columns(grid)) if whole else "BLOCK_N"
        graph = convolution.graph
        self._image, self._filters, self._parts = image, filters, convolution.parts
        self._shapes = (convolution.shape_of_image, convolution.shape_of_filters)
        rows = symbol("offs_m[None, :]", grid.cells * grid.padded)
        columns = symbol("offs_f[:, None]", grid.filters)
        picture, *cells, result = split(rows, (grid.images, *grid.lines, grid.padded))
        kinds = [symbol(f"class{at}", extent) for at, extent in enumerate(grid.classes)]
        spots = [
            cell.times(axis.results) + kind for axis, cell, kind in zip(grid.axes, cells, [*kinds, result], strict=True)
        ]
        conditions = [f"(offs_m[None, :] < {grid.cells * grid.padded})"]
        if grid.padded > grid.axes[-1].results:
            conditions.append(f"({result.text({})} < {grid.axes[-1].results})")
        conditions += [
            f"({spot.text({})} < {axis.extent_of_results})" for axis, spot in zip(grid.axes, spots, strict=True)
        ]
        self.result = (picture, symbol("group", grid.groups).times(grid.filters) + columns, *spots)
        self.inside = " & ".join(conditions)  # of the image, for cells
        mask = f"({columns.text({})} < {grid.filters}) & {self.inside}"
        self.scope = Scope(graph, convolution.stored, {}, mask)
        self._wide = node.elements >= LONGEST
        self.lines = [*self._places(), *self._loop()]
        self.scope.held[node.name] = ("tile", self.result)
        bias = node.args[2]
        if isinstance(bias, Ref):
            biased = self.scope.name("biased", f"tile + {self.scope.value(bias.name, (self.result[1],))}")
            self.scope.held[node.name] = (biased, self.result)

    def kernel(self, node: Node, output: str, moments: Mapping[str, str] | None = None) -> Kernel:
        """The kernel that stores a node, which may come after the convolution, and its `moments` in the memory that
        is named. Without an output it stores these alone. Raises NotHere where it cannot."""
        stores = []
        if moments:
            rows, filters = self._rows_and_filters()
            value = value_at(self.scope, self.result, self.node.shape, node)
            blocks = Blocks.of(self.grid)
            assert blocks is not None
            stores = blocks.stores(self.scope, value, self.inside, (filters, rows), moments)
        shape = self.node.shape
        lines = store_lines(self.scope, self.result, shape, node, output) if output else self.scope.lines
        return self.launch([*lines, *stores])

    def launch(self, lines: Sequence[str]) -> Kernel:
        """The kernel that multiplies, and goes on with some lines."""
        grid = self.grid
        tiles = f"triton.cdiv({grid.cells}, BLOCK_M) * {grid.kinds}"
        blocks = {"BLOCK_M": "BLOCK_M", "BLOCK_N": "BLOCK_N", "BLOCK_K": "BLOCK_K"}
        if self.columns:
            del blocks["BLOCK_N"]
        else:
            tiles += f" * triton.cdiv({grid.products}, BLOCK_N)"
        in_parts = max(self._parts) > 1 and grid.width % SHALLOW == 0
        if grid.width <= SHALLOW or in_parts:
            blocks["BLOCK_K"] = "SHALLOW"
        depth = blocks["BLOCK_K"]
        whole = grid.rows - len(grid.reads[-1][0]) + 1 if grid.runs else grid.rows  # rows whose run ends in the copy
        shape = (1 if grid.runs else grid.phases * grid.groups, whole, grid.width)
        strides = (grid.depth if not grid.runs else grid.columns, grid.columns, 1)
        _, taps, products, stored_width = self._shapes[1]
        of_filters = (taps, products, grid.width), (products * stored_width, stored_width, 1)
        descriptors = {
            "image": self._descriptor(0, self._image, shape, strides, f"BLOCK_M, {depth}"),
            "filters": self._descriptor(1, self._filters, *of_filters, f"{self._width}, {depth}"),
        }
        numbers = {"N": str(grid.products)}
        return Kernel(self.scope, [*self.lines, *lines], f"({tiles}, {grid.groups})", blocks, numbers, descriptors)

    def _descriptor(
        self, operand: int, tensor: str, shape: tuple[int, ...], strides: tuple[int, ...], block: str
    ) -> str:
        """An operand by tiles; where its elements have several parts, these are its first axis."""
        if self._parts[operand] > 1:
            shape, strides = (2, *shape), (math.prod(self._shapes[operand][1:]), *strides)
        return f"TensorDescriptor({tensor}, {list(shape)}, {list(strides)}, [{'1, ' * (len(shape) - 2)}{block}])"

    def _places(self) -> list[str]:
        grid = self.grid
        lines = ["pid = tl.program_id(0)", "group = tl.program_id(1)", f"tiles = tl.cdiv(N, {self._width})"]
        kinds = split(symbol("kind", grid.kinds), grid.classes)
        lines += ["pid_n = pid % tiles", f"pid_m = pid // tiles // {grid.kinds}"]
        lines += [f"kind = pid // tiles % {grid.kinds}"] if grid.kinds > 1 else []
        lines += [f"class{at} = {k.text({})}" for at, k in enumerate(kinds) if grid.classes[at] > 1]
        wide = ".to(tl.int64)" if self._wide else ""
        rows, filters = self._rows_and_filters()
        lines += [
            f"offs_m = pid_m{wide} * {rows} + tl.arange(0, {rows})",
            f"offs_f = pid_n * {filters} + tl.arange(0, {filters})",
        ]
        return lines

    def _rows_and_filters(self) -> tuple[str, str]:
        """The results along the last axis that a tile has, and its filters."""
        padded = self.grid.padded
        filters = str(self.columns) if self.columns else "BLOCK_N" if padded == 1 else f"(BLOCK_N // {padded})"
        return "BLOCK_M" if padded == 1 else f"BLOCK_M * {padded}", filters

    def _loop(self) -> list[str]:
        """The sum over the taps of a class, and the columns of each. Of the products of parts, that of both low ones is
        less than what float32 keeps."""
        grid = self.grid
        taps, lines, counts = self._taps()
        row, part, body, rest = Index(), Index(), [], "tap"
        for at in range(len(grid.axes) - 1, -1, -1):
            if counts[at] != "1":
                body.append(f"tap{at} = {rest if at == 0 else f'{rest} % {counts[at]}'}")
                rest = f"{rest} // {counts[at]}"
            phases = 1 if grid.runs else grid.axes[at].phases
            cell, phase = taps[at].divide(phases) if phases > 1 else (taps[at], Index())
            row += cell.times(grid.strides[at])
            part += phase.times(math.prod(axis.phases for axis in grid.axes[at + 1 :]))
        rounds = " * ".join([*(count for count in counts if count != "1"), "steps"])
        which = symbol("tap", math.prod(grid.counts))
        if grid.kinds > 1:
            shape = (grid.kinds, *grid.counts)
            which = join([symbol("kind", grid.kinds), *(_tap(at, most) for at, most in enumerate(grid.counts))], shape)
        group = symbol("group", grid.groups)
        chosen = Index() if grid.runs else part.times(grid.groups) + group
        column = (
            f"{group.times(grid.products).text({})} + pid_n * BLOCK_N" if grid.groups > 1 else f"pid_n * {self._width}"
        )
        tile = "tl.trans(acc)"
        if grid.padded > 1:  # results of a cell are neighbours in memory
            rows, filters = self._rows_and_filters()
            tile = f"tl.permute(tl.reshape(acc, (BLOCK_M, {filters}, {grid.padded})), (1, 0, 2))"
            tile = f"tl.reshape({tile}, ({filters}, {rows}))"
        return [
            *lines,
            f"steps = tl.cdiv({grid.width}, BLOCK_K)",
            f"acc = tl.zeros((BLOCK_M, {self._width}), dtype=tl.float32)",
            f"for step in range(0, {rounds}):",
            "    tap = step // steps",
            "    depth = step % steps * BLOCK_K",
            *(f"    {line}" for line in body),
            f"    row = pid_m * BLOCK_M + {row.text({})}",
            *self._tiles("rows", "image", f"{chosen.text({})}, row, depth", "BLOCK_M"),
            *self._tiles("columns", "filters", f"{which.text({})}, {column}, depth", self._width),
            *(
                f'    acc = tl.dot(rows{left}, columns{right}.T, acc, input_precision="tf32")'
                for left in reversed(PARTS[: self._parts[0]])
                for right in reversed(PARTS[: self._parts[1]])
                if not (left and right)
            ),
            f"tile = {tile}",
        ]

    def _tiles(self, word: str, operand: str, place: str, extent: str) -> list[str]:
        """The lines that load a tile of each part of an operand's elements."""
        parts = self._parts[("image", "filters").index(operand)]
        return [
            f"    {word}{name} = {operand}_desc.load([{f'{part}, ' if parts > 1 else ''}{place}])"
            f".reshape({extent}, BLOCK_K)"
            for part, name in enumerate(PARTS[:parts])
        ]

    def _taps(self) -> tuple[list[Index], list[str], list[str]]:
        """Along each axis: the place that a tap reads, from the first row in front; how many taps a class has; and the
        lines that say so of classes."""
        grid = self.grid
        places, lines, counts = [], [], []
        for at, (axis, reads, most) in enumerate(zip(grid.axes, grid.reads, grid.counts, strict=True)):
            ahead = -axis.nearest * (1 if grid.runs else axis.phases)
            starts = [one.start + ahead for one in reads]
            place = Index(starts[0])
            counts.append(str(most))
            if len(reads) > 1:
                lines.append(f"taps{at} = {_chosen(f'class{at}', [len(one) for one in reads])}")
                lines.append(f"first{at} = {_chosen(f'class{at}', starts)}")
                place, counts[-1] = symbol(f"first{at}", max(starts) + 1), f"taps{at}"
            step = 1 if grid.runs else max(one.step for one in reads)
            places.append(place + _tap(at, most).times(step))
        return places, lines, counts


def _tap(at: int, count: int) -> Index:
    return symbol(f"tap{at}", count)


def _place(axis: Axis, reads: Sequence[range], kind: str, tap: Index) -> Index:
    """The place that a tap reads, from the first element of a cell."""
    start = _chosen(kind, [one.start for one in reads])
    offset = tap.times(max(one.step for one in reads))
    if len(reads) == 1:
        return offset.plus(reads[0].start)
    lowest = min(one.start for one in reads)
    return (offset + symbol(f"({start} - {lowest})", 1 << 20)).plus(lowest)


def _chosen(kind: str, values: Sequence[int]) -> str:
    """The number of a class, of which there are a few."""
    text = str(values[-1])
    for at in range(len(values) - 2, -1, -1):
        if any(value != values[at] for value in values[at + 1 :]):
            text = f"tl.where({kind} == {at}, {values[at]}, {text})"
    return text
