"""The schedule of a contraction: tiles, blocks, order of loops, what stays in local memory, what is moved ahead."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from math import prod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from autocomp.targets.simulator.transforms.scheduling.computation import Contraction

OPERANDS = ("left", "right")
_OF_ALL_LOOPS = ("tiles", "units", "size", "spans", "block", "blocks", "first", "last", "worked", "overlapping")
_OF_ALL_LEVELS = (*_OF_ALL_LOOPS, "order", "outer", "steps", "stationary")
Count = TypeVar("Count", int, npt.NDArray[np.int64])


@dataclass(frozen=True)
class Schedule:
    """Decisions. All are by the names of dimensions, or of operands (left, right, result).

    `tile`: elements of a dimension in one tile; 1 where it is left out. `block`: tiles of a dimension in a block, or
    windows of results that are pooled; all where it is left out. `order`: the loops over blocks, outermost first, those
    of the reduction innermost. `inner`: the loops inside a block. `level`: how many of the loops over blocks are around
    the panel of an operand that is loaded at a time. `width`: tiles in one move. `ahead`: operands whose next tiles
    come during the computation with the present ones, all before its last `early` products. `spread`: where several
    steps use the same panel of such an operand, the next one comes beside all of them, not beside the last.
    `deferred`: results are stored during the next block, those of the last block as they are complete. `turns`: places
    that blocks of such results have in local memory; of more than two, moves that start results wait for no store.
    `kept`: the right operand stays in the array while it is used. `short_first`: the tile that is short comes first
    among those that share the operand in the array. `shared`: a block holds tiles of the left operand once that several
    steps of a reduction use for different results; `lined`: rows of tiles too, so that products read them from one row
    further on. `halves`: dimensions whose last tile is two of half the size, so that less is left to do after all is
    loaded. `lead`: the products of the first step before the one that a load is for, at which it is issued.
    `alone`: the first tile of an operand from a queue comes before all other loads, and a fence after it. `returns`:
    the times that all sums leave for DRAM and return, between parts of the reduction; all else is said of one part.
    `cores`: the dimension whose tiles equal cores take in turn, with how many of them there are.
    `abreast`: tiles that rows take turns among, to come in one move. Their number is a dimension named after that of
    rows, as in `i_turn`, and all else is said of such tiles.
    """

    tile: Mapping[str, int]
    block: Mapping[str, int]
    order: tuple[str, ...]
    inner: tuple[str, ...]
    level: Mapping[str, int]
    width: Mapping[str, int] = field(default_factory=dict)
    ahead: frozenset[str] = frozenset()
    early: int = 0
    spread: bool = False
    deferred: bool = False
    turns: int = 2
    kept: bool = False
    short_first: bool = False
    shared: bool = False
    lined: bool = False
    halves: frozenset[str] = frozenset()
    lead: int = 0
    alone: bool = False
    returns: int = 0
    cores: Mapping[str, int] = field(default_factory=dict)
    abreast: int = 0


@dataclass(frozen=True)
class Grid:
    """A computation cut up by a schedule: numbers of tiles and blocks, and what follows for buffers."""

    computation: Contraction
    schedule: Schedule

    def with_levels(self, level: Mapping[str, int]) -> Grid:
        """The grid of the same schedule with panels at other levels. Numbers of tiles and blocks are the same."""
        return self._like(replace(self.schedule, level=level), _OF_ALL_LEVELS)

    def with_loops(self, order: tuple[str, ...], inner: tuple[str, ...]) -> Grid:
        """The grid of the same schedule with loops in other orders."""
        return self._like(replace(self.schedule, order=order, inner=inner), _OF_ALL_LOOPS)

    def _like(self, schedule: Schedule, names: Sequence[str]) -> Grid:
        """The grid of another schedule that has properties of this one, which need not be worked out again."""
        other = Grid(self.computation, schedule)
        other.__dict__.update({name: getattr(self, name) for name in names})
        if not self.overlapping:
            other.__dict__.update({"shared": {}, "_held": self._held})
        return other

    @cached_property
    def tiles(self) -> Mapping[str, int]:
        """Tiles of each dimension."""
        extents = self.computation.extents
        halves, tile = self.schedule.halves, self.schedule.tile
        return {name: -(-extent // tile.get(name, 1)) + (name in halves) for name, extent in extents.items()}

    def begins(self, dim: str, tile: int) -> int:
        """The first element of a tile along a dimension; of that after the last one, the end."""
        size, extent, last = self.schedule.tile.get(dim, 1), self.computation.extents[dim], self.tiles[dim] - 1
        half = size // 2 if dim in self.schedule.halves and tile == last else 0
        return extent if tile > last else tile * size - half

    @cached_property
    def units(self) -> Mapping[str, int]:
        """The tiles of each dimension, or the windows of results: these are shared out among blocks."""
        return {**self.tiles, **{name: windows.count for name, windows in self.computation.windows.items()}}

    @cached_property
    def size(self) -> Mapping[str, int]:
        """The number of these in a whole block. Lines of an image that is pooled stay whole."""
        whole = self.computation.row if self.computation.windows else ""
        return {
            name: n if name == whole else min(self.schedule.block.get(name, n), n) for name, n in self.units.items()
        }

    @cached_property
    def spans(self) -> Mapping[str, tuple[tuple[int, int], ...]]:
        """For dimensions with windows whose blocks overlap: the first tile of each block, and how many it has."""
        spans: dict[str, tuple[tuple[int, int], ...]] = {}
        for name, windows in self.computation.windows.items():
            size, extent = self.size[name], self.computation.extents[name]
            begins = [windows.first(at) for at in range(0, windows.count, size)] if size < windows.count else []
            ends = [min(extent, begin + windows.reach(size)) for begin in begins]
            pairs = tuple((max(0, begin), end - max(0, begin)) for begin, end in zip(begins, ends, strict=True))
            spans.update({name: pairs} if pairs else {})
        return spans

    @cached_property
    def block(self) -> Mapping[str, int]:
        """Tiles of each dimension in the largest block."""
        spans = {name: max(count for _, count in each) for name, each in self.spans.items()}
        return {
            name: n if name in self.computation.windows else self.size[name] for name, n in self.tiles.items()
        } | spans

    @cached_property
    def blocks(self) -> Mapping[str, int]:
        """Blocks of each dimension."""
        return {name: -(-n // self.size[name]) for name, n in self.units.items()}

    @cached_property
    def first(self) -> Mapping[str, int]:
        """Tiles of each dimension in the first block."""
        return {**self.block, **{name: each[0][1] for name, each in self.spans.items()}}

    @cached_property
    def last(self) -> Mapping[str, int]:
        """Tiles of each dimension in the last block."""
        last = {name: n - (self.blocks[name] - 1) * self.block[name] for name, n in self.tiles.items()}
        return {**last, **{name: each[-1][1] for name, each in self.spans.items()}}

    @cached_property
    def worked(self) -> Mapping[str, int]:
        """Tiles of each dimension in all blocks together, those that several blocks have in common for each."""
        return {**self.tiles, **{name: sum(count for _, count in each) for name, each in self.spans.items()}}

    @property
    def image(self) -> int:
        """The results of a block that are pooled together: the largest image."""
        row = self.computation.row
        return prod(self.computation.extents[d] if d == row else self.block[d] for d in self.computation.windows)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The loops over blocks that have more than one."""
        return tuple(name for name in self.schedule.order if self.blocks[name] > 1)

    @cached_property
    def outer(self) -> tuple[str, ...]:
        """Those of them over results."""
        return tuple(name for name in self.order if name in self.computation.parallel)

    @cached_property
    def steps(self) -> int:
        """Steps of computation: blocks of all loops."""
        return prod(self.blocks[name] for name in self.order)

    @property
    def steps_of_result(self) -> int:
        """Steps until a block of results is complete."""
        return prod(self.blocks[name] for name in self.order if name not in self.outer)

    @property
    def defers(self) -> bool:
        """True if results are stored during the next block: where there is one."""
        return self.schedule.deferred and prod(self.blocks[name] for name in self.outer) > 1

    @cached_property
    def stationary(self) -> tuple[str, ...]:
        """The innermost loops in which the right operand stays in the array, from the inside outwards."""
        names: list[str] = []
        if self.schedule.kept:
            right = self.dims("right")
            for dim in reversed(self.schedule.inner):
                if dim in right:
                    break
                if self.block[dim] > 1:
                    names.append(dim)
        return tuple(names)

    def idle(self, operand: str) -> tuple[str, ...]:
        """The innermost loops inside a block in which an operand's tile stays the same, from the inside outwards."""
        return self.inside_of(self.dims(operand))

    def inside_of(self, dims: Container[str]) -> tuple[str, ...]:
        """The innermost loops inside a block up to one over some dimensions, from the inside outwards."""
        held = [dim for dim in reversed(self.schedule.inner) if self.block[dim] > 1]
        return tuple(takewhile(lambda dim: dim not in dims, held))

    def level(self, operand: str) -> int:
        """The number of loops over blocks, of those that exist, around an operand's panel."""
        return self._levels[operand]

    @cached_property
    def _levels(self) -> Mapping[str, int]:
        level, all_loops = self.schedule.level, len(self.schedule.order)
        return {operand: self.existing(level.get(operand, all_loops)) for operand in OPERANDS}

    def existing(self, level: int) -> int:
        """The loops that exist among the outermost `level` over blocks."""
        return len([name for name in self.schedule.order[:level] if self.blocks[name] > 1])

    def slots(self, operand: str) -> tuple[str, ...]:
        """The loops over blocks whose tiles a panel holds side by side."""
        dims = self.dims(operand) - (self.shared.keys() if operand == "left" else set())
        return tuple(name for name in self.order[self.level(operand) :] if name in dims)

    def revisits(self, operand: str) -> tuple[str, ...]:
        """The loops over blocks inside of a panel's that use its tiles again."""
        return self.revisits_at(operand, self.level(operand))

    def revisits_at(self, operand: str, level: int) -> tuple[str, ...]:
        """The same for a panel inside of the outermost `level` loops."""
        shared = self.overlapping.keys() if operand == "left" else set()
        dims = self.dims(operand) - (shared & set(self.order[level:]))
        return tuple(name for name in self.order[level:] if name not in dims)

    def dims(self, operand: str) -> frozenset[str]:
        """The dimensions that select the elements of an operand."""
        return self.computation.operand_dims[operand]

    def events(self, operand: str) -> int:
        """The number of times that an operand's panel is filled."""
        return prod(self.blocks[name] for name in self.order[: self.level(operand)])

    def times(self, operand: str) -> int:
        """The number of times that each tile of an operand is loaded."""
        kept = (*self.dims(operand), *self.revisits(operand))
        return prod(self.blocks[name] for name in self.order if name not in kept)

    def inside(self, operand: str) -> int:
        """Steps that use one panel of an operand."""
        return prod(self.blocks[name] for name in self.order[self.level(operand) :])

    def uses(self, operand: str) -> int:
        """Steps of a panel that use each tile."""
        return prod(self.blocks[name] for name in self.revisits(operand))

    def can_spread(self, operand: str) -> bool:
        """True if the next panel of an operand is loaded ahead, and several steps use the same tiles of this one."""
        return operand in self.schedule.ahead and self.events(operand) > 1 and bool(self.revisits(operand))

    def spreads(self, operand: str) -> bool:
        """True if the next panel of an operand comes beside all steps of this one."""
        return self.schedule.spread and self.can_spread(operand)

    def phases(self, operand: str) -> int:
        """Panels that an operand has in local memory at a time."""
        if operand == "result":
            turns = 2 if self.computation.windows else max(2, self.schedule.turns)
            return min(turns, prod(self.blocks[name] for name in self.outer)) if self.defers else 1
        return 2 if operand in self.schedule.ahead and self.events(operand) > 1 else 1

    @cached_property
    def overlapping(self) -> Mapping[str, tuple[str, int]]:
        """The reduced dimensions whose steps may share tiles of the left operand: with which dimension of the result,
        and how many steps equal one of its own."""
        overlaps = self.computation.overlaps if self.schedule.shared else {}
        by_piece = self.computation.pieced or self.schedule.lined
        shifts: dict[str, tuple[str, int]] = {}
        for one, (other, steps) in overlaps.items():
            taken = {name for name, _ in shifts.values()}
            size = self.schedule.tile.get(other, 1)
            several = self.block[other] * (size if by_piece else 1) > 1
            alone = by_piece or size == 1
            if steps < self.tiles[one] and several and alone and other not in taken:
                shifts[one] = other, steps
        return shifts

    @cached_property
    def shared(self) -> Mapping[str, tuple[str, int]]:
        """Those of them that do: a panel of the left operand holds all of their tiles."""
        outside = self.order[: self.level("left")] if self.overlapping else ()
        return {one: shift for one, shift in self.overlapping.items() if one not in outside}

    def along(self, operand: str, dim: str, tiles: Mapping[str, Count]) -> Count | int:
        """Places of an operand along a dimension, for numbers of tiles of each, or arrays of them. Places that steps
        share are along the reduced dimension, all of it."""
        if operand == "left" and dim in self.shared:
            other, steps = self.shared[dim]
            return steps * (self.pieces(operand, other, tiles[other]) - 1) + self.tiles[dim]
        if operand == "left" and dim in {other for other, _ in self.shared.values()}:
            return 1
        return self.pieces(operand, dim, tiles[dim])

    @cached_property
    def pieced(self) -> bool:
        """True if moves bring a left tile's row dimension by the coordinate, not by the tile."""
        row = self.computation.row
        lined = self.schedule.lined and any(other == row for other, _ in self.shared.values())
        return self.computation.pieced or lined

    def pieces(self, operand: str, dim: str, tiles: Count) -> Count:
        """The moves along a dimension that bring tiles of an operand: one for each, or for each of its coordinates."""
        pieced = operand == "left" and dim == self.computation.row and self.pieced
        return tiles * self.schedule.tile.get(dim, 1) if pieced else tiles

    @property
    def row_side(self) -> str:
        """The dimension along which pieces of the left operand lie side by side: where steps share them, theirs."""
        row = self.computation.row
        return next((dim for dim, (other, _) in self.shared.items() if other == row), row)

    def side(self, operand: str, column: str) -> str:
        """The dimension along which tiles of an operand lie side by side. It is that of its columns. Where one tile
        has all of these, it is one whose steps go just past them, as from one group of channels to the next."""
        own, computation = self.computation.operands[operand], self.computation
        if self.tiles[column] > 1 or not own.along(column):
            return column
        clipped = frozenset[str]().union(*(subscript.dims for subscript, _ in computation.clipped))
        past = own.along(column) * computation.extents[column]
        others = sorted(own.dims - clipped - set(computation.tiled.values()))
        return next((dim for dim in others if own.along(dim) == past), column)

    def columns(self, operand: str, side: str) -> int:
        """Columns from one tile of an operand to the next, along the dimension of those side by side."""
        own = self.computation.operands[operand]
        return max(1, own.along(side) // own.tensor.element) * self.schedule.tile.get(side, 1)

    def on_core(self, dim: str, tiles: int) -> int:
        """Those of some tiles of a block along a dimension that one core has places for."""
        return -(-tiles // self.schedule.cores.get(dim, 1))

    def copies(self, operand: str) -> int:
        """The cores that hold the same tiles of an operand."""
        return prod(count for dim, count in self.schedule.cores.items() if dim not in self.dims(operand))

    def uneven(self, machine: int) -> str:
        """The reason why tiles cannot be shared out among cores as the schedule wants it, on a machine with some of
        them; empty if they can."""
        schedule, parallel = self.schedule, set(self.computation.parallel) - self.computation.windows.keys()
        for dim, count in schedule.cores.items():
            if count != machine or len(schedule.cores) > 1 or dim not in parallel:
                return f"the machine has {machine} equal cores, for tiles along one of {', '.join(sorted(parallel))}"
            if self.blocks[dim] > 1 and self.block[dim] % count:
                return f"a block of {self.block[dim]} tiles along {dim} does not give {count} cores as many each"
            if self.computation.clipped and dim in self.stationary:
                return "cores do not keep an operand in their arrays where products are left out"
            lines = {*self.shared, *(other for other, _ in self.shared.values())}
            if dim in lines or (dim == self.computation.row and (self.pieced or schedule.short_first)):
                return "cores do not take lines that steps share, or short tiles first, in turn"
        return ""

    def held(self, operand: str) -> int:
        """Tiles of an operand in a block that one core holds; of results that are pooled, images."""
        return self._held[operand]

    @cached_property
    def _held(self) -> Mapping[str, int]:
        return {name: self._tiles_of(name, dims) for name, dims in self.computation.operand_dims.items()}

    def _tiles_of(self, operand: str, dims: frozenset[str]) -> int:
        pooled = self.computation.windows.keys() if operand == "result" else set()
        held = ((name, self.along(operand, name, self.block)) for name in self.tiles if name in dims - pooled)
        return prod(self.on_core(name, tiles) for name, tiles in held)
