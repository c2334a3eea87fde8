"""Where the tiles of a scheduled contraction are: in tensors, in local memory, and inside of an image's edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import prod

from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.computation import Contraction, Subscript
from autocomp.targets.simulator.transforms.scheduling.lowering.layout import Buffer, placed
from autocomp.targets.simulator.transforms.scheduling.lowering.leaves import Leaves
from autocomp.targets.simulator.transforms.scheduling.lowering.order import Order
from autocomp.targets.simulator.transforms.scheduling.lowering.text import Lines, minimum
from autocomp.targets.simulator.transforms.scheduling.schedule import Grid, Schedule


@dataclass
class Tiles:
    """The coordinates, rows and extents of tiles, as text."""

    computation: Contraction
    schedule: Schedule
    leaves: Leaves
    grid: Grid = field(init=False)

    def __post_init__(self) -> None:
        self.grid = Grid(self.computation, self.schedule)
        self._words = {dim: word for word, dim in self.computation.tiled.items()}
        self._check()
        self._order = Order(self.leaves.accelerator)
        self._places = placed(self.leaves.accelerator, self._buffers())

    # --- what fits

    def _check(self) -> None:
        self._check_tiles()
        computation, schedule = self.computation, self.schedule
        refusal = self.leaves.refusal(self.grid) or self.grid.uneven(len(self.leaves.cores) + 1)
        if refusal:
            raise NotApplicable(refusal)
        names = set(computation.extents)
        for given in (schedule.order, schedule.inner):
            if set(given) - names or len(set(given)) < len(given):
                raise NotApplicable(f"the dimensions are {', '.join(computation.extents)}; got {', '.join(given)}")
        order = self.grid.order
        missing = [d for d in names if self.grid.blocks[d] > 1 and d not in order]
        if missing:
            raise NotApplicable(f"the order of blocks leaves out {', '.join(missing)}")
        if list(order) != [*self.grid.outer, *(d for d in order if d not in self.grid.outer)]:
            raise NotApplicable("results stay in local memory while they are reduced: reduced dimensions come last")
        unnamed = [d for d in names if self.grid.block[d] > 1 and d not in schedule.inner]
        if unnamed:
            raise NotApplicable(f"the order inside a block leaves out {', '.join(unnamed)}")

    def _check_tiles(self) -> None:
        most = self.leaves.product.most
        for dim, size in self.schedule.tile.items():
            if dim not in self._words or not 1 <= size <= most[self._words[dim]]:
                raise NotApplicable(f"a tile of {size} along {dim!r} is not one of this machine's")
        if not self.leaves.product.adding and prod(self.grid.tiles[d] for d in self.computation.reduction) > 1:
            raise NotApplicable("the machine does not add to results")

    @property
    def inner(self) -> tuple[str, ...]:
        return tuple(d for d in self.schedule.inner if self.grid.block[d] > 1)

    # --- local memory

    def _row_word(self, operand: str) -> str:
        """The dimension along the local rows of an operand."""
        return self.computation.tiled[self.leaves.product.row_word(operand)]

    def _side(self, operand: str) -> str:
        """The dimension that one move of it may take several tiles along."""
        return self.leaves.side(operand, self.grid)

    def _columns(self, operand: str, tile: Mapping[str, str], at: str, tiles: str = "1") -> str:
        """Columns in some tiles of an operand side by side, from one on."""
        if self._is_pieced(operand):
            depth = self.computation.depth
            return self._extent(depth, tile.get(depth, "0"), at)
        side = self._side(operand)
        if side in self._words:
            return self._extent(side, tile.get(side, "0"), at, tiles)
        return f"({tiles}) * {self.grid.columns(operand, side)}"

    def _pitch(self, operand: str) -> int:
        """Rows from one tile to the next: as many as a tile has; of results as many as wide stores need, or those of an
        image."""
        if operand == "result" and self.computation.windows:
            return self.leaves.rows(operand, self.grid)
        if self._is_pieced(operand):
            return 1
        rows = self.schedule.tile.get(self._row_word(operand), 1)
        fixed = self.leaves.move(operand).pitch.constant
        return max(rows, fixed) if self._width(operand) > 1 and fixed else rows

    def _width(self, operand: str) -> int:
        """Tiles in a move."""
        return self.leaves.width(operand, self.grid)

    def tile_order(self, operand: str) -> tuple[str, ...]:
        """The dimensions of a panel's tiles, those farthest apart first: tiles side by side in DRAM are neighbours."""
        if operand == "result" and self.computation.windows:
            images = [d for d in self.computation.parallel if d not in self.computation.windows]
            return (*images, *self.computation.windows)
        row, column = self._row_word(operand), self._side(operand)
        others = [d for d in self.computation.extents if d in self.grid.dims(operand) and d not in (row, column)]
        return (*others, *(d for d in (row, column) if d in self.grid.dims(operand)))

    def _buffers(self) -> Mapping[str, Buffer]:
        buffers = self.leaves.buffers(self.grid)
        return {name: replace(b, rows=self.grid.held(name) * self._pitch(name)) for name, b in buffers.items()}

    def _slots(self, operand: str) -> tuple[str, ...]:
        return () if operand == "result" else self.grid.slots(operand)

    def _row(self, operand: str, tile: Mapping[str, str], at: str, phase: str) -> str:
        """The local row of a tile of a block, given by its coordinates there, in the step `at`."""
        within = self.computation.windows if operand == "result" else {}
        terms = [f"({self._pixel(tile)})"] if within else []
        stride = self._pitch(operand)
        for dim in reversed([d for d in self.tile_order(operand) if d not in within]):
            cores = self.schedule.cores.get(dim, 1)
            place = self._place(operand, dim, tile, at)
            terms.append(f"({place}) / {cores} * {stride}" if cores > 1 else f"({place}) * {stride}")
            stride *= self.grid.on_core(dim, self.grid.along(operand, dim, self.grid.block))
        slots: list[str] = []
        places = 1
        for dim in reversed(self._slots(operand)):
            slots.append(f"{self.block_name(dim)}{at} * {places}")
            places *= self.grid.blocks[dim]
        phases = self.grid.phases(operand)
        if phases > 1:
            slots.append(f"({phase}) % {phases} * {places}")
            places *= phases
        first, *others = self._places[operand]
        if others:  # even and odd places
            number = " + ".join(slots)
            apart = others[0] - first
            odd = f"({number}) % 2"
            terms.append(f"{odd} * {apart}" if apart >= 0 else f"(1 - {odd}) * {-apart}")
            if places > 2:
                terms.append(f"({number}) / 2 * {stride}")
        return " + ".join([*terms, str(min(self._places[operand]))])

    def _pixel(self, tile: Mapping[str, str]) -> str:
        """The row of a tile in the image of a block's results: one line after another."""
        terms: list[str] = []
        stride = 1
        for dim in reversed(list(self.computation.windows)):
            terms.append(f"({tile.get(dim, '0')}) * {stride * self.schedule.tile.get(dim, 1)}")
            stride *= self.computation.extents[dim]
        return " + ".join(terms)

    def _place(self, operand: str, dim: str, tile: Mapping[str, str], at: str) -> str:
        """The place of a tile along a dimension of its panel, in the step `at`."""
        own = tile.get(dim, "0")
        if operand != "left" or dim not in self.grid.shared:
            return own if self.grid.along(operand, dim, self.grid.block) > 1 else "0"
        other, steps = self.grid.shared[dim]
        pieces = self.grid.pieces(operand, other, 1)
        first = f"({tile.get(other, '0')}) * {pieces}" if pieces > 1 else f"({tile.get(other, '0')})"
        return f"{first} * {steps} + {self._tile(dim, own, at)}"

    def places(self, operand: str, dim: str, at: str) -> str:
        """Places of an operand along a dimension in a block of a step."""
        if operand != "left" or dim not in self.grid.shared:
            return self.count(dim, at) if self.grid.along(operand, dim, self.grid.block) > 1 else "1"
        other, steps = self.grid.shared[dim]
        pieces = self.count(other, at)
        if other == self.computation.row and self.grid.pieced:
            pieces = self._extent(other, "0", at, pieces)
        return f"(({pieces} - 1) * {steps} + {self.grid.tiles[dim]})"

    def _is_pieced(self, operand: str) -> bool:
        """True if moves of an operand count pieces of tiles."""
        return operand == "left" and self.grid.pieced

    # --- coordinates

    @staticmethod
    def block_name(dim: str) -> str:
        return f"{dim}_block"

    def coordinates(self, step: str, at: str, dims: Iterable[str] | None = None) -> Lines:
        """The block of each loop in a step, and how many tiles it has."""
        lines: Lines = []
        inside = 1
        values: dict[str, str] = {}
        for dim in reversed(self.grid.order):
            values[dim] = f"({step}) / {inside} % {self.grid.blocks[dim]}"
            inside *= self.grid.blocks[dim]
        chosen = self.grid.order if dims is None else [d for d in self.grid.order if d in set(dims)]
        lines += [f"const int {self.block_name(dim)}{at} = {values[dim]};" for dim in chosen]
        return [*lines, *(line for dim in chosen for line in self.sizes(dim, at))]

    def sizes(self, dim: str, at: str) -> Lines:
        """Declarations of the first tile of a block whose blocks overlap, and of how many tiles a block has that may be
        smaller than others."""
        lines = [f"const int {dim}_first{at} = {self._first_of_block(dim, at)};"] if dim in self.grid.spans else []
        return [*lines, *([f"const int {dim}_tiles{at} = {self._left_over(dim, at)};"] if self._ragged(dim) else [])]

    def _ragged(self, dim: str) -> bool:
        if dim in self.grid.spans:
            return len({count for _, count in self.grid.spans[dim]}) > 1
        return self.grid.blocks[dim] > 1 and self.grid.tiles[dim] % self.grid.block[dim] != 0

    def _window(self, dim: str, at: str) -> str:
        """The coordinate that the first window of a block begins with; in the padding it is negative."""
        windows = self.computation.windows[dim]
        if self.grid.blocks[dim] == 1:
            return str(windows.first(0))
        return f"{self.block_name(dim)}{at} * {self.grid.size[dim] * windows.step} - {windows.before}"

    def _first_of_block(self, dim: str, at: str) -> str:
        begin = self._window(dim, at)
        return f"({begin} < 0 ? 0 : {begin})" if self.computation.windows[dim].before else begin

    def _left_over(self, dim: str, at: str) -> str:
        if dim in self.grid.spans:
            end = f"{self._window(dim, at)} + {self.computation.windows[dim].reach(self.grid.size[dim])}"
            return f"{minimum(end, str(self.computation.extents[dim]))} - {dim}_first{at}"
        whole = self.grid.block[dim]
        return minimum(f"{self.grid.tiles[dim]} - {self.block_name(dim)}{at} * {whole}", str(whole))

    def count(self, dim: str, at: str) -> str:
        """Tiles of a dimension in a block of a step."""
        return f"{dim}_tiles{at}" if self._ragged(dim) else str(self.grid.block[dim])

    def _tile(self, dim: str, inner: str, at: str) -> str:
        """The number of a tile in the whole dimension."""
        if self.grid.blocks[dim] == 1:
            return f"({inner})"
        if dim in self.grid.spans:
            return f"({dim}_first{at} + {inner})"
        return f"({self.block_name(dim)}{at} * {self.grid.block[dim]} + {inner})"

    def _element(self, dim: str, inner: str, at: str) -> str:
        """The coordinate of a tile's first element."""
        size, number = self.schedule.tile.get(dim, 1), self._tile(dim, inner, at)
        if dim not in self.schedule.halves:
            return f"{number} * {size}"
        return f"({number} * {size} - ({number} == {self.grid.tiles[dim] - 1} ? {size // 2} : 0))"

    def _extent(self, dim: str, inner: str, at: str, tiles: str = "1") -> str:
        """Elements in some tiles of a dimension, from one on."""
        size, extent = self.schedule.tile.get(dim, 1), self.computation.extents[dim]
        whole = f"({tiles}) * {size}"
        if dim in self.schedule.halves:
            return f"({self._tile(dim, inner, at)} >= {self.grid.tiles[dim] - 2} ? {size // 2} : {size})"
        if extent % size == 0:
            return whole
        if tiles == "1":
            return f"({self._tile(dim, inner, at)} == {self.grid.tiles[dim] - 1} ? {extent % size} : {size})"
        return minimum(f"{extent} - {self._element(dim, inner, at)}", whole)

    def _subscript(self, subscript: Subscript, tile: Mapping[str, str], at: str) -> str:
        terms = [f"{self._element(dim, tile.get(dim, '0'), at)} * {factor}" for dim, factor in subscript.terms]
        return " + ".join([*terms, str(subscript.constant)]) if terms or subscript.constant else "0"

    # --- edges of an image

    @property
    def _row_clips(self) -> tuple[tuple[Subscript, int], ...]:
        """The subscripts that leave out rows of a tile."""
        return tuple((s, n) for s, n in self.computation.clipped if self.computation.row in s.dims)

    def _inside(self, tile: Mapping[str, str], at: str) -> str:
        """The condition that a tile has rows inside of the left operand."""
        tests = []
        for subscript, extent in self.computation.clipped:
            if self.computation.row in subscript.dims:
                continue
            value = self._subscript(subscript, tile, at)
            low, high = subscript.bounds(self.computation.extents)
            tests += [f"{value} >= 0"] * (low < 0) + [f"{value} < {extent}"] * (high >= extent)
        if self._row_clips:
            tests.append("rows > 0")
        return " && ".join(tests)

    def _is_used(self, tile: Mapping[str, str], at: str) -> str:
        """The condition that some product of a block uses a tile of the right operand: not all rows are outside."""
        tests = []
        revisits = self.grid.revisits("right")
        for subscript, extent in self.computation.clipped:
            if any(dim in revisits or self.grid.blocks[dim] == 1 for dim in subscript.dims - self.grid.dims("right")):
                continue  # all of the dimension uses it
            first = {dim: "0" for dim in subscript.dims if dim not in self.grid.dims("right")}
            low, high = subscript.bounds(self.computation.extents)
            value = self._subscript(subscript, {**tile, **first}, at)
            tiles = {d: self.count(d, at) if d in self.grid.spans else str(self.grid.block[d]) for d in first}
            reach = " + ".join(
                f"{factor} * ({tiles[dim]} * {self.schedule.tile.get(dim, 1)} - 1)"
                for dim, factor in subscript.terms
                if dim in first
            )
            tests += [f"{value} + {reach or 0} >= 0"] * (low < 0) + [f"{value} < {extent}"] * (high >= extent)
        return " && ".join(tests)

    def _clipped_rows(self, tile: Mapping[str, str], at: str) -> Lines:
        """Declarations of the first row of a tile that is inside of the left operand, and of how many are."""
        row = self.computation.row
        lines: Lines = []
        first, end = ["0"], [self._extent(row, tile.get(row, "0"), at)]
        for number, (subscript, extent) in enumerate(self._row_clips):
            factor = subscript.factor(row)
            if factor < 1:
                raise NotApplicable("rows of a tile go backwards through an operand")
            name = f"edge{number or ''}"
            lines.append(f"const int {name} = {self._subscript(subscript, tile, at)};")
            first.append(f"({name} < 0 ? (-{name} + {factor - 1}) / {factor} : 0)")
            end.append(f"({extent} - {name} + {factor - 1}) / {factor}")
        start = first[1] if len(first) == 2 else minimum(*first)
        lines.append(f"const int first = {start};")
        lines.append(f"const int rows = {minimum(*end)} - first;")
        return lines
