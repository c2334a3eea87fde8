"""Estimated cycles of a scheduled contraction of whole tiles, from what its commands keep their units busy for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

from autocomp.remember import remember
from autocomp.targets.simulator.isa.main_memory import seen_by
from autocomp.targets.simulator.isa.timing import unit_number
from autocomp.targets.simulator.isa.tree import Number
from autocomp.targets.simulator.transforms.analysis.requests import Cutting, transfer_cycles, unit_settings
from autocomp.targets.simulator.transforms.scheduling.cost import CostModel
from autocomp.targets.simulator.transforms.scheduling.lowering.operands import FIRST, Extent, Several, Varied
from autocomp.targets.simulator.transforms.scheduling.lowering.order import Order
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Command, Tasks
from autocomp.targets.simulator.transforms.scheduling.schedule import OPERANDS, Grid, Schedule


@dataclass(frozen=True)
class WholeCostModel(CostModel):
    """Estimates for one computation on one machine; a move covers one tile."""

    leaves: Tasks  # type: ignore[assignment]
    crowding = 0.05  # with what waits for banks

    def _move(self, stream: str, rows: int, columns: int) -> float:
        leaves = self.leaves
        chains = {operand: leaves.chain(operand) for operand in leaves.loads}
        moved = {**chains, "result": (leaves.store,), "start": (leaves.start or leaves.store,)}
        extents = {self.row_dim(stream): rows, self._column(stream): columns}
        return max(self._cycles(command, extents) for command in moved[stream])

    def row_dim(self, stream: str) -> str:
        if stream == "left" and self.computation.pieced:
            return self.computation.column  # of each piece, one command moves all rows
        if stream == "left" and self._column(stream) == self.computation.row:
            return self.computation.depth
        if stream == "right" and self._column(stream) != self.computation.depth:
            return self.computation.depth
        if stream == "result" and self._column(stream) == self.computation.row:
            return self.computation.column
        return self.computation.column if stream == "right" else self.computation.row

    @property
    def busy(self) -> float:
        """Cycles of all products with the most rows in a tile, or of the moves of every tile once where these take
        longer: to choose among ways to bring operands by."""
        leaves, row = self.leaves, self.computation.row
        tile = leaves.largest(self.computation)
        if row in leaves.sizes:
            tile = {**tile, row: min(self.computation.extents[row], leaves.sizes[row].most)}
        order = (*self.computation.parallel, *self.computation.reduction)
        grid = Grid(self.computation, Schedule(tile, {}, order, order, {}, shared=bool(self.computation.overlaps)))
        return max(self.products(grid), sum(self.moves(stream, grid) for stream in (*OPERANDS, "result")))

    def lines(self, grid: Grid) -> frozenset[str]:
        """None: a move brings one piece, of all rows."""
        return frozenset()

    def side(self, stream: str, grid: Grid) -> str:
        return self._column(stream)

    def columns(self, stream: str, side: str, grid: Grid) -> tuple[int, int]:
        size = grid.schedule.tile.get(side, 1)
        several = side in grid.dims("result" if stream == "start" else stream)
        return grid.computation.extents[side] if several else size, size

    def _column(self, stream: str) -> str:
        if stream in self.leaves.wide and not (stream == "left" and self.computation.pieced):
            return self.leaves.wide[stream].dim
        return {"left": self.computation.depth}.get(stream, self.computation.column)

    @property
    def starts(self) -> bool:
        return self.leaves.start is not None and self.leaves.start.instruction.unit != self._unit

    @property
    def entering(self) -> float:
        return self._cycles(self.leaves.product, {self.computation.row: 1}) if self.leaves.keeps else 0.0

    @property
    def passes(self) -> float:
        """One: what a command states lasts for all that it does."""
        return 1.0

    def turnover(self, rows: float) -> float:
        """Nothing: a command that multiplies a whole tile lasts longer than it waits."""
        return 0.0

    def waiting(self, grid: Grid) -> float:
        """Nothing: what a command accesses, and when, is not known."""
        return 0.0

    def filling(self, grid: Grid) -> float:
        """A tile is multiplied when it has come in whole, and stored when all that finishes it is done. Before all,
        what short tiles lack is filled."""
        extents = {d: min(size, self.computation.extents[d]) for d, size in grid.schedule.tile.items()}
        leaves = self.leaves
        chain = (*leaves.chain("left"), *leaves.near.get("left", ()), leaves.product, *leaves.finish)
        return sum(self._cycles(command, extents) for command in chain) + self._filled(grid, extents)

    def _filled(self, grid: Grid, extents: Mapping[str, int]) -> float:
        """Cycles of the loads that fill what short tiles lack, in all their places."""
        cycles = 0.0
        for operand, filling in self.leaves.filled.items():
            load = self.leaves.loads[operand]
            whole = self._cycles(load, extents)
            short = frozenset[str]() if self.leaves.lapped(operand, grid) else filling.short(load)
            others = grid.dims(operand) - short
            places = prod(grid.block[d] * (grid.blocks[d] if d in grid.slots(operand) else 1) for d in others)
            rows = filling.missing(load) or self.leaves.rows(operand, grid)
            cycles += whole * rows / self.leaves.rows(operand, grid) * places * grid.phases(operand) if short else 0.0
        return cycles

    def tile(self, grid: Grid, rows: int, kept: bool) -> float:
        """Cycles of a product, or of what moves its tiles on to where it reads them, if that takes longer."""
        extents = {**grid.schedule.tile, self.computation.row: rows}
        used: dict[str | None, float] = {}
        for operand, commands in self.leaves.near.items():
            for command in commands:
                unit = command.instruction.unit
                used[unit] = used.get(unit, 0.0) + self._cycles(command, extents) / self._uses(operand, grid)
        product = super().tile(grid, rows, kept) + self._said(grid, extents) + used.pop(self._unit, 0.0)
        held = (self._held(operand, grid, extents, product) for operand in self.leaves.near)
        return max(product, self._waiting(grid, extents), *held, *used.values())

    def _uses(self, operand: str, grid: Grid) -> int:
        """Products for each move of a tile to where they read it."""
        return prod(grid.block[d] for d in self.leaves.held_near(operand, grid) if d not in grid.dims(operand))

    def _held(self, operand: str, grid: Grid, extents: Mapping[str, int], product: float) -> float:
        """Cycles for each product where the places that products read are filled anew when all that read them before
        are complete."""
        if Order(self.leaves.accelerator).is_needed:
            return 0.0
        tiles = prod(grid.block[d] for d in self.leaves.dims_near(operand, grid))
        relays = [relay for relay in self.leaves.relays if relay.startswith(operand)]
        if not relays:
            return 0.0
        sets = min(self.leaves.places(relay, grid) for relay in relays) // tiles
        products = prod(grid.block[d] for d in self.leaves.held_near(operand, grid))
        sizes = self._sizes(extents)
        latency = self._stated(self.leaves.product, sizes, "latency")
        for command in self.leaves.near[operand]:
            latency += self._cycles(command, extents) + self._stated(command, sizes, "latency")
        return (product + latency / products) / max(1, sets)

    def _said(self, grid: Grid, extents: Mapping[str, int]) -> float:
        """Cycles for each product in which the array does nothing, as it says that it is done with a tile."""
        if not self.leaves.near or not Order(self.leaves.accelerator).is_needed:
            return 0.0
        again = min(self._uses(operand, grid) for operand in self.leaves.near)
        return self._stated(self.leaves.product, self._sizes(extents), "latency") / again

    def _waiting(self, grid: Grid, extents: Mapping[str, int]) -> float:
        """Cycles from a product to the next where one waits for the sums of that before it to the same tile.

        Others run meanwhile: to other tiles of the block, or to blocks whose products the unit's pool has room for.
        """
        command, computation = self.leaves.product, self.computation
        unit = unit_settings(self.leaves.accelerator, command.instruction)
        if not unit_number(unit, "interlock"):
            return 0.0
        beside = prod(grid.block[d] for d in grid.inside_of(computation.reduction))
        pooled = unit_number(unit, "entries") / prod(grid.tiles[d] for d in computation.reduction)
        latency = self._stated(command, self._sizes(extents), "latency") + unit_number(unit, "start") + 1
        return (self._cycles(command, extents) + latency) / max(1.0, beside, pooled)

    @property
    def _unit(self) -> str | None:
        return self.leaves.product.instruction.unit

    def _product(self, rows: int, columns: int, depth: int, kept: bool) -> float:
        """Cycles of a product, and its share of what its unit does to results besides."""
        leaves, computation = self.leaves, self.computation
        extents = dict(zip(computation.tiled.values(), (rows, columns, depth), strict=True))
        others: list[Command] = [*leaves.finish, *([leaves.start] if leaves.start is not None else [])]
        besides = sum(self._cycles(c, extents) for c in others if c.instruction.unit == self._unit)
        product = leaves.repeated if kept else leaves.product
        sums = prod(computation.extents[d] for d in computation.reduction)
        return self._cycles(product, extents) / len(leaves.engines) + besides / sums

    def _cycles(self, command: Command, extents: Mapping[str, int]) -> float:
        """Cycles of a command in a stream of them, for a tile of these extents."""
        sizes = self._sizes(extents)
        key = (id(command), tuple(sizes.items()))
        return remember(self, "cycles of commands", key, lambda: self._estimated(command, sizes))

    def _sizes(self, extents: Mapping[str, int]) -> dict[str, int]:
        """Elements of a tile along each dimension whose tiles have several sizes, or come several in a move."""
        return {d: extents.get(d, usual) for d, usual in self._usual.items()}

    @cached_property
    def _usual(self) -> Mapping[str, int]:
        """The same of a tile in the kernel."""
        several = {wide.dim: 1 for wide in self.leaves.wide.values()}
        return several | {d: known.usual for d, known in self.leaves.sizes.items()}

    def _estimated(self, command: Command, sizes: Mapping[str, int]) -> float:
        accelerator = self.leaves.accelerator
        unit = unit_settings(accelerator, command.instruction)
        parts = self._parts_of(command, sizes)
        if command.piece is not None and str(unit.get("kind", "")).startswith("transfer"):
            count, length, blocks, pieces = command.piece.count * parts, command.piece.bytes, 1, 1
            for value in command.operands.values():
                if isinstance(value, Extent) and value.dense:
                    length = max(1, length * sizes[value.dim] // self._usual[value.dim])
                    blocks = 1 if value.dim in self.leaves.sizes else sizes[value.dim]
                elif isinstance(value, Extent):
                    count = sizes[value.dim] * value.each
                elif isinstance(value, Several):
                    pieces = value.usual
                    length, count = (length * pieces, count) if value.dense else (length, count * pieces)
            memory = seen_by(accelerator, command.instruction)
            row = command.piece.stride if command.piece.stride >= length else 0
            traffic = Cutting.of(unit, memory).on_average(length, row).scaled(count)
            return transfer_cycles(unit, memory, count, blocks, traffic, self.cores) / pieces
        return parts * (self._stated(command, sizes, "busy", "rows") or 1.0)

    @staticmethod
    def _parts_of(command: Command, sizes: Mapping[str, int]) -> int:
        """The commands that do together what is done to a tile of these sizes."""
        count = 1 if command.parts is None else command.parts.count
        if isinstance(count, Extent):
            return sizes[count.dim] * count.each
        return int(count.usual) if isinstance(count, Varied) else count

    def _stated(self, command: Command, sizes: Mapping[str, int], *keys: str) -> float:
        """The number that a command's timing states for a tile of these sizes; 0 for none."""
        form = command.given
        numbers: dict[str, int | float] = {}
        for name, value in command.operands.items():
            if isinstance(value, Extent):
                numbers[name] = sizes[value.dim] * value.each - value.less
            elif isinstance(value, Varied) and value.dim == FIRST:
                numbers[name] = value.usual
        timing = form.instruction.timing
        stated = next((timing[key] for key in keys if key in timing), None)
        cycles = None if stated is None else form.changed({**form.operands, **numbers}).evaluate(stated)
        return float(cycles.value) if isinstance(cycles, Number) else 0.0
