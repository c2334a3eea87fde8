"""The configuration that the commands of a contraction need: once, for the rows of a tile, or again where it changes.

A register that has one value in the whole kernel is set at the beginning. One that commands choose by the row of a tile
is set for each row in use. One that changes from tile to tile, such as the size that all loads share, is set anew: in
front of each command whose semantics or timing mention it. A record that changes is set before what fills its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.tree import AddressField, Expression, Name, Number, StateField
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Column
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Form, effects_of
from autocomp.targets.simulator.transforms.scheduling.lifting.tile_roles import Role, Whole
from autocomp.targets.simulator.transforms.scheduling.lowering.leaves import Numbers
from autocomp.targets.simulator.transforms.scheduling.lowering.operands import ROW, Record, Setting, Value
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import RowSetting, record_of

_Register = tuple[str, str]  # a state record without an index, and its field
ByTile = Callable[[m.Parameter, Column], Value]  # an operand from its values, one for each command of a role


@dataclass
class Configuration:
    """The commands of a kernel that set registers and touch no memory. `roles`: all that is done to tiles."""

    whole: Whole
    roles: Sequence[Role]

    # --- once

    def once(self) -> Iterator[tuple[m.Instruction, Numbers]]:
        """The configuration that is made at the beginning."""
        by_row = {name for name, _, _, _ in self._indexed()}
        seen: set[str] = set()
        for form in self._configuring:
            if any(name in by_row for name, _, _ in self._effects(form)):
                continue
            if form.name not in {one.name for one in self._setters}:
                yield form.instruction, form.operands
            elif form.name not in seen:  # its other registers may be needed before the first tile is
                seen.add(form.name)
                yield form.instruction, form.operands

    @cached_property
    def _configuring(self) -> Sequence[Form]:
        touched = self.whole.touches.forms
        forms = enumerate(self.whole.touches.commands.forms)
        return [form for number, form in forms if self._effects(form) and not touched[number]]

    @cached_property
    def _changes(self) -> frozenset[tuple[str, str, bool]]:
        """The fields that change, and True for those of several records. Raises NotApplicable for unseen changes."""
        known: dict[tuple[str, int | None, str], int | float] = {}
        changing: set[tuple[str, str, bool]] = set()
        for form in self._configuring:
            for (name, index, part), value in self._effects(form).items():
                place, constant = _place(form, index), form.evaluate(value)
                if not isinstance(constant, Number):
                    raise NotApplicable(f"{form.name} changes what it has set before")
                if known.setdefault((name, place, part), constant.value) != constant.value:
                    changing.add((name, part, place is not None))
        return frozenset(changing)

    @property
    def _changing(self) -> frozenset[_Register]:
        return frozenset((name, part) for name, part, _ in self._changes)

    def _effects(self, form: Form) -> Mapping[tuple[str, Expression | None, str], Expression]:
        return effects_of(self.whole.touches.commands.accelerator, form.instruction)

    # --- where it changes

    def before(self, role: Role, by_tile: ByTile) -> tuple[Setting, ...]:
        """The settings in front of the commands of a role: what these need of the registers that change. A record is
        set where its tile comes."""
        needed = self._needed(role)
        alone = [self._setting(form, role, needed, by_tile) for form in self._setters if self._sets(form, needed)]
        return (*alone, *self._of_records(role, by_tile))

    def _of_records(self, role: Role, by_tile: ByTile) -> Iterator[Setting]:
        several = {name for name, _, several in self._changes if several}
        started = role is self.whole.product and self.whole.start is not None
        filled = {buffer: rows for buffer, rows in role.rows.items() if rows[0].write and not started}
        for state, buffer, index, _ in self._indexed() if several else ():
            if state not in several or buffer not in filled:
                continue
            records = self._records(index, self.whole.touches.first[filled[buffer][1][:, 0]])
            for form in self._setters:
                selectors = {
                    place.name for name, place, _ in self._effects(form) if isinstance(place, Name) and name == state
                }
                if selectors:
                    per = _rows_of_record(index, self._memory_rows(filled[buffer][0].memory))
                    yield self._of_record(form, role, records, Record(buffer, per), selectors.pop(), by_tile)

    def _of_record(
        self, form: Form, role: Role, records: Column, record: Record, selector: str, by_tile: ByTile
    ) -> Setting:
        """A setting of the record that each command of a role needs, as the kernel makes it."""
        commands = self.whole.touches.commands
        last = np.full(len(records), -1, dtype=np.int64)
        for one in np.unique(records):
            own = [f.name == form.name and f.operands[selector] == one for f in commands.forms]
            chosen = records == one
            last[chosen] = self._last(np.array(own, dtype=bool))[role.commands[chosen]]
        if (last < 0).any():
            raise NotApplicable(f"some commands come before the first {form.name}")
        others = (p for p in form.instruction.parameters if p.name != selector)
        values = {p.name: by_tile(p, commands.operand(last, p.name)) for p in others}
        return Setting(form.instruction, {selector: record, **values})

    def _last(self, own: np.ndarray) -> Column:
        """For each command the one of some forms before it, or -1."""
        commands = self.whole.touches.commands
        last: Column = np.maximum.accumulate(np.where(own[commands.form], np.arange(len(commands)), -1))
        return last

    def _records(self, index: Expression, rows: Column) -> Column:
        known = {row: record_of(index, row) for row in np.unique(rows).tolist()}
        return np.array([known[row] for row in rows.tolist()], dtype=np.int64)

    def _memory_rows(self, memory: str) -> int:
        return self.whole.touches.commands.accelerator.memory(memory).rows

    @cached_property
    def _setters(self) -> Sequence[Form]:
        """The instructions that set what changes, each by one of its forms."""
        forms = {form.name: form for form in self._configuring if self._sets(form, self._changing)}
        for register in sorted(self._changing):
            if len(by := [name for name, form in forms.items() if self._sets(form, frozenset({register}))]) > 1:
                raise NotApplicable(f"{' and '.join(sorted(by))} both change {'.'.join(register)}")
        return list(forms.values())

    def _sets(self, form: Form, registers: frozenset[_Register]) -> bool:
        return any((name, part) in registers for name, _, part in self._effects(form))

    def _needed(self, role: Role) -> frozenset[_Register]:
        """The registers that change and that commands of a role mention."""
        commands = self.whole.touches.commands
        mentioned: set[_Register] = set()
        for number in np.unique(commands.form[role.parts[role.parts >= 0]]):
            form = commands.forms[int(number)]
            timed = (part for words in form.instruction.timing.values() for part in algebra.walk(words))
            parts = [*form.mentioned(), *(part for part in timed if isinstance(part, StateField))]
            mentioned |= {(part.state, part.field) for part in parts if part.index is None}
        return self._changing & mentioned

    def _setting(self, form: Form, role: Role, needed: frozenset[_Register], by_tile: ByTile) -> Setting:
        """A setting with the operands that the kernel gives it; of those that a role does not need, the largest."""
        commands = self.whole.touches.commands
        last = self._last(np.array([one.name == form.name for one in commands.forms], dtype=bool))[role.parts]
        if (last < 0).any():
            raise NotApplicable(f"some commands come before the first {form.name}")
        effects = self._effects(form).items()
        saying = {n for (name, _, part), e in effects if (name, part) in needed for n in algebra.names_in(e)}
        operands: dict[str, Value] = {}
        for parameter in form.instruction.parameters:
            if parameter.name in saying:
                values = commands.operand(last.reshape(-1), parameter.name).reshape(last.shape)
                if ((values != values[:, :1]) & (role.parts >= 0)).any():
                    raise NotApplicable(f"{form.name} changes among the commands of a tile")
                operands[parameter.name] = by_tile(parameter, values[:, 0])
            else:
                operands[parameter.name] = max(
                    f.operands[parameter.name] for f in self._configuring if f.name == form.name
                )
        return Setting(form.instruction, operands)

    # --- by the rows of tiles

    def by_row(self) -> Iterator[RowSetting]:
        """The configuration that each tile of a buffer needs."""
        changing = {name for name, _, several in self._changes if several}
        for state, buffer, index, row in self._indexed():
            if state in changing:
                continue
            at = record_of(index, row)
            for form in self._configuring:
                for (name, place, _), _ in self._effects(form).items():
                    if name != state or not isinstance(place, Name) or _place(form, place) != at:
                        continue
                    operands = {n: v for n, v in form.operands.items() if n != place.name}
                    yield RowSetting(buffer, form.instruction, operands, place.name, index)
                    break
                else:
                    continue
                break

    def _indexed(self) -> Iterator[tuple[str, str, Expression, int]]:
        """The records that commands choose by the row of a tile: the record, the buffer, its index from the row, and a
        row that the kernel uses."""
        seen: set[tuple[str, str]] = set()
        commands = self.whole.touches.commands
        for role in self.roles:
            form = commands.forms[int(commands.form[role.commands[0]])]
            for part in form.mentioned():
                fields = {f for f in algebra.walk(part.index) if isinstance(f, AddressField)} if part.index else set()
                if len(fields) != 1:
                    continue
                (field,) = fields
                assert part.index is not None
                for buffer, (touch, accesses) in role.rows.items():
                    if touch.operand == field.parameter and (part.state, buffer) not in seen:
                        if touch.memory in self.whole.touches.interleaved:
                            raise NotApplicable(f"the rows of {touch.memory} that choose a record are not side by side")
                        seen.add((part.state, buffer))
                        row = int(self.whole.touches.first[accesses[0, 0]])
                        yield part.state, buffer, _along_rows(part.index, field), row


def _place(form: Form, index: Expression | None) -> int | None:
    if index is None:
        return None
    value = form.evaluate(index)
    if not isinstance(value, Number):
        raise NotApplicable(f"it is not seen what {form.name} configures")
    return int(value.value)


def _along_rows(index: Expression, field: AddressField) -> Expression:
    """An index with the row of an address replaced by the name `ROW`."""
    return algebra.substitute(index, lambda part: Name(ROW) if part == field else None)


def _rows_of_record(index: Expression, rows: int) -> int:
    """The rows of a memory that one record is for. Raises NotApplicable where these differ."""
    records = [record_of(index, row) for row in range(rows)]
    size = records.index(1) if 1 in records else rows
    if records != [row // size for row in range(rows)]:
        raise NotApplicable("records are not for equally many rows each")
    return size
