"""Estimated cycles of a scheduled contraction, from the machine's description: to rank schedules by.

Units work side by side: a step lasts as long as the slower of its products and the loads for the next step. A block's
stores run beside the next block. Nothing hides the first step's loads and the last block's stores, so they are added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import ClassVar

from autocomp.remember import remember
from autocomp.targets.simulator.isa.main_memory import longest_latency, seen_by
from autocomp.targets.simulator.isa.timing import ARRAYS, Settings, unit_number
from autocomp.targets.simulator.isa.tree import Number
from autocomp.targets.simulator.transforms.analysis.requests import (
    Cutting,
    reading_cycles,
    transfer_cycles,
    unit_settings,
)
from autocomp.targets.simulator.transforms.scheduling.computation import Contraction, Operand
from autocomp.targets.simulator.transforms.scheduling.lowering.divided import divided
from autocomp.targets.simulator.transforms.scheduling.lowering.layout import waiting
from autocomp.targets.simulator.transforms.scheduling.lowering.leaves import Leaves, MoveLeaf, Part
from autocomp.targets.simulator.transforms.scheduling.lowering.order import Order
from autocomp.targets.simulator.transforms.scheduling.schedule import OPERANDS, Grid, Schedule

IN_POOL = 17.5  # cycles of a product in the pool of an array, besides the array's latency and twice its rows: measured
_ROUNDING = 1e-9  # relative error of an estimate, at most


@dataclass(frozen=True)
class Totals:
    """Cycles of all products, and of the loads that bring each operand's tiles once. `stored` and `started` are those
    of stores, and of what starts results, beside products; `end` and `begin` those that are after and before all. The
    last block `trails` if it is stored as it is complete. `filling`: see `CostModel.filling`."""

    products: float
    loads: Mapping[str, float]
    beside: frozenset[str]  # the operands that are loaded beside products
    stored: float
    started: float
    begin: float
    end: float
    trails: bool
    filling: float


@dataclass(frozen=True)
class CostModel:
    """Estimates for one computation on one machine. Cycles of loads and products count by `weight` besides: what comes
    in less often also saves energy, as do fewer passes that leave less of the array empty."""

    computation: Contraction
    leaves: Leaves
    weight: float = 0.0
    cores: int = 1  # that move tiles at the same time
    crowding: ClassVar[float] = 0.005  # of the time of loads that are hidden, the part that shows nevertheless

    def divided(self, schedule: Schedule) -> CostModel:
        """Estimates for the computation that the decisions of a schedule are said of. Raises NotApplicable where the
        machine or the computation has none such."""
        computation, leaves, _ = divided(self.computation, self.leaves, schedule)
        assert isinstance(leaves, Leaves), "only these are divided"
        return replace(self, computation=computation, leaves=leaves)

    def of_cores(self, schedule: Schedule) -> CostModel:
        """Estimates for the cores of a schedule."""
        count = prod(schedule.cores.values())
        return (
            self
            if count == self.cores
            else remember(self, "of several cores", count, lambda: replace(self, cores=count))
        )

    def beside(self, schedule: Schedule) -> frozenset[str]:
        """The operands whose loads go beside the products before."""
        return schedule.ahead | self.leaves.flowing

    def move(self, stream: str, rows: int, columns: int) -> float:
        """Cycles of a move of `rows` rows and `columns` columns in a stream of them."""
        return remember(self, "cycles of moves", (stream, rows, columns), lambda: self._move(stream, rows, columns))

    def _move(self, stream: str, rows: int, columns: int) -> float:
        leaf, operand = self._moved(stream)
        unit = unit_settings(self.leaves.accelerator, leaf.instruction)
        memory = seen_by(self.leaves.accelerator, leaf.instruction)
        blocks = -(-columns // leaf.width)
        if operand is None:
            return float(rows * blocks)
        row = self.row_dim(stream)
        fetched = rows if operand.along(row) else 1
        row_bytes = operand.tensor.shape[-1] * operand.tensor.element
        cutting = Cutting.of(unit, memory)
        traffic = cutting.on_average(columns * operand.tensor.element, row_bytes).scaled(fetched)
        return transfer_cycles(unit, memory, rows, blocks, traffic, self.cores)

    def _moved(self, stream: str) -> tuple[MoveLeaf, Operand | None]:
        leaves, computation = self.leaves, self.computation
        if stream == "start":
            if leaves.added:
                return leaves.added[0], computation.added[0]
            assert leaves.zero is not None
            return leaves.zero, None
        return leaves.move(stream), computation.operands[stream]

    def row_dim(self, stream: str) -> str:
        """The dimension along the local rows of what is moved."""
        return self.computation.tiled[self.leaves.product.row_word(stream)]

    def side(self, stream: str, grid: Grid) -> str:
        """The dimension along which its tiles lie side by side."""
        return self.leaves.side("result" if stream == "start" else stream, grid)

    @cached_property
    def starts(self) -> bool:
        """True if moves start results."""
        return bool(self.computation.added) or bool(self.computation.clipped) or not self.leaves.product.starting

    def product(self, rows: int, columns: int, depth: int, kept: bool) -> float:
        """Cycles of one product in a stream of them."""
        return remember(
            self, "cycles of products", (rows, columns, depth, kept), lambda: self._product(rows, columns, depth, kept)
        )

    def _product(self, rows: int, columns: int, depth: int, kept: bool) -> float:
        product = self.leaves.product
        parts = (product.kept or product.adding) if kept else (product.adding or product.starting)
        extents = {"row": rows, "column": columns, "depth": depth}
        unit = unit_settings(self.leaves.accelerator, parts[-1].instruction)
        least = float(unit_number(unit, "min_rows")) if unit.get("kind") in ARRAYS else 1.0
        once = max(least, *(self._part(part, extents) for part in parts))
        return once if kept and product.kept else once * self.passes

    def turnover(self, rows: float) -> float:
        """The fewest cycles from one product of some rows to the next: the array's pool has room for few at a time."""
        parts, unit = self.leaves.product.adding or self.leaves.product.starting, self._array
        if unit.get("kind") not in ARRAYS or unit.get("instant"):
            return 0.0
        held = IN_POOL + unit_number(unit, "latency") + 2 * max(rows, unit_number(unit, "min_rows"))
        return held / max(1, unit_number(unit, "entries") // len(parts))

    @cached_property
    def _array(self) -> Settings:
        """The settings of the unit that multiplies."""
        parts = self.leaves.product.adding or self.leaves.product.starting
        return unit_settings(self.leaves.accelerator, parts[-1].instruction)

    @cached_property
    def handshake(self) -> float:
        """Cycles by which a step's first data come after the products that they wait for, where programs order that."""
        accelerator = self.leaves.accelerator
        return float(longest_latency(accelerator)) if Order(accelerator).is_needed else 0.0

    def filling(self, grid: Grid) -> float:
        """Cycles in which the first tile comes in and the last one goes out, while nothing else is done; 0 where
        commands wait for rows rather than for whole tiles."""
        return 0.0

    def waiting(self, grid: Grid) -> float:
        """Cycles in which products wait for banks that moves, or other operands, access; arrays alone do."""
        if self._array.get("kind") not in ARRAYS:
            return 0.0
        buffers = self.leaves.buffers(grid)
        accelerator = self.leaves.accelerator
        return remember(self, "bank conflicts", tuple(buffers.values()), lambda: waiting(accelerator, buffers))

    @cached_property
    def entering(self) -> float:
        """Cycles in which an operand is brought into the array, beside the product before."""
        parts = self.leaves.product.adding or self.leaves.product.starting
        if len(parts) < 2 or not self.leaves.product.kept:
            return 0.0
        return self._part(parts[0], dict.fromkeys(("row", "column", "depth"), 1))

    @cached_property
    def passes(self) -> float:
        """The times that a product runs when it brings an operand into the array."""
        parts = self.leaves.product.adding or self.leaves.product.starting
        stated = [(part, part.instruction.timing["passes"]) for part in parts if "passes" in part.instruction.timing]
        counts = [part.form(part.operands).evaluate(expression) for part, expression in stated]
        return max((float(number.value) for number in counts if isinstance(number, Number)), default=1.0)

    def _part(self, part: Part, extents: Mapping[str, int]) -> float:
        """Cycles that a command keeps the array busy for."""
        stated = part.instruction.timing.get("busy") or part.instruction.timing.get("rows")
        if stated is None:
            return 0.0
        given = {**part.operands, **{name: extents[word] for name, word in part.extents.items()}}
        cycles = part.form(given).evaluate(stated)
        return float(cycles.value) if isinstance(cycles, Number) else float(extents["row"])

    # --- sums over a whole computation

    def moves(self, stream: str, grid: Grid) -> float:
        """Cycles of the moves that bring, or store, every tile once."""
        if stream == "result" and self.computation.windows:
            return self.window * prod(grid.units[dim] for dim in grid.dims("result"))
        if stream in self.lines(grid):
            return self.piece(grid) * prod(self._in_all_blocks(stream, dim, grid) for dim in grid.dims(stream))
        row, side = self.row_dim(stream), self.side(stream, grid)
        operand = "result" if stream == "start" else stream
        width = self.width(stream, grid)
        given = (stream, side, grid.block[side], width, grid.schedule.tile.get(row, 1), grid.schedule.tile.get(side, 1))
        once = remember(self, "cycles of sums", given, lambda: self._moves(stream, grid, row, side, width))
        others = grid.dims(operand) - {row, side}
        return once * prod(self._in_all_blocks(operand, dim, grid) for dim in others) * grid.copies(operand)

    def lines(self, grid: Grid) -> frozenset[str]:
        """The operands whose moves bring rows of lines."""
        return frozenset(("left",)) if grid.pieced else frozenset()

    def piece(self, grid: Grid) -> float:
        """Cycles for each row of the lines of the left operand: moves bring several."""
        rows, width = grid.along("left", grid.row_side, grid.block), self.width("left", grid)
        depth = min(grid.schedule.tile.get(self.computation.depth, 1), self.computation.extents[self.computation.depth])
        whole, over = divmod(rows, width)
        cycles = whole * self.move("left", width, depth) + (self.move("left", over, depth) if over else 0.0)
        return cycles / rows

    @staticmethod
    def _in_all_blocks(operand: str, dim: str, grid: Grid) -> int:
        """Tiles of an operand along a dimension in all blocks, one after another."""
        if dim not in grid.shared or operand != "left":
            return grid.along(operand, dim, grid.worked)
        other, _ = grid.shared[dim]
        blocks = grid.blocks[other]
        last = grid.along(operand, dim, {**grid.block, other: grid.last[other]})
        return (blocks - 1) * grid.along(operand, dim, grid.block) + last

    def _moves(self, stream: str, grid: Grid, row: str, side: str, width: int) -> float:
        extent, size = self.columns(stream, side, grid)
        columns: list[int] = []
        for first in range(0, extent, grid.block[side] * size):
            held = min(grid.block[side] * size, extent - first)
            columns += [min(width * size, held - at) for at in range(0, held, width * size)]
        rows = self._parts(row, grid) if row in grid.dims("result" if stream == "start" else stream) else {1: 1}
        wide = {c: columns.count(c) for c in set(columns)}
        return sum(n * k * self.move(stream, r, c) for r, n in rows.items() for c, k in wide.items())

    @cached_property
    def window(self) -> float:
        """Cycles in which a store reads a window of results."""
        unit = unit_settings(self.leaves.accelerator, self.leaves.store.instruction)
        return reading_cycles(unit) * prod(windows.size for windows in self.computation.windows.values())

    def width(self, stream: str, grid: Grid) -> int:
        """Tiles in one move of a stream."""
        return 1 if stream == "start" else self.leaves.width(stream, grid)

    def columns(self, stream: str, side: str, grid: Grid) -> tuple[int, int]:
        """The columns of all tiles side by side, and of one."""
        size = grid.columns("result" if stream == "start" else stream, side)
        return grid.computation.extents[side] * size // grid.schedule.tile.get(side, 1), size

    @staticmethod
    def _parts(dim: str, grid: Grid) -> Mapping[int, int]:
        """The extents of a dimension's tiles, and how many tiles have each."""
        size, extent = grid.schedule.tile.get(dim, 1), grid.computation.extents[dim]
        whole, rest = divmod(extent, size)
        return {**({size: whole} if whole else {}), **({rest: 1} if rest else {})}

    def products(self, grid: Grid) -> float:
        """Cycles of all products, one after another."""
        schedule, row = grid.schedule, grid.computation.row
        parts = self._parts(row, grid)
        stationary = grid.stationary
        count = sum(parts.values())
        rows = {r: self.tile(grid, r, bool(stationary)) for r in parts}
        if grid.block[row] > 1:  # short tiles go between long ones
            together = count * self.turnover(grid.computation.extents[row] / count)
            each = max(together, sum(n * rows[r] for r, n in parts.items()))
        else:
            each = sum(n * max(rows[r], self.turnover(r)) for r, n in parts.items())
        total = each * prod(n for d, n in grid.worked.items() if d != row)
        if not stationary:
            return total
        groups = prod(grid.blocks[d] if d in stationary else n for d, n in grid.worked.items())
        last = max(parts) if schedule.short_first or row != stationary[0] else min(parts)
        exposed = (max(0.0, self.entering - last) + (self.passes - 1) * last) * groups
        return max(total + exposed, groups * self.entering)

    def tile(self, grid: Grid, rows: int, kept: bool) -> float:
        """Cycles of the product of a tile of `rows` rows; where cores share the tiles, for each of all."""
        computation, tile = grid.computation, grid.schedule.tile
        columns, depth = (min(tile.get(d, 1), computation.extents[d]) for d in (computation.column, computation.depth))
        shared = prod(grid.on_core(d, grid.block[d]) / grid.block[d] for d in grid.schedule.cores)
        return self.product(rows, columns, depth, kept) * shared

    def totals(self, grid: Grid) -> Totals:
        """Sums over a whole computation, whatever the levels of panels."""
        loads = {operand: self.moves(operand, grid) for operand in OPERANDS}
        stored, started = self.moves("result", grid), self.moves("start", grid) if self.starts else 0.0
        trails = Order(self.leaves.accelerator).trails(grid.schedule)
        blocks = prod(grid.blocks[d] for d in grid.outer) if grid.defers or trails else 1
        return Totals(
            products=self.products(grid),
            loads=loads,
            beside=self.beside(grid.schedule),
            stored=stored if grid.defers else 0.0,
            started=started if grid.defers else 0.0,
            begin=started / blocks,
            end=stored / blocks,
            trails=trails,
            filling=self.filling(grid),
        )

    def cycles(self, grid: Grid, totals: Totals) -> float:
        """Estimated cycles of a schedule, of which this is the grid."""
        steps = grid.steps
        products, stored = totals.products / steps, totals.stored / steps
        loads = {
            operand: (1.0, share * each) if grid.spreads(operand) else (share, each)
            for operand, (share, each) in self._loads(grid, totals).items()
        }
        total = 0.0
        for chosen in ((True, True), (True, False), (False, True), (False, False)):
            part, busy, exposed = 1.0, totals.started / steps, 0.0
            for operand, taken in zip(OPERANDS, chosen, strict=True):
                share, cycles = loads[operand]
                part *= share if taken else 1.0 - share
                if taken and operand in totals.beside:
                    busy += cycles + self.handshake
                elif taken:
                    exposed += cycles
            total += part * (max(products, busy, stored) + exposed + self.crowding * min(products, busy))
        return self._with_ends(total * steps, grid, totals) + self.weighed(grid, totals.loads, totals.products)

    def least(self, grid: Grid, totals: Totals) -> float:
        """No more than the estimated cycles of the schedule with panels at any levels: each tile is loaded once."""
        busy = sum(cycles for operand, cycles in totals.loads.items() if operand in totals.beside)
        exposed = sum(cycles for operand, cycles in totals.loads.items() if operand not in totals.beside)
        total = max(totals.products, busy + totals.started, totals.stored) + exposed
        weighed = self.weight * (sum(totals.loads.values()) + totals.products)
        return (self._with_ends(total, grid, totals) + weighed) * (1 - _ROUNDING)

    def weighed(self, grid: Grid, loads: Mapping[str, float], products: float) -> float:
        """The cost of loads and products besides their time, from the cycles that bring each operand's tiles once."""
        return self.weight * (sum(cycles * grid.times(operand) for operand, cycles in loads.items()) + products)

    def _loads(self, grid: Grid, totals: Totals) -> Mapping[str, tuple[float, float]]:
        """The share of the steps that load an operand, and the cycles in each: at all levels these are the same."""
        shares = {operand: 1.0 / prod(grid.blocks[d] for d in grid.revisits(operand)) for operand in OPERANDS}
        each = {o: totals.loads[o] * grid.times(o) / (grid.steps * share) for o, share in shares.items()}
        return {operand: (shares[operand], each[operand]) for operand in OPERANDS}

    def _with_ends(self, total: float, grid: Grid, totals: Totals) -> float:
        """Cycles with those before the first products and after the last ones."""
        first = sum(each for operand, (_, each) in self._loads(grid, totals).items() if operand in totals.beside)
        products, end = totals.products / grid.steps, totals.end
        waits = max(0.0, first + totals.begin - products / 2)
        if totals.trails:
            end = max(end / 4, end - (products + (waits if grid.steps == 1 else 0.0)) / 2)
        return total + waits + end + 3 * longest_latency(self.leaves.accelerator) + totals.filling
