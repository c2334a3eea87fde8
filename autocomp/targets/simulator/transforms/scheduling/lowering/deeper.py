"""Tiles of several steps of a reduction: of taps along a row of a filter, with few channels each.

A step may go on right after the depth of a tile, in the columns of the left operand and in the rows of the right one.
Loads that name these then bring the depth of several steps at once. A product fills more of the array, and fewer
products make a sum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from autocomp.targets.simulator.isa.derived.roles import instruction_role
from autocomp.targets.simulator.transforms.scheduling.computation import Contraction, Operand, Subscript
from autocomp.targets.simulator.transforms.scheduling.lowering.operands import Varied
from autocomp.targets.simulator.transforms.scheduling.lowering.sizes import counted
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Command, Room, Tasks


def deeper(computation: Contraction, tasks: Tasks) -> tuple[Contraction, Tasks]:
    """The contraction with steps along one reduced dimension merged, or as it is where commands or tensors do not
    allow that."""
    whole = not computation.clipped and not tasks.filled and tasks.first is None
    plain = not any(load.parts or load.given.turned or load.piece is None for load in tasks.loads.values())
    if not whole or not plain or any(tasks.brings.values()) or any(tasks.near.values()):
        return computation, tasks
    for dim in reversed(computation.reduction):
        merging = _merging(computation, tasks, dim)
        if merging is not None:
            return merging.outcome()
    return computation, tasks


@dataclass(frozen=True)
class _Merging:
    """`steps` steps along a dimension become one, each of `size` elements; `names`: the operands that count these."""

    computation: Contraction
    tasks: Tasks
    dim: str
    size: int
    steps: int
    left: frozenset[str]
    right: frozenset[str]
    product: frozenset[str]

    def outcome(self) -> tuple[Contraction, Tasks]:
        computation, tasks = self.computation, self.tasks
        extent = -(-computation.extents[self.dim] // self.steps)
        dims = tuple(replace(d, extent=extent) if d.name == self.dim else d for d in computation.dims)
        loads = {
            "left": self._deep(tasks.loads["left"], self.left),
            "right": self._deep(tasks.loads["right"], self.right),
        }
        left, right = loads["left"].piece, loads["right"].piece
        assert left is not None
        assert right is not None
        loads["left"] = replace(loads["left"], piece=replace(left, bytes=left.bytes * self.steps))
        loads["right"] = replace(loads["right"], piece=replace(right, count=right.count * self.steps))
        room = tasks.rooms["right"]
        rooms = {**tasks.rooms, "right": replace(room, rows=max(room.rows, self.size * self.steps))}
        changed = replace(
            computation, dims=dims, left=self._apart(computation.left), right=self._apart(computation.right)
        )
        product = self._deep(tasks.product, self.product)
        return changed, replace(tasks, loads=loads, product=product, rooms=rooms)

    def _deep(self, command: Command, names: frozenset[str]) -> Command:
        usual, rest = self.size * self.steps, self.computation.extents[self.dim] % self.steps
        value = Varied(self.dim, self.size * rest, usual) if rest else usual
        return replace(command, operands={**command.operands, **dict.fromkeys(names, value)})

    def _apart(self, operand: Operand) -> Operand:
        def farther(subscript: Subscript) -> Subscript:
            terms = tuple((d, factor * self.steps if d == self.dim else factor) for d, factor in subscript.terms)
            return replace(subscript, terms=terms)

        return replace(operand, subscripts=tuple(map(farther, operand.subscripts)))


def _merging(computation: Contraction, tasks: Tasks, dim: str) -> _Merging | None:
    """The steps along a dimension that become one; None where they do not follow one another in both operands, or
    commands cannot be as deep as two of them."""
    left, right = tasks.loads["left"], tasks.loads["right"]
    assert left.piece is not None
    assert right.piece is not None
    size = left.piece.bytes // computation.left.tensor.element
    rows, step = right.piece.count, (computation.left.along(dim), computation.right.along(dim))
    if rows != size or step != (left.piece.bytes, rows * right.piece.stride) or not size:
        return None
    columns = counted(tasks, left, "left", "depth", dim, size)
    deep_rows = counted(tasks, right, "right", "depth", dim, size)
    product = counted(tasks, tasks.product, "product", "depth", dim, size)
    deep = instruction_role(tasks.accelerator, tasks.product.instruction).named("depth")
    room = tasks.rooms["right"]
    configured = tasks.row_settings or tasks.set_again
    if not columns or not deep_rows or {*deep} - product or (room.rows == size and not deep) or configured:
        return None
    most = min(
        tasks.memory("left").cols // size,
        _rows(tasks, room, size) // size,
        _most(left, columns) // size,
        _most(right, deep_rows) // size,
        *([_most(tasks.product, product) // size] if product else []),
    )
    if most < 2:
        return None
    extent = computation.extents[dim]
    steps = -(-extent // -(-extent // most))
    return _Merging(computation, tasks, dim, size, steps, columns, deep_rows, product) if steps > 1 else None


def _rows(tasks: Tasks, room: Room, size: int) -> int:
    """Rows that the right operand may have: where it has those of a tile alone, all rows of its memory."""
    return tasks.accelerator.memory(room.memory).rows if room.rows == size else room.rows


def _most(command: Command, names: frozenset[str]) -> int:
    """The greatest value that all these operands of a command may have."""
    unlimited = 1 << 31
    return min((p.high or unlimited for p in command.instruction.parameters if p.name in names), default=unlimited)
