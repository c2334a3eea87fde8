"""The commands that a computation is made of, taken from a kernel that carries it out. They say how its operands are
loaded, its tiles multiplied and its results stored, with the operands open that say where and how much.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.derived.cores import Core
from autocomp.targets.simulator.isa.derived.meaning import outside
from autocomp.targets.simulator.isa.tree import AddressField, Expression, Number
from autocomp.targets.simulator.transforms.scheduling.computation import Contraction
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Form, Register
from autocomp.targets.simulator.transforms.scheduling.lowering.cores import cores_with
from autocomp.targets.simulator.transforms.scheduling.lowering.layout import Buffer
from autocomp.targets.simulator.transforms.scheduling.lowering.order import Order
from autocomp.targets.simulator.transforms.scheduling.schedule import Grid

Numbers = Mapping[str, int | float]
_UNLIMITED = 1 << 31


@dataclass(frozen=True)
class Setting:
    """Where a move takes a number from: an operand of its own, a register, or (neither) a constant."""

    operand: str = ""
    register: Register | None = None
    constant: int = 0


@dataclass(frozen=True)
class Configure:
    """A configuring command, with the operands that it has in the kernel. `selector` is the operand that chooses the
    record, `sets` the operand for each field."""

    instruction: m.Instruction
    operands: Numbers
    selector: str
    sets: Mapping[str, str]


@dataclass(frozen=True)
class MoveLeaf:
    """A move of rows between a tensor and local memory. `rows` and `columns` are the operands with their numbers; a
    move covers at most `most_columns` columns. Columns beyond `width` go to rows `pitch` further on; `stride` is of
    rows in DRAM. A store that pools has `windows`: where the words that state them are set; its form is `pooling`."""

    instruction: m.Instruction
    operands: Numbers
    memory: str
    space: m.AddressSpace
    pointer: str
    address: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    most_columns: int
    width: int
    stride: Setting
    pitch: Setting
    selector: str
    settings: tuple[Configure, ...]
    windows: Mapping[str, Setting] = field(default_factory=dict)
    pooling: Form | None = None

    @property
    def flags(self) -> int:
        """The address without its row."""
        return int(self.operands[self.address])

    def orders(self, row: int, rows: int) -> bool:
        """True if the machine orders a store that pools by all of the local rows from one on that it reads."""
        form = self.pooling
        if form is None or not form.instruction.tracks:
            return True

        def number(expression: Expression) -> int:
            known = form.evaluate(outside(form.instruction, expression))
            value = algebra.substitute(known, lambda part: Number(row) if isinstance(part, AddressField) else None)
            return form.number(value)

        for track in form.instruction.tracks:
            if track.memory == self.memory and (track.guard is None or number(track.guard)):
                first = number(track.first)
                return first <= row and row + rows <= first + number(track.rows)
        return False


@dataclass(frozen=True)
class Part:
    """One command of a product: operands that are numbers, rows of `left`, `right` or `result`, or the extent of a
    dimension."""

    instruction: m.Instruction
    operands: Numbers
    addresses: Mapping[str, str]  # operand -> left, right, result
    extents: Mapping[str, str]  # operand -> row, column, depth
    given: Form

    def form(self, operands: Numbers) -> Form:
        """The form of the command with other operands, in the same configuration."""
        return replace(self.given, operands=operands)


@dataclass(frozen=True)
class ProductLeaf:
    """The commands that multiply a tile: adding to the result, or (`starting`) overwriting it. With `kept` ones, the
    right operand stays in the array from the product before."""

    adding: tuple[Part, ...]
    starting: tuple[Part, ...]
    kept: tuple[Part, ...]
    kept_starting: tuple[Part, ...]
    spaces: Mapping[str, m.AddressSpace]
    memories: Mapping[str, str]  # of left, right and result
    rows: Mapping[str, str]  # the dimension along the local rows of left and right: row, column or depth
    most: Mapping[str, int]  # the largest extent of a tile: row, column, depth
    settings: tuple[Configure, ...]

    def row_word(self, operand: str) -> str:
        """The dimension along the local rows of an operand: row, column or depth."""
        return self.rows.get(operand, "row")

    def column_word(self, operand: str) -> str:
        """The dimension along its columns."""
        one, other = {"left": ("row", "depth"), "right": ("depth", "column")}.get(operand, ("row", "column"))
        return other if self.row_word(operand) == one else one


@dataclass(frozen=True)
class Leaves:
    """All commands of a contraction. `zero` writes zeros, `added` loads what results start from."""

    accelerator: m.Accelerator
    product: ProductLeaf
    left: MoveLeaf
    right: MoveLeaf
    added: tuple[MoveLeaf, ...]
    zero: MoveLeaf | None
    store: MoveLeaf
    fence: tuple[m.Instruction, Numbers] | None

    def move(self, operand: str) -> MoveLeaf:
        """The load of left or right, the store of the result."""
        return {"left": self.left, "right": self.right, "result": self.store}[operand]

    @cached_property
    def cores(self) -> tuple[Core, ...]:
        """The other cores that can do the same."""
        moves = (self.left, self.right, self.added, self.zero, self.store)
        return cores_with(self.accelerator, self.product, *moves)

    @property
    def keeps(self) -> bool:
        """True if the right operand can stay in the array from one product to the next."""
        return bool(self.product.kept)

    @property
    def flowing(self) -> frozenset[str]:
        """Operands whose loads go ahead by themselves."""
        return frozenset()

    @property
    def queued(self) -> tuple[str, ...]:
        """Operands that come through a queue."""
        return ()

    def rows_on_the_way(self, grid: Grid) -> Mapping[str, int]:
        """The rows of further buffers, by memory: this machine has no such buffer."""
        return {}

    def refusal(self, grid: Grid) -> str:
        """The reason why the machine cannot load tiles as a schedule wants them; empty if it can. Lines need products
        that read rows one after the other, of which none are left out."""
        if grid.schedule.halves:
            return f"the last tile along {', '.join(sorted(grid.schedule.halves))} cannot be two halves"
        if grid.schedule.alone:
            return "no operand comes through a queue"
        if not grid.schedule.lined:
            return ""
        row = grid.computation.row
        clipped = any(row in subscript.dims for subscript, _ in grid.computation.clipped)
        steps = dict(grid.overlapping.values()).get(row, 0)
        held = self.product.row_word("left") == "row" and steps == 1 and not clipped and self._most_rows > 1
        return "" if held else "products do not read what a line of an image has row after row"

    def largest(self, computation: Contraction) -> Mapping[str, int]:
        """The largest tiles that the machine multiplies, by dimension."""
        return {dim: min(self.product.most[word], computation.extents[dim]) for word, dim in computation.tiled.items()}

    def memory(self, operand: str) -> m.Memory:
        """Where the tiles of an operand lie."""
        return self.accelerator.memory(self.product.memories[operand])

    def rows(self, operand: str, grid: Grid) -> int:
        """Local rows from one tile, or piece, to the next, as far as no move is narrowed."""
        if operand == "left" and grid.pieced:
            return 1
        if operand == "result" and grid.computation.windows:
            return self._image_rows(grid)
        rows = grid.schedule.tile.get(grid.computation.tiled[self.product.row_word(operand)], 1)
        wide = operand == "result" and grid.block[self.side(operand, grid)] > 1
        return max(rows, self.store.pitch.constant) if wide else rows

    def _image_rows(self, grid: Grid) -> int:
        """Local rows from one image that is pooled to the next: none lies in several banks if it fits into one."""
        memory = self.memory("result")
        bank = memory.rows // max(1, memory.banks)
        if grid.image > bank or grid.image * grid.held("result") <= bank:
            return grid.image
        return next(rows for rows in range(grid.image, bank + 1) if bank % rows == 0)

    def buffers(self, grid: Grid) -> Mapping[str, Buffer]:
        """The panels of all operands, and how many of their rows are accessed."""
        computation = grid.computation
        products = prod(count for dim, count in grid.tiles.items() if dim != computation.row)
        rows = products * computation.extents[computation.row]
        kept = prod(grid.block[dim] for dim in grid.stationary)
        brought = products * grid.tiles[computation.row] * self.rows("right", grid) / kept
        used = {"left": rows, "right": brought, "result": rows}
        return {operand: self._buffer(operand, grid, float(count)) for operand, count in used.items()}

    def _buffer(self, operand: str, grid: Grid, used: float) -> Buffer:
        rows = grid.held(operand) * self.rows(operand, grid)
        slots = 1 if operand == "result" else prod(grid.blocks[dim] for dim in grid.slots(operand))
        outer = prod(grid.blocks[dim] for dim in grid.outer)
        times = outer if operand == "result" else grid.events(operand) * slots
        memory = self.product.memories[operand]
        beside = operand == "result" and Order(self.accelerator).trails(grid.schedule) and not grid.computation.windows
        summed = operand == "result" and len(self.added) > 1  # the first one overwrites
        return Buffer(memory, rows, slots * grid.phases(operand), float(rows * times), used, beside, summed)

    def width(self, operand: str, grid: Grid) -> int:
        """Tiles, or pieces, in one move of an operand."""
        leaf, side = self.move(operand), self.side(operand, grid)
        if operand == "left" and grid.pieced:
            return max(1, min(grid.schedule.width.get(operand, self._most_rows), grid.along(operand, side, grid.block)))
        size = grid.columns(operand, side)
        if size < leaf.width or side in grid.schedule.cores:
            return 1
        most = leaf.most_columns // size
        return max(1, min(grid.schedule.width.get(operand, most), most, grid.block[side]))

    @property
    def _most_rows(self) -> int:
        """Rows of the left operand in one move."""
        ends = {p.name: p.high for p in self.left.instruction.parameters}
        return min((ends[name] or _UNLIMITED for name in self.left.rows), default=1)

    def side(self, operand: str, grid: Grid) -> str:
        """The dimension that one move of an operand may take several tiles, or pieces, along."""
        if operand == "left" and grid.pieced:
            return grid.row_side
        return grid.side(operand, grid.computation.tiled[self.product.column_word(operand)])
