"""Whole tiles that may have other sizes: where operands of all commands say how many rows, or columns, a tile has.

A dimension is *sized* if the load, the product and the store of its tiles name its extent, and if what they move in
DRAM grows with it. Its coordinates then count elements, and a tile may be as small as one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.algebra import names_in
from autocomp.targets.simulator.isa.derived.regions import writes
from autocomp.targets.simulator.isa.derived.roles import instruction_role
from autocomp.targets.simulator.isa.timing import unit_number
from autocomp.targets.simulator.transforms.analysis.requests import unit_settings
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.computation import Contraction, Operand, Subscript
from autocomp.targets.simulator.transforms.scheduling.lowering.operands import Extent, Varied
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Command, Room, Sized, Tasks, Wide

_WORDS = {  # the dimension that an operand's role stands for, by what the command moves
    "left": {"rows": "row", "cols": "depth"},
    "left turned": {"rows": "depth", "cols": "row"},
    "right": {"rows": "depth", "cols": "column"},
    "result": {"rows": "row", "cols": "column"},
    "product": {"rows": "row", "cols": "column", "depth": "depth"},
}
_TURNED = {"rows": "cols", "cols": "rows"}
_SIDES = {"row": ("left", -2), "column": ("right", -1)}  # the factor, and the dimension of the result's tensor


def sized(computation: Contraction, tasks: Tasks, halves: frozenset[str]) -> tuple[Contraction, Tasks]:
    """The contraction with rows and columns counted in elements, where tiles may have other sizes. `halves`: the
    dimensions whose last tile is two of half the size. Raises NotApplicable where tiles of these have one size."""
    for word in _SIDES:
        sizes = _Sizing(computation, tasks, word, computation.tiled[word] in halves).outcome()
        computation, tasks = sizes or (computation, tasks)
    if halves - tasks.sizes.keys():
        raise NotApplicable("tiles have several sizes")
    return computation, tasks


class _Sizing:
    def __init__(self, computation: Contraction, tasks: Tasks, word: str, halved: bool) -> None:
        self._c = computation
        self._t = tasks
        self._word = word
        self._halved = halved
        self._dim = computation.tiled[word]
        self._side, self._place = _SIDES[word]
        tensor = computation.result.tensor
        self._total = tensor.shape[self._place]
        factor = computation.result.subscripts[self._place].factor(self._dim)
        self._step = factor or self._total  # elements of a tile
        moved = tasks.loads[self._side].piece
        last = computation.operands[self._side].tensor
        full = moved is not None and moved.bytes == min(self._step, self._total) * last.element
        self._dense = word == "column" or (
            full and last.shape[-1] == self._total and tasks.loads[self._side].given.turned
        )

    def outcome(self) -> tuple[Contraction, Tasks] | None:
        tiles = self._c.extents[self._dim] - self._halved
        if self._t.set_again or self._step < 2 or -(-self._total // self._step) != tiles or not self._follows():
            return None
        place = self._in_factor()
        if place is None:
            return None
        commands = {"product": self._t.product, "result": self._t.store, self._side: self._t.loads[self._side]}
        counted = {name: self._counted(command, name) for name, command in commands.items()}
        named = ("result", self._side) if self._word == "column" else tuple(commands)
        if any(not counted[name] for name in named):
            return None
        brings = (*self._t.brings[self._side], *self._t.near.get(self._side, ()))
        if any(not self._counted(command, self._side) for command in brings) and self._side in named:
            return None
        return self._contraction(place), self._tasks(counted)

    # --- what grows with the dimension

    def _follows(self) -> bool:
        """True if the dimension is the one along the result's rows, or columns."""
        subscript = self._c.result.subscripts[self._place]
        return subscript.dims <= {self._dim} and not subscript.constant

    def _in_factor(self) -> int | None:
        """The dimension of the factor's tensor that goes along with it; None where the moves do not grow with it."""
        operand = self._c.operands[self._side]
        tensor, moved, stored = operand.tensor, self._t.loads[self._side].piece, self._t.store.piece
        size = min(self._step, self._total)
        if moved is None or stored is None:
            return None
        if self._dense:
            place = len(tensor.shape) - 1
            grows = self._word == "row" and stored.count == size
            grows = grows and stored.stride == self._c.result.tensor.strides[self._place]
        if self._word == "column":
            grows = moved.bytes == size * tensor.element and stored.bytes == size * self._c.result.tensor.element
        elif not self._dense:
            places = [n for n, stride in enumerate(tensor.strides) if stride == moved.stride]
            place = places[0] if places else -1
            grows = place >= 0 and moved.count == stored.count == size
            grows = grows and stored.stride == self._c.result.tensor.strides[self._place]
        if not grows or tensor.shape[place] != self._total:
            return None
        wanted = ((self._dim, self._step),) if self._c.extents[self._dim] > 1 else ()
        return place if operand.subscripts[place] == Subscript(0, wanted) else None

    def _counted(self, command: Command, name: str) -> frozenset[str]:
        """The operands of a command that say how large a tile is along the dimension."""
        moves, size = "left turned" if name == "left" and self._dense else name, min(self._step, self._total)
        found = counted(self._t, command, moves, self._word, self._dim, size)
        every = sizes(self._t.accelerator, command.instruction)
        alone = self._line and len(every) == 1 and all(_is_size(command, name, self._dim, size) for name in every)
        return every if alone else found

    @cached_property
    def _line(self) -> bool:
        """True if a tile is one line: of one element along all other dimensions."""
        result, left = self._c.result.subscripts, self._c.operands["left"].subscripts
        row, column, depth = (self._c.tiled[word] for word in ("row", "column", "depth"))
        factors = {row: result[-2].factor(row), column: result[-1].factor(column)}
        factors[depth] = max(subscript.factor(depth) for subscript in left)
        return all(factor == 1 for dim, factor in factors.items() if dim != self._dim)

    # --- the same with elements

    def _contraction(self, place: int) -> Contraction:
        c = self._c
        dims = tuple(replace(d, extent=self._total) if d.name == self._dim else d for d in c.dims)
        element = Subscript(0, ((self._dim, 1),))

        def along(operand: Operand, at: int) -> Operand:
            subscripts = list(operand.subscripts)
            subscripts[at] = element
            return replace(operand, subscripts=tuple(subscripts))

        added = tuple(self._rescaled(operand) for operand in c.added)
        changed = replace(c, dims=dims, added=added, result=along(c.result, self._place))
        if self._side == "left":
            return replace(changed, left=along(c.left, place))
        return replace(changed, right=along(c.right, place))

    def _rescaled(self, operand: Operand) -> Operand:
        """An operand that results start from: its elements along the dimension, or none of them."""
        subscripts = [
            Subscript(s.constant, tuple((d, f // self._step if d == self._dim else f) for d, f in s.terms))
            for s in operand.subscripts
        ]
        alone = self._c.extents[self._dim] == 1 and len(subscripts) > 1
        if alone and operand.tensor.shape[self._place] == self._total:
            subscripts[self._place] = Subscript(0, ((self._dim, 1),))
        return replace(operand, subscripts=tuple(subscripts))

    def _tasks(self, counted: Mapping[str, frozenset[str]]) -> Tasks:
        t = self._t
        most = min(
            p.high or self._total
            for name, command in (("product", t.product), ("result", t.store), (self._side, t.loads[self._side]))
            for p in command.instruction.parameters
            if p.name in counted[name]
        )

        def open_to(command: Command, name: str) -> Command:
            known = counted.get(name)
            operands = known if known is not None else self._counted(command, "result")
            along = {self._side, "result", *(("start",) if self._word == "column" else ())}
            extent = Extent(self._dim, dense=self._dense and name in along)
            return replace(command, operands={**command.operands, **dict.fromkeys(operands, extent)})

        return replace(
            t,
            loads={o: open_to(c, o) if o == self._side else c for o, c in t.loads.items()},
            brings={o: tuple(open_to(c, o) for c in cs) if o == self._side else cs for o, cs in t.brings.items()},
            near={o: tuple(open_to(c, o) for c in cs) if o == self._side else cs for o, cs in t.near.items()},
            start=None if t.start is None else open_to(t.start, "start"),
            extra=None if t.extra is None else open_to(t.extra, "start"),
            product=open_to(t.product, "product"),
            first=None if t.first is None else open_to(t.first, "product"),
            finish=tuple(open_to(command, "finish") for command in t.finish),
            store=open_to(t.store, "result"),
            rooms={name: self._room(name, room) for name, room in t.rooms.items()},
            sizes={**t.sizes, self._dim: Sized(min(self._step, self._total), most)},
            wide={**t.wide, **self._wide(counted[self._side])},
        )

    def _wide(self, names: frozenset[str]) -> dict[str, Wide]:
        """The load of the factor, where it may bring several tiles whose rows follow one another, in fewer requests."""
        load = self._t.loads[self._side]
        unit = unit_settings(self._t.accelerator, load.instruction)
        known = self._t.rooms[self._side].addressed and not self._t.brings[self._side]
        if (
            not known
            or not self._dense
            or unit.get("kind") != "transfer_in"
            or self._grown(self._side) != (self._dim, 1)
        ):
            return {}
        most = min((p.high or self._total) for p in load.instruction.parameters if p.name in names)
        element = self._c.operands[self._side].tensor.element
        return {self._side: Wide(self._dim, most, unit_number(unit, "request_max") // element)}

    def _room(self, name: str, room: Room) -> Room:
        """A buffer with the rows that a tile has of it. A coordinate may have several, as a row of several groups."""
        grown, size = self._grown(name), min(self._step, self._total)
        several = self._word == "row" and self._t.owner(name) == self._side and not room.rows % size
        if grown is None and room.sized is None and several:
            return replace(room, sized=(self._dim, 1), each=room.rows // size)
        return replace(room, sized=grown)

    def _grown(self, name: str) -> tuple[str, int] | None:
        """The dimension that the rows of a buffer grow with, and the elements that one row holds."""
        room = self._t.rooms[name]
        size = min(self._step, self._total)
        factor = {"left": "right", "right": "left"}[self._side]
        if room.sized is not None or self._t.owner(name) == factor:
            return room.sized
        if self._word == "row":
            grows = self._t.owner(name) == self._side or not self._t.store.given.turned
            return (self._dim, 1) if room.rows == size and grows else None
        if self._t.store.given.turned:
            return (self._dim, 1) if room.rows == size else None
        columns = self._t.accelerator.memory(room.memory).cols
        return (self._dim, columns) if room.rows > 1 and room.rows == -(-size // columns) else None


def counted(tasks: Tasks, command: Command, moves: str, word: str, dim: str, size: int) -> frozenset[str]:
    """The operands of a command that say how large a tile is along a dimension, of rows, columns or depth (`word`). The
    tile has `size` elements along it. `moves`: what the command moves, or product."""
    words = instruction_role(tasks.accelerator, command.instruction).parameters
    names = {p for p in sizes(tasks.accelerator, command.instruction) if _is_size(command, p, dim, size)}
    across = (tasks.store if command.piece is None else command).given.turned
    words = {p: _TURNED.get(one, one) if across else one for p, one in words.items()}
    named = frozenset(p for p in names if _WORDS[moves].get(words[p]) == word)
    unnamed = frozenset(p for p in names if words[p] not in _WORDS[moves])
    return named or (unnamed if len(names) == 1 else frozenset())


def _is_size(command: Command, parameter: str, dim: str, size: int) -> bool:
    """True if an operand of a command is the size of a tile along a dimension."""
    value = command.operands[parameter]
    return (value.usual if isinstance(value, Varied) and value.dim == dim else value) == size


def sizes(accelerator: m.Accelerator, instruction: m.Instruction) -> frozenset[str]:
    """The operands that bound loops of an instruction's semantics."""
    bounds = [bound for write in writes(accelerator, instruction) for bound in write.loops.values()]
    bounds += [b for write in writes(accelerator, instruction) for read in write.reads for b in read.loops.values()]
    parameters = {p.name for p in instruction.parameters if p.kind == "integer"}
    return frozenset(name for bound in bounds for name in names_in(bound)) & parameters
