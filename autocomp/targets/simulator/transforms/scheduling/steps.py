"""The cycles of a schedule, step by step: like the cost model's sums, but short blocks at edges are where they are.

Blocks of unequal size meet: the products of a short step hide little of the loads for a long one after it. Sums over a
whole computation do not see that, so the best schedules by these are looked at again here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import takewhile
from math import prod

import numpy as np
import numpy.typing as npt

from autocomp.targets.simulator.isa.main_memory import longest_latency
from autocomp.targets.simulator.transforms.analysis.requests import STREAM_RECOVERY
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.cost import CostModel
from autocomp.targets.simulator.transforms.scheduling.lowering.order import Order
from autocomp.targets.simulator.transforms.scheduling.schedule import OPERANDS, Grid, Schedule

Steps = npt.NDArray[np.float64]
_MOST_STEPS = 2048  # that are looked at one by one; of more, the first ones stand for all


def cycles(model: CostModel, schedule: Schedule) -> float:
    """Estimated cycles of a schedule; where sums return, all parts of the reduction last as long as one of them."""
    if schedule.returns or schedule.abreast:
        whole = replace(schedule, returns=0, abreast=0)
        return (schedule.returns + 1) * cycles(model.divided(schedule), whole)
    model, grid = model.of_cores(schedule), Grid(model.computation, schedule)
    estimated = _Estimate(model, grid).cycles()
    if not model.weight:
        return estimated
    loads = {operand: model.moves(operand, grid) for operand in OPERANDS}
    return estimated + model.weighed(grid, loads, model.products(grid))


class _Estimate:
    def __init__(self, model: CostModel, grid: Grid) -> None:
        self._model = model
        self._grid = grid
        self._steps = min(grid.steps, _MOST_STEPS)
        self._at = self._blocks()

    def _blocks(self) -> Mapping[str, npt.NDArray[np.int64]]:
        """For each loop over blocks, the block of each step, including the step after the last one."""
        steps = np.arange(self._steps + 1)
        blocks: dict[str, npt.NDArray[np.int64]] = {}
        inside = 1
        for dim in reversed(self._grid.order):
            blocks[dim] = steps // inside % self._grid.blocks[dim]
            inside *= self._grid.blocks[dim]
        return blocks

    def _tiles(self, dim: str) -> npt.NDArray[np.int64]:
        """Tiles of a dimension in each step."""
        block = self._grid.block[dim]
        if dim not in self._at:
            return np.full(self._steps + 1, block)
        if dim in self._grid.spans:
            return np.array([count for _, count in self._grid.spans[dim]])[self._at[dim]]
        return np.minimum(self._grid.tiles[dim] - self._at[dim] * block, block)

    def _last(self, dim: str) -> npt.NDArray[np.bool_]:
        """The steps that contain the last tile of a dimension."""
        if dim not in self._at:
            return np.ones(self._steps + 1, dtype=bool)
        return np.asarray(self._at[dim] == self._grid.blocks[dim] - 1)

    def _short(self, dim: str) -> int:
        """Elements in the last tile of a dimension."""
        size, extent = self._grid.schedule.tile.get(dim, 1), self._grid.computation.extents[dim]
        return extent % size or size

    def _along(self, dim: str, whole: Steps | float, rest: Steps | float) -> Steps:
        """The sum over a dimension's tiles in each step of what each takes: `rest` for one that is short."""
        tiles = self._tiles(dim).astype(float)
        if self._short(dim) == self._grid.schedule.tile.get(dim, 1):
            return tiles * whole
        short = self._last(dim).astype(float)
        return np.asarray((tiles - short) * whole + short * rest)

    def _moves(self, stream: str) -> Steps:
        """Cycles of the moves of an operand for one step."""
        model, grid = self._model, self._grid
        if stream == "result" and grid.computation.windows:
            return self._pooled()
        if stream in model.lines(grid):
            tiles = {dim: self._tiles(dim) for dim in grid.tiles}
            places = (grid.along(stream, dim, tiles) for dim in grid.dims(stream))
            return np.asarray(prod(places, start=np.full(self._steps + 1, model.piece(grid))))
        row, side = model.row_dim(stream), model.side(stream, grid)
        dims = grid.dims("result" if stream == "start" else stream)
        size = min(grid.schedule.tile.get(row, 1), grid.computation.extents[row])
        total = self._wide(stream, side, size)
        if row in dims:
            total = self._along(row, total, self._wide(stream, side, self._short(row)))
        tiles = {dim: self._tiles(dim) for dim in grid.tiles}
        for dim in dims - {row, side}:
            total = total * grid.along(stream, dim, tiles)
        return total

    def _pooled(self) -> Steps:
        """Cycles of the stores that pool each step's results."""
        grid = self._grid
        total = np.full(self._steps + 1, self._model.window)
        for dim in grid.dims("result"):
            size, units = grid.size[dim], grid.units[dim]
            blocks = self._at.get(dim, np.zeros(self._steps + 1, dtype=np.int64))
            total = total * np.minimum(units - blocks * size, size)
        return total

    def _wide(self, stream: str, side: str, rows: int) -> Steps:
        """Cycles of the moves of one row of tiles, for each step."""
        model, grid = self._model, self._grid
        (extent, size), width = model.columns(stream, side, grid), model.width(stream, grid)
        tiles, last = self._tiles(side), self._last(side)
        if side not in grid.dims("result" if stream == "start" else stream):
            tiles = np.ones_like(tiles)
        columns = tiles * size - last * (-extent % size)
        if side in grid.schedule.halves:
            ends = np.array([grid.begins(side, number) for number in range(grid.tiles[side] + 1)])
            first = self._at[side] * grid.block[side] if side in self._at else np.zeros_like(tiles)
            columns = ends[first + tiles] - ends[first]
        sums = np.zeros(self._steps + 1)
        for count in set(columns.tolist()):
            full, over = divmod(count, width * size)
            cycles = full * model.move(stream, rows, width * size) if full else 0.0
            sums[columns == count] = cycles + (model.move(stream, rows, over) if over else 0.0)
        return sums

    def _loads(self, operand: str) -> Steps:
        """Cycles of an operand's loads for each step, where the step is the first to use its tiles."""
        cycles = self._moves(operand)
        for dim in self._grid.revisits(operand):
            cycles = np.where(self._at[dim] == 0, cycles, 0.0)
        return cycles

    def _beside(self, operand: str, loads: Steps) -> Steps:
        """Cycles of the loads beside the products of each step."""
        grid = self._grid
        following: Steps = loads[1:].copy()
        if grid.steps == self._steps:
            following[-1] = 0.0
        if not grid.spreads(operand):
            return following
        steps, uses = grid.inside(operand), grid.uses(operand)
        following[steps - 1 :] = 0.0
        for first in range(0, self._steps - steps, steps):
            panel = loads[first + steps : first + 2 * steps]
            each = np.repeat(panel[panel > 0.0] / uses, uses)[: self._steps - first]
            following[first : first + len(each)] += each
        return following

    def _products(self) -> Steps:
        """Cycles of the products of each step."""
        grid, row = self._grid, self._grid.computation.row
        pairs = np.ones(self._steps + 1)
        for dim in grid.tiles:
            pairs = pairs * self._tiles(dim)
        size = min(grid.schedule.tile.get(row, 1), grid.computation.extents[row])
        rows = self._along(row, size, self._short(row)) / self._tiles(row)
        least = {count: self._model.turnover(count) for count in set(rows.tolist())}
        return np.asarray(np.maximum(self._rows_pass(), pairs * np.array([least[count] for count in rows.tolist()])))

    def _rows_pass(self) -> Steps:
        """Cycles in which the rows of each step's products pass the array."""
        model, grid = self._model, self._grid
        row = grid.computation.row
        size = min(grid.schedule.tile.get(row, 1), grid.computation.extents[row])
        stationary = grid.stationary
        each = self._along(row, *(model.tile(grid, rows, bool(stationary)) for rows in (size, self._short(row))))
        others = np.ones(self._steps + 1)
        for dim in grid.tiles.keys() - {row, *stationary}:
            others = others * self._tiles(dim)
        for dim in set(stationary) - {row}:
            each = each * self._tiles(dim)
        if not stationary:
            return each * others
        if row not in stationary:
            tiles = self._tiles(row)
            each, others = each / tiles, others * tiles
        last = size if grid.schedule.short_first or row != stationary[0] else self._short(row)
        exposed = max(0.0, model.entering - last) + (model.passes - 1) * last
        products: Steps = others * np.maximum(each + exposed, model.entering)
        return products

    @property
    def _outermost(self) -> tuple[str, ...]:
        """The outermost loops inside a block: over the reduction, or over columns."""
        inner, reduced = self._grid.schedule.inner, self._grid.computation.reduction
        held = [dim for dim in inner if self._grid.block[dim] > 1]
        return tuple(takewhile(lambda dim: (dim in reduced) == (held[0] in reduced), held))

    def _slices(self, dims: Iterable[str]) -> int:
        return prod(self._grid.block[dim] for dim in dims)

    def _completing(self) -> float:
        """The part of the last step's products beside which results are complete, one after another."""
        slices = self._slices(self._outermost)
        reduced = bool(set(self._outermost) & set(self._grid.computation.reduction))
        return 1.0 / slices if reduced else 1.0 - 1.0 / slices

    def _at_first(self, operand: str) -> float:
        """The part of an operand's tiles of a block that products need before the outermost loops go on."""
        grid, side = self._grid, self._model.side(operand, self._grid)
        part = 1.0
        for dim in set(self._outermost) & grid.dims(operand):
            tiles = grid.along(operand, dim, grid.block)
            width = self._model.width(operand, grid) if dim == side else 1
            part *= min(width * grid.along(operand, dim, {**grid.block, dim: 1}), tiles) / tiles
        return part

    def cycles(self) -> float:
        model, grid = self._model, self._grid
        scale = grid.steps / self._steps
        products = self._products()[: self._steps]
        none = np.zeros(self._steps + 1)
        loads = {operand: self._loads(operand) for operand in OPERANDS}
        beside = model.beside(grid.schedule)
        ahead = sum((loads[o] for o in OPERANDS if o in beside), none)
        on_time = sum((loads[o] for o in OPERANDS if o not in beside), none)
        stores = self._moves("result")[: self._steps]
        starts = self._moves("start")[: self._steps] if model.starts else none[: self._steps]
        period = grid.steps_of_result
        first = np.arange(self._steps) % period == 0
        hidden = grid.defers
        following: Steps = sum((self._beside(o, loads[o]) for o in OPERANDS if o in beside), none[1:])
        following = following + np.where(following > 0.0, model.handshake, 0.0)
        # Beside a block of results, the block before is stored, and the block to come is started.
        stored = _later(stores, period) / period if hidden else none[: self._steps]
        busy = following + (_earlier(starts, period) / period if hidden else 0.0)
        total = float(np.maximum(np.maximum(products, busy), stored).sum())
        total += model.crowding * float(np.minimum(products, busy).sum()) + float(on_time[: self._steps].sum())
        trails = Order(model.leaves.accelerator).trails(grid.schedule)
        begin = float(starts[0]) if hidden or trails else float(starts[first].sum()) * scale
        end = float(stores[-1]) if hidden or trails else float(stores[first].sum()) * scale
        latency = longest_latency(model.leaves.accelerator)
        if hidden and model.starts and grid.phases("result") == 2:  # starts wait until the block before last is stored
            total += self._steps / period * (latency + 2 * STREAM_RECOVERY)
        first_loads = {operand: float(loads[operand][0]) for operand in beside}
        waits = begin + sum(each * self._at_first(operand) for operand, each in first_loads.items())
        waits -= float(products[0]) / self._slices(self._outermost)
        first_waits = max(0.0, float(ahead[0]) + begin - float(products[0]) / 2, waits)
        if trails:
            last = float(products[-1]) + (first_waits if grid.steps == 1 else 0.0)
            end = max(end / 4, end - self._completing() * last)
        total = total * scale + first_waits
        return total + end + 3 * latency + model.filling(grid) + self._waiting()

    def _waiting(self) -> float:
        try:
            return self._model.waiting(self._grid)
        except NotApplicable:  # local memory has room for all of it, but not side by side
            return float("inf")


def _later(values: Steps, steps: int) -> Steps:
    """The value of each step, moved to a number of steps later."""
    later: Steps = np.concatenate([np.zeros(steps), values])[: len(values)]
    return later


def _earlier(values: Steps, steps: int) -> Steps:
    """The value of each step, moved to a number of steps earlier."""
    earlier: Steps = np.concatenate([values, np.zeros(steps)])[-len(values) :]
    return earlier
