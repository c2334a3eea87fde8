"""Commands taken as they are: how a kernel loads, starts, multiplies, finishes and stores whole tiles.

Nothing is known of such a command but what it touches. With other rows and places it does the same to another tile,
whatever its semantics are, so tiles keep their sizes, as far as `sizes.py` sees no others, and are moved one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.derived.cores import Core
from autocomp.targets.simulator.isa.derived.engines import engines
from autocomp.targets.simulator.isa.tree import Expression, Name, Number
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.computation import Contraction
from autocomp.targets.simulator.transforms.scheduling.lifting.extra import EXTRA
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Form
from autocomp.targets.simulator.transforms.scheduling.lifting.interleaved import Interleaved
from autocomp.targets.simulator.transforms.scheduling.lowering.cores import cores_with
from autocomp.targets.simulator.transforms.scheduling.lowering.leaves import Numbers
from autocomp.targets.simulator.transforms.scheduling.lowering.operands import (
    ROW,
    Extent,
    Setting,
    Value,
    Varied,
    short_along,
)
from autocomp.targets.simulator.transforms.scheduling.schedule import Grid

_ON_WAY = 4  # tiles on their way through a further memory, one at a time


@dataclass(frozen=True)
class Pieces:
    """The DRAM access of a move: `count` stretches of `bytes` bytes, `stride` bytes apart."""

    count: int
    bytes: int
    stride: int


@dataclass(frozen=True)
class Parts:
    """Commands that do together what is done to one tile: how many, and from one to the next the local rows (of
    addresses) or bytes in DRAM (of pointers), by operand."""

    count: int | Varied | Extent
    steps: Mapping[str, int]


@dataclass(frozen=True)
class Command:
    """A command with its operands. `piece` is what it moves at most; `given` is its form in the kernel. Where a tile
    needs several, `parts` says how they differ from the first. `settings` come in front of it: others change them."""

    instruction: m.Instruction
    operands: Mapping[str, Value]
    piece: Pieces | None
    given: Form = field(repr=False)
    parts: Parts | None = None
    settings: tuple[Setting, ...] = ()


@dataclass(frozen=True)
class Room:
    """Where the tiles of a buffer lie, and how many rows each has. `addressed`: operands say which; else each load
    fills the next one, and each product reads the one after that of the product before."""

    memory: str
    rows: int
    addressed: bool = True
    sized: tuple[str, int] | None = None  # the dimension that rows grow with, and the elements in one
    each: int = 1  # elements of a coordinate of that dimension


def extra_dims(computation: Contraction) -> tuple[str, ...]:
    """The dimensions of what results start from: none where that is the same for all."""
    dims = frozenset[str]().union(*(operand.dims for operand in computation.added))
    return tuple(dim for dim in computation.parallel if dim in dims)


@dataclass(frozen=True)
class LinesOf:
    """The operands of a product that say how many lines its left tile has, at most `most`, and the rows from one to the
    next. Without one of these, `count` says rows, and those between lines are multiplied too."""

    count: str
    apart: str
    most: int


@dataclass(frozen=True)
class Sized:
    """A dimension whose tiles may have other sizes: elements of one in the kernel, and the most."""

    usual: int
    most: int


@dataclass(frozen=True)
class Wide:
    """A move that may take several tiles along a dimension: coordinates at most, and those that fill a request. The
    tiles of another dimension may have to be `whole`: a short one would lie elsewhere. Of an operand that comes in
    pieces these are counted, and `piece` is the bytes from one to the next in DRAM if a load may bring both. The rows
    of `woven` tiles take turns in local memory: the first rows of all come before the second."""

    dim: str
    most: int
    request: int
    whole: str = ""
    piece: int = 0
    woven: bool = False


@dataclass(frozen=True)
class RowSetting:
    """A configuring command that each tile of a buffer needs: its operands, the one that selects the record, and the
    record, as an expression over the tile's first row."""

    buffer: str
    instruction: m.Instruction
    operands: Numbers
    selector: str
    index: Expression


def record_of(index: Expression, row: int) -> int:
    """The record that a tile needs, from its first row. Raises NotApplicable where that does not follow."""
    record = algebra.substitute(index, lambda part: Number(row) if part == Name(ROW) else None)
    if not isinstance(record, Number):
        raise NotApplicable("which record a tile needs does not follow from its row")
    return int(record.value)


@dataclass(frozen=True)
class Filling:
    """Loads that fill what one of a short tile leaves: rows alone if an operand counts them (`rows`), else all. With
    the operands `least` they write the same columns for the fewest bytes."""

    rows: str = ""
    least: Numbers = field(default_factory=dict)

    def missing(self, load: Command) -> int:
        """The rows that a short tile lacks; 0 where these are not all."""
        value = load.operands.get(self.rows, 0)
        if not short_along(value):
            return 0
        if isinstance(value, Varied):
            return int(value.usual) - int(value.special)
        return value.short if isinstance(value, Extent) else 0

    def short(self, load: Command) -> frozenset[str]:
        """The dimensions of whose last tiles something is missing."""
        values = [load.operands[self.rows]] if self.missing(load) else load.operands.values()
        return frozenset(dim for value in values if (dim := short_along(value)))


@dataclass(frozen=True)
class Tasks:
    """All commands of a contraction of whole tiles. `brings` move loaded tiles on to the panel of their operand, and
    `near` from there to where products read them, in front of these. `first` multiplies in place of `product` where a
    result begins; `finish` turns sums into results. `settings` hold from the start on. With the operands `again`, a
    product multiplies once more by the right tile that the one before it took from a queue. Of operands that are
    `filled`, whole tiles are read where a short one lies. Rows of `interleaved` memories are numbered anew. `extra`
    loads what starts, products or `finish` read besides: all of it before all else."""

    accelerator: m.Accelerator
    rooms: Mapping[str, Room]  # left, right, result, relay0 …
    loads: Mapping[str, Command]  # of left and right
    brings: Mapping[str, tuple[Command, ...]]  # after these
    start: Command | None
    product: Command
    finish: tuple[Command, ...]
    store: Command
    settings: tuple[tuple[m.Instruction, Numbers], ...]
    row_settings: tuple[RowSetting, ...]
    fence: tuple[m.Instruction, Numbers] | None
    sizes: Mapping[str, Sized] = field(default_factory=dict)
    again: Numbers = field(default_factory=dict)
    near: Mapping[str, tuple[Command, ...]] = field(default_factory=dict)
    wide: Mapping[str, Wide] = field(default_factory=dict)
    filled: Mapping[str, Filling] = field(default_factory=dict)
    lines: LinesOf | None = None
    interleaved: Mapping[str, Interleaved] = field(default_factory=dict)
    first: Command | None = None
    extra: Command | None = None

    def chain(self, operand: str) -> tuple[Command, ...]:
        """The commands that bring a tile of an operand to its panel, from its load on."""
        return (self.loads[operand], *self.brings[operand])

    def width(self, operand: str, grid: Grid) -> int:
        """Tiles in one move of an operand or of results: as many as fill a request, where the schedule does not say."""
        wide = self.wide.get(operand)
        if wide is None:
            return 1
        if operand == "left" and grid.pieced:
            side = grid.row_side
            follow = grid.along(operand, side, grid.block) if grid.computation.left.along(side) == wide.piece else 1
            return max(1, min(grid.schedule.width.get(operand, wide.request), wide.most, follow))
        tile = grid.schedule.tile
        if wide.dim in (*grid.schedule.halves, *grid.schedule.cores):
            return 1
        size = tile.get(wide.dim, self.sizes[wide.dim].usual if wide.dim in self.sizes else 1)
        if wide.whole and grid.computation.extents[wide.whole] % tile.get(wide.whole, 1):
            return 1
        chosen = grid.schedule.width.get(operand, -(-wide.request // size))
        room = [self._most_passing(relay, grid) for relay in self.relays if operand == self.owner(relay) == "result"]
        return max(1, min(chosen, wide.most // size, grid.block[wide.dim], *room))

    def _most_passing(self, relay: str, grid: Grid) -> int:
        """Tiles that half of the memory of a further buffer has room for."""
        return self.accelerator.memory(self.rooms[relay].memory).rows // 2 // self.rows(relay, grid)

    def passing(self, relay: str, grid: Grid) -> int:
        """Local rows of what lies in one place of a further buffer: a tile, or all that one store takes."""
        return self.rows(relay, grid) * (self.width("result", grid) if self.owner(relay) == "result" else 1)

    def lapped(self, operand: str, grid: Grid) -> str:
        """The dimension along which tiles of an operand lie in reverse, the short one right in front of a whole one:
        what is read beyond it was loaded before. Empty where a step has no whole one, or loads bring several."""
        filling, load = self.filled.get(operand), self.loads[operand]
        if filling is None or not filling.missing(load) or self.width(operand, grid) > 1 or grid.computation.pieced:
            return ""
        (dim,) = filling.short(load)
        return dim if grid.last[dim] > 1 and dim not in grid.schedule.cores else ""

    @cached_property
    def set_again(self) -> bool:
        """True if registers that change say how large tiles are: these stay as they are."""
        moves = (command for operand in self.loads for command in (*self.chain(operand), *self.near.get(operand, ())))
        others = (self.start, self.extra, self.first, self.product, *self.results)
        return any(command.settings for command in (*moves, *others) if command is not None)

    @property
    def results(self) -> tuple[Command, ...]:
        """The commands that turn sums into results and store them."""
        return (*self.finish, self.store)

    def owner(self, buffer: str) -> str:
        """The operand, or the result, whose tiles pass a buffer."""
        return next((operand for operand in self.loads if buffer.startswith(operand)), "result")

    @cached_property
    def queued(self) -> tuple[str, ...]:
        """Operands that come through a queue: each product takes the next tile."""
        return tuple(operand for operand in self.loads if not self.rooms[operand].addressed)

    @cached_property
    def relays(self) -> tuple[str, ...]:
        """Further buffers whose rows operands name: queues and registers take tiles as they come."""
        main = (*self.loads, "result", EXTRA)
        return tuple(name for name, room in self.rooms.items() if name not in main and room.addressed)

    def room(self, relay: str, grid: Grid) -> int:
        """Places that the memory of a further buffer has room for, for each operand that passes; few beside panels."""
        memory = self.rooms[relay].memory
        if any(self.rooms[name].memory == memory for name in (*self.loads, "result")):
            return max(1, min(_ON_WAY, self.accelerator.memory(memory).rows // 2 // self.passing(relay, grid)))
        rows = sum(self.passing(other, grid) for other in self.relays if self.rooms[other].memory == memory)
        return self.accelerator.memory(memory).rows // rows

    def held_near(self, operand: str, grid: Grid) -> tuple[str, ...]:
        """The innermost loops inside a block in which the further buffers of an operand hold all tiles that products
        read, from the inside outwards. Where programs order units, they hold one tile at a time."""
        dims = grid.dims(operand)
        relays = [name for name in self.relays if name.startswith(operand)]
        if not relays or not self.accelerator.settings.get("hazards.tracked", 1):
            return grid.idle(operand)
        room, tiles = min(self.room(relay, grid) for relay in relays), 1
        held: list[str] = []
        for dim in grid.inside_of(()):
            tiles *= grid.block[dim] if dim in dims else 1
            if tiles > room:
                break
            held.append(dim)
        while held and held[-1] in dims:
            held.pop()
        return tuple(held)

    def dims_near(self, operand: str, grid: Grid) -> tuple[str, ...]:
        """The dimensions of the tiles that near buffers hold before others come, outermost first."""
        held = self.held_near(operand, grid) if self.near.get(operand) else ()
        return tuple(dim for dim in reversed(held) if dim in grid.dims(operand))

    def places(self, relay: str, grid: Grid) -> int:
        """Tiles that a further buffer has places for: those that it holds, twice where there is room. Of one at a time
        an even number, as even and odd ones take turns."""
        owner, room = self.owner(relay), max(1, self.room(relay, grid))
        held = prod(grid.block[dim] for dim in self.dims_near(owner, grid))
        if held > 1:
            return held * min(2, room // held)
        tiles = prod(grid.tiles[dim] for dim in grid.dims(owner))
        places = _ON_WAY if tiles >= _ON_WAY else min(2, tiles)
        while places > room:
            places //= 2
        return places

    def extra_rows(self, grid: Grid) -> int:
        """The rows of what commands read besides tiles, of all results."""
        return prod(grid.tiles[dim] for dim in extra_dims(grid.computation)) * self.rows(EXTRA, grid)

    def rows_on_the_way(self, grid: Grid) -> Mapping[str, int]:
        """The rows of all further buffers, by memory."""
        rows: dict[str, int] = {} if self.extra is None else {self.rooms[EXTRA].memory: self.extra_rows(grid)}
        for relay in self.relays:
            memory = self.rooms[relay].memory
            rows[memory] = rows.get(memory, 0) + self.passing(relay, grid) * self.places(relay, grid)
        return rows

    def refusal(self, grid: Grid) -> str:
        """The reason why tiles cannot be as a schedule wants them; empty if they can. A tile from a queue is not used
        again once another one was."""
        if grid.schedule.lined:
            return "products do not read what a line of an image has row after row"
        whole = sorted(dim for dim in grid.schedule.halves if not self._halved(dim, grid))
        if whole:
            return f"the last tile along {', '.join(whole)} cannot be two halves"
        if grid.schedule.alone and (self.fence is None or not self.queued):
            return "no operand comes through a queue, or no fence can follow it"
        results = prod(grid.block[dim] for dim in grid.dims("result"))
        if (grid.schedule.deferred or results > 1) and not self.rooms["result"].addressed:
            return "no operand says where results lie: the next one cannot begin before they have left"
        for operand in self.queued:
            dims = grid.dims(operand) | set(grid.stationary if operand == "right" else ())
            again = [d for d, tiles in grid.block.items() if d not in dims and tiles > 1]
            if again or grid.revisits(operand) or operand in grid.schedule.ahead:
                return "an operand comes through a queue: each tile of it is used once, as it comes"
        return ""

    def _halved(self, dim: str, grid: Grid) -> bool:
        """True if the last tile along a dimension can be two of half the size."""
        known, size, extent = self.sizes.get(dim), grid.schedule.tile.get(dim, 1), grid.computation.extents.get(dim, 1)
        pieced = grid.pieced and dim == grid.computation.row
        return known is not None and not pieced and not size % 2 and not extent % size and not extent % known.usual

    @cached_property
    def flowing(self) -> frozenset[str]:
        """Operands whose loads go ahead by themselves: into a queue, or into registers that the machine renames."""
        return frozenset(o for o in self.loads if o in self.queued or self.memory(o).settings.get("renamed", 0))

    @property
    def keeps(self) -> bool:
        """True if the right operand can stay in the array from one product to the next."""
        return bool(self.again)

    @cached_property
    def engines(self) -> tuple[m.Instruction, ...]:
        """The instructions that multiply tiles, each in a unit of its own. One where programs order units, or where
        tiles come in turn."""
        product = self.product.instruction
        alone = self.first is not None or self.queued or not self.accelerator.settings.get("hazards.tracked", 1)
        return (product,) if alone else engines(self.accelerator).get(product.name, (product,))

    @cached_property
    def cores(self) -> tuple[Core, ...]:
        """The other cores that can do the same: tiles lie where loads bring them and products leave them."""
        if self.relays or self.queued or any(self.near.values()):
            return ()
        besides = (self.start, self.first, self.extra, *self.brings.values(), self.finish, self.store)
        return cores_with(self.accelerator, *self.loads.values(), self.product, *besides)

    @cached_property
    def repeated(self) -> Command:
        """The product by a tile that stays in the array."""
        given = self.product.given.changed({**self.product.given.operands, **self.again})
        return replace(self.product, operands={**self.product.operands, **self.again}, given=given)

    def largest(self, computation: Contraction) -> Mapping[str, int]:
        """Tiles as they are in the kernel, by dimension; where coordinates count them, 1."""
        return {d: self.sizes[d].usual if d in self.sizes else 1 for d in computation.extents}

    def memory(self, operand: str) -> m.Memory:
        """Where the tiles of an operand lie."""
        return self.accelerator.memory(self.rooms[operand].memory)

    def rows(self, operand: str, grid: Grid) -> int:
        """Local rows of a tile."""
        room = self.rooms[operand]
        if room.sized is None:
            return room.rows
        dim, elements = room.sized
        return -(-grid.schedule.tile.get(dim, self.sizes[dim].usual) * room.each // elements)
