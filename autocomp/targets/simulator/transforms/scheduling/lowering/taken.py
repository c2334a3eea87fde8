"""Takes the commands of a contraction of whole tiles from a kernel, with the operands open that say which tile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.derived.roles import instruction_role
from autocomp.targets.simulator.isa.tree import AddressField
from autocomp.targets.simulator.kernel.code.bytecode import POINTER_SHIFT
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Column, Commands
from autocomp.targets.simulator.transforms.scheduling.lifting.tile_roles import Rest, Role, Whole
from autocomp.targets.simulator.transforms.scheduling.lowering.configured import Configuration
from autocomp.targets.simulator.transforms.scheduling.lowering.leaves import Numbers
from autocomp.targets.simulator.transforms.scheduling.lowering.operands import (
    FIRST,
    Element,
    Rows,
    Setting,
    Value,
    Varied,
)
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import (
    Command,
    Filling,
    Parts,
    Pieces,
    Room,
    Tasks,
)
from autocomp.targets.simulator.transforms.scheduling.lowering.variants import once_more


def tasks_of(whole: Whole) -> Tasks:
    """The commands of a contraction. Raises NotApplicable for operands that do not follow from the tile."""
    return _Taker(whole, whole.touches.commands).tasks()


@dataclass
class _Taker:
    whole: Whole
    commands: Commands

    def tasks(self) -> Tasks:
        whole = self.whole
        start = whole.start
        return Tasks(
            self.commands.accelerator,
            self._rooms(),
            {name: self._command(role, whole.of_products, name) for name, role in whole.loads.items()},
            {n: tuple(self._command(r, whole.of_products, "") for r in chain) for n, chain in whole.brings.items()},
            None if start is None else self._command(start, whole.of_results, "start"),
            self._product(),
            tuple(self._command(role, whole.of_results, "") for role in whole.finish),
            self._command(whole.store, whole.of_results, "result"),
            tuple(self._configuration.once()),
            tuple(self._configuration.by_row()),
            next(((f.instruction, f.operands) for f in self.commands.forms if f.role == "fence"), None),
            again=self._again,
            first=self._product(first=True) if self._separate else None,
            interleaved=whole.touches.interleaved,
            extra=None if whole.extra is None else self._command(whole.extra, whole.of_results, "start"),
            filled={name: self._filling(name, rest) for name, rest in whole.rests.items() if rest is not Rest.NONE},
        )

    @property
    def _separate(self) -> bool:
        """True if an instruction of its own makes the first product of each result, and there are others."""
        firsts = self.whole.firsts
        return firsts is not None and len(firsts) < len(self.whole.product.parts)

    def _product(self, *, first: bool = False) -> Command:
        """The product; where an instruction of its own makes the first of a result, that or all others."""
        whole = self.whole
        if not self._separate:
            return self._command(whole.product, whole.of_products, "")
        assert whole.firsts is not None
        chosen = whole.firsts if first else np.setdiff1d(np.arange(len(whole.product.parts)), whole.firsts)
        rows = {buffer: (touch, accesses[chosen]) for buffer, (touch, accesses) in whole.product.rows.items()}
        at = {dim: values[chosen] for dim, values in whole.of_products.items()}
        return self._command(Role(whole.product.parts[chosen], rows), at, "")

    @cached_property
    def _again(self) -> Numbers:
        """The operands with which a product multiplies by the tile of a queue that the one before it took."""
        if self._rooms()["right"].addressed:
            return {}
        numbers = np.unique(self.commands.form[self.whole.product.commands])
        forms = [self.commands.forms[int(number)] for number in numbers]
        once_again = once_more(forms[0])
        taking = [form for form in forms if any(form.operands[name] != value for name, value in once_again.items())]
        return once_again if all(once_more(form) == once_again for form in taking) else {}

    def _roles(self) -> Iterator[Role]:
        whole = self.whole
        yield from (*whole.loads.values(), *(role for chain in whole.brings.values() for role in chain))
        yield from (role for role in (whole.start, whole.extra) if role is not None)
        yield from (whole.product, *whole.finish, whole.store)

    def _rooms(self) -> dict[str, Room]:
        rooms: dict[str, Room] = {}
        first, last = self.whole.touches.first, self.whole.touches.last
        for role in self._roles():
            for buffer, (touch, accesses) in role.rows.items():
                ends = np.where(accesses >= 0, last[accesses], 0).max(axis=1)
                rows = int((ends - first[accesses[:, 0]]).max())
                known = rooms.get(buffer, Room(touch.memory, rows, bool(touch.operand)))
                if known.memory != touch.memory or known.addressed != bool(touch.operand):
                    raise NotApplicable(f"tiles of {buffer} lie in several memories")
                rooms[buffer] = Room(known.memory, max(rows, known.rows), known.addressed)
        hidden = {name for name, room in rooms.items() if not room.addressed}
        unknown = sorted(name for name in hidden if not self._in_order(name))
        if unknown:
            raise NotApplicable(f"no operand says where {unknown[0]} lies")
        return rooms

    def _in_order(self, buffer: str) -> bool:
        """True if a buffer without addresses holds its tiles in the order in which they come, and tiles that move on to
        it lie in the same place each."""
        whole = self.whole
        if buffer not in whole.loads:
            return any(buffer in role.rows for role in whole.finish)
        _, accesses = whole.product.rows[buffer]
        return not whole.brings[buffer] or len(np.unique(whole.touches.first[accesses[:, 0]])) == 1

    def _filling(self, name: str, rest: Rest) -> Filling:
        """The loads that fill what one of a short tile of an operand leaves."""
        role = self.whole.loads[name]
        touch, accesses = role.rows[name] if name in role.rows else next(iter(role.rows.values()))
        form = self.commands.forms[int(self.commands.form[role.commands[0]])]
        words = instruction_role(self.commands.accelerator, form.instruction)
        rows = words.named("rows")
        placed = any(isinstance(part, AddressField) for part in form.required())
        whole = int((self.whole.touches.last[accesses[:, 0]] - self.whole.touches.first[accesses[:, 0]]).max())
        if rest is not Rest.ROWS or len(rows) != 1 or placed or form.operands[rows[0]] != whole:
            return Filling()
        least = {p.name: max(1, p.low or 1) for p in form.instruction.parameters if p.name in words.named("cols")}
        fewer = form.changed({**form.operands, **least})
        alike = (one.columns(touch.memory, touch.operand, write=True) for one in (form, fewer))
        return Filling(rows[0], least if next(alike) == next(alike) else {})

    # --- operands

    def _command(self, role: Role, coordinates: Mapping[str, Column], pointer: str) -> Command:
        numbers = np.unique(self.commands.form[role.parts[role.parts >= 0]])
        forms = [self.commands.forms[int(n)] for n in numbers]
        instruction = forms[0].instruction
        if any(form.instruction is not instruction for form in forms):
            raise NotApplicable("tiles of one kind are moved by several instructions")
        operands = {p.name: self._value(role, p, coordinates, pointer) for p in instruction.parameters}
        parts = self._parts(role, operands, coordinates)
        return Command(instruction, operands, self._piece(role), forms[0], parts, self._before(role, coordinates))

    def _before(self, role: Role, coordinates: Mapping[str, Column]) -> tuple[Setting, ...]:
        """The configuration that the commands of a role need where it changes from tile to tile."""

        def by_tile(parameter: m.Parameter, values: Column) -> Value:
            name = f"the operand {parameter.name!r} of a setting"
            return self._by_tile(role, values, coordinates, name, self._number(parameter))

        return self._configuration.before(role, by_tile)

    @cached_property
    def _configuration(self) -> Configuration:
        return Configuration(self.whole, tuple(self._roles()))

    def _parts(self, role: Role, operands: Mapping[str, Value], coordinates: Mapping[str, Column]) -> Parts | None:
        """The difference of the commands of a tile from its first one."""
        if role.parts.shape[1] == 1:
            return None
        count = self._by_tile(role, (role.parts >= 0).sum(axis=1), coordinates, "the number of commands", int)
        assert not isinstance(count, float)
        steps: dict[str, int] = {}
        for parameter in self.commands.forms[int(self.commands.form[role.commands[0]])].instruction.parameters:
            step = self._step(role, parameter)
            if step and not isinstance(operands[parameter.name], Rows | Element):
                raise NotApplicable(f"the operand {parameter.name!r} differs among the commands of a tile")
            steps[parameter.name] = step
        return Parts(count, {name: step for name, step in steps.items() if step})

    def _step(self, role: Role, parameter: m.Parameter) -> int:
        """The growth of an operand from one command of a tile to the next."""
        first = self._places(role.commands, parameter)
        steps: set[int] = set()
        for number in range(1, role.parts.shape[1]):
            others = role.parts[:, number]
            apart = self._places(others[others >= 0], parameter) - first[others >= 0]
            steps |= set((apart // number).tolist()) if not (apart % number).any() else {-1}
        step = steps.pop()
        if steps or not 0 <= step < 1 << POINTER_SHIFT:  # others lie in other tensors
            raise NotApplicable(f"the operand {parameter.name!r} differs among the commands of a tile")
        return step

    def _places(self, commands: Column, parameter: m.Parameter) -> Column:
        """An operand of commands; for an address the number of its row."""
        values = self._column(commands, parameter.name)
        if parameter.space is None:
            return values
        space = self.commands.accelerator.space(parameter.space)
        high, low = space.field(space.row_field)
        return self._numbered(space, (values >> low) & ((1 << (high - low + 1)) - 1))

    def _numbered(self, space: m.AddressSpace, rows: Column) -> Column:
        """The numbers of rows of an address space."""
        known = [lines for name, lines in self.whole.touches.interleaved.items() if name in _memories(space)]
        if known and len(_memories(space)) > 1:
            raise NotApplicable(f"addresses of {space.name} name rows of several memories, and some are interleaved")
        return known[0].numbers(rows) if known else rows

    def _value(self, role: Role, parameter: m.Parameter, coordinates: Mapping[str, Column], pointer: str) -> Value:
        values = self._column(role.commands, parameter.name)
        if parameter.kind == "address":
            return self._rows(role, parameter, values)
        if parameter.kind == "pointer" and values.any():
            if not pointer:
                raise NotApplicable(f"a command between loads and stores has the pointer {parameter.name!r}")
            return Element(pointer)
        number = self._number(parameter)
        if role is self.whole.product and parameter.name in self._again:
            values = values[:1]  # the first product takes a tile from the queue
        return self._by_tile(role, values, coordinates, f"the operand {parameter.name!r}", number)

    def _by_tile(
        self,
        role: Role,
        values: Column,
        coordinates: Mapping[str, Column],
        name: str,
        number: Callable[[int], int | float],
    ) -> int | float | Varied:
        """One number for all tiles, or another one where a condition holds."""
        distinct = np.unique(values)
        if len(distinct) == 1:
            return number(distinct[0])
        for dim, special in self._conditions(role, coordinates):
            chosen, others = np.unique(values[special]), np.unique(values[~special])
            if len(chosen) == len(others) == 1:
                return Varied(dim, number(chosen[0]), number(others[0]))
        raise NotApplicable(f"{name} differs from tile to tile")

    @staticmethod
    def _number(parameter: m.Parameter) -> Callable[[int], int | float]:
        return (lambda v: algebra.bits_to_float(int(v))) if parameter.kind == "float" else int

    def _column(self, commands: Column, parameter: str) -> Column:
        """An operand of commands of one instruction."""
        values = np.empty(len(commands), dtype=np.int64)
        for number in np.unique(self.commands.form[commands]):
            chosen = self.commands.form[commands] == number
            values[chosen] = self.commands.operand(commands[chosen], parameter)
        return values

    def _conditions(self, role: Role, coordinates: Mapping[str, Column]) -> Iterator[tuple[str, np.ndarray]]:
        """Conditions that an operand may depend on: the last tile of a dimension, and of products, before that, the
        first one of a result."""
        computation = self.whole.computation
        if role is self.whole.product and any(dim in coordinates for dim in computation.reduction):
            result = np.zeros(len(role.commands), dtype=np.int64)
            for dim in computation.parallel:
                result = result * computation.extents[dim] + coordinates.get(dim, np.zeros_like(result))
            yield FIRST, _first_of_each(result, role.commands)
        for dim, values in coordinates.items():
            yield dim, values >= computation.extents[dim] - (2 if dim in self.whole.halves else 1)

    def _rows(self, role: Role, parameter: m.Parameter, values: Column) -> Value:
        assert parameter.space is not None
        space = self.commands.accelerator.space(parameter.space)
        high, low = space.field(space.row_field)
        mask = ((1 << (high - low + 1)) - 1) << low
        flags = np.unique(values & 0xFFFFFFFF & ~mask)
        if len(flags) > 1:
            raise NotApplicable(f"the address {parameter.name!r} differs from tile to tile in more than its row")
        rows = self._numbered(space, (values & mask) >> low)
        named = [(b, t, a) for b, (t, a) in role.rows.items() if t.operand == parameter.name]
        here = _memories(space)
        held = {b: (t, a) for b, (t, a) in role.rows.items() if t.memory in here}
        first = self.whole.touches.first
        alike = [(b, t, a) for b, (t, a) in held.items() if (first[a[:, 0]] == rows).all()]
        for buffer, _, accesses in named or alike:
            if ((first[accesses[:, 0]] != rows) & (accesses[:, 0] >= 0)).any():
                raise NotApplicable(f"tiles do not begin at the row that {parameter.name!r} names")
            return Rows(buffer, int(flags[0]), space)
        if len(np.unique(rows)) == 1:
            return int(np.unique(values)[0])
        raise NotApplicable(f"it is not seen what lies at the row that {parameter.name!r} names")

    def _piece(self, role: Role) -> Pieces | None:
        """The pieces in DRAM that the largest of some commands moves."""
        number = int(self.commands.form[role.commands[0]])
        dram = [t for t in self.whole.touches.forms[number] if t.memory == self.commands.accelerator.dram.name]
        return Pieces(*self.whole.touches.pieces(dram[0])) if dram else None


def _memories(space: m.AddressSpace) -> set[str]:
    return {memory for memory, _, _ in space.memories}


def _first_of_each(result: Column, commands: Column) -> np.ndarray:
    """For each product: True if it is the first one of its result."""
    order = np.argsort(commands, kind="stable")
    _, first = np.unique(result[order], return_index=True)
    chosen = np.zeros(len(commands), dtype=bool)
    chosen[order[first]] = True
    return chosen
