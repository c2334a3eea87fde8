"""The form of a command: its instruction with all operands and registers but rows and DRAM addresses.

Commands of one form do the same to other places. A form says which transfers they make, and which registers they set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from autocomp.errors import NotApplicable
from autocomp.remember import remembered
from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.derived.meaning import Transfer, UnclearError, transfers
from autocomp.targets.simulator.isa.derived.regions import derive, effects
from autocomp.targets.simulator.isa.derived.roles import instruction_roles
from autocomp.targets.simulator.isa.tree import (
    AddressField,
    Call,
    Expression,
    Name,
    Number,
    Require,
    StateField,
    element_bits,
)
from autocomp.targets.simulator.isa.walk import expressions

Register = tuple[str, int | None, str]  # state record, index, field
Registers = Mapping[Register, int | float]


@dataclass(frozen=True)
class Form:
    """The form of commands that differ only in rows and in DRAM addresses. `operands` are numbers: addresses without
    their row, pointers 1 or (null) 0. `sets` are the registers that become a row, with the operand that names it."""

    instruction: m.Instruction
    operands: Mapping[str, int | float]
    registers: Registers
    transfers: tuple[Transfer, ...]
    sets: Mapping[Register, str]
    accelerator: m.Accelerator = field(repr=False, compare=False)
    unclear: str = ""  # why the transfers are not known

    @property
    def name(self) -> str:
        return self.instruction.name

    @property
    def role(self) -> str:
        """The word that its timing gives it: fence, wait, signal, preload …"""
        return self.instruction.words.get("role", "")

    def evaluate(self, expression: Expression) -> Expression:
        """The expression with operands and registers put in; rows stay open."""
        return algebra.substitute(expression, lambda part: _known(self, part))

    def changed(self, operands: Mapping[str, int | float]) -> Form:
        """The command with other numbers, in the same configuration."""
        return replace(self, operands=operands)

    def number(self, expression: Expression) -> int:
        """The value of an expression that rows have no part in. Raises NotApplicable."""
        value = self.evaluate(expression)
        if not isinstance(value, Number) or isinstance(value.value, float):
            raise NotApplicable(f"what {self.name} touches depends on data")
        return value.value

    def requires(self, operands: Mapping[str, int | float]) -> bool:
        """True if the machine allows these operands in their place, as far as that is known before the data are."""

        def known(part: Expression) -> Expression | None:
            return _lookup(self.accelerator, self.instruction, operands, self.registers, part)

        for statement in self.instruction.body:
            if not isinstance(statement, Require):
                continue
            condition = algebra.substitute(statement.condition, known)
            if isinstance(condition, Number) and not condition.value:
                return False
        return True

    def columns(self, memory: str, operand: str, write: bool) -> list[int] | None:
        """The columns that the command reads or writes at the row that an operand names, by region; None where data
        decide."""
        columns: list[int] = []
        for region in derive(self.accelerator, self.instruction):
            if region.cols is None or (region.memory, region.parameter or "", region.write) != (memory, operand, write):
                continue
            counts = [self.evaluate(count) for count in (region.cols, *(dim.count for dim in region.dims))]
            if not all(isinstance(count, Number) for count in counts):
                return None
            numbers = [int(count.value) for count in counts if isinstance(count, Number)]
            columns += numbers[:1] if all(numbers) else []
        return columns

    def required(self) -> Iterator[Expression]:
        """The parts of the conditions under which the machine takes the command."""
        for statement in self.instruction.body:
            if isinstance(statement, Require):
                yield from algebra.walk(statement.condition)

    def mentioned(self) -> Iterator[StateField]:
        """The registers that the semantics mention."""
        for statement in self.instruction.body:
            for expression in expressions(statement):
                yield from (part for part in algebra.walk(expression) if isinstance(part, StateField))

    @property
    def turned(self) -> bool:
        """True if bytes that follow one another in DRAM go from local row to local row, each into the same column."""
        for transfer in self.transfers:
            sides = [transfer.target, *(moved.source for moved in transfer.moved)]
            local = next((side for side in sides if not side.pointer), None)
            for side in sides:
                if not side.pointer or local is None:
                    continue
                size = Number(element_bits(side.element) // 8)
                dense = [axis for axis, step in side.steps.items() if step.rows == size]
                if any(
                    axis in local.steps and local.steps[axis].rows != algebra.ZERO and not local.steps[axis].columns
                    for axis in dense
                ):
                    return True
        return False

    def space(self, parameter: str) -> m.AddressSpace:
        """The address space of an operand."""
        operand = next(p for p in self.instruction.parameters if p.name == parameter)
        assert operand.space is not None
        return self.accelerator.space(operand.space)


def _known(form: Form, part: Expression) -> Expression | None:
    return _lookup(form.accelerator, form.instruction, form.operands, form.registers, part)


def _lookup(
    accelerator: m.Accelerator,
    instruction: m.Instruction,
    operands: Mapping[str, int | float],
    registers: Registers,
    part: Expression,
) -> Expression | None:
    if isinstance(part, Name):
        if part.name not in operands:
            return None
        pointer = any(p.name == part.name and p.kind == "pointer" for p in instruction.parameters)
        return algebra.SOMEWHERE if pointer and operands[part.name] else Number(operands[part.name])
    if isinstance(part, AddressField):
        name = next(p.space for p in instruction.parameters if p.name == part.parameter)
        assert name is not None
        space, given = accelerator.space(name), int(operands[part.parameter])
        if part.field == "none":
            return Number(int(given == space.none))
        if part.field == space.row_field:
            return None
        high, low = space.field(part.field)
        return Number((given >> low) & ((1 << (high - low + 1)) - 1))
    if isinstance(part, StateField):
        index = None
        if part.index is not None:
            subscript = algebra.substitute(
                part.index, lambda p: _lookup(accelerator, instruction, operands, registers, p)
            )
            if not isinstance(subscript, Number):
                return None
            index = int(subscript.value)
        value = registers.get((part.state, index, part.field))
        return None if value is None else Number(value)
    return None


def form_of(
    accelerator: m.Accelerator,
    instruction: m.Instruction,
    operands: Mapping[str, int | float],
    registers: Registers,
) -> Form:
    """The form that a command takes with these operands and registers. Raises NotApplicable if it cannot be told."""
    form = form_or_unclear(accelerator, instruction, operands, registers)
    if form.unclear:
        raise NotApplicable(form.unclear)
    return form


def form_or_unclear(
    accelerator: m.Accelerator,
    instruction: m.Instruction,
    operands: Mapping[str, int | float],
    registers: Registers,
) -> Form:
    """The form of a command with these operands and registers; `unclear` says why its transfers are not known."""

    def decide(expression: Expression) -> Expression:
        return algebra.substitute(expression, lambda part: _lookup(accelerator, instruction, operands, registers, part))

    moves: tuple[Transfer, ...] = ()
    unclear = ""
    try:
        moves = () if instruction.streams else transfers(accelerator, instruction, decide)
    except UnclearError as error:
        unclear = f"{instruction.name}: {error}"
    _, sets = _after(accelerator, instruction, operands, registers)
    return Form(instruction, dict(operands), dict(registers), moves, sets, accelerator, unclear)


def initial_registers(accelerator: m.Accelerator) -> Registers:
    """The registers before the first command."""
    values: dict[Register, int | float] = {}
    for record in accelerator.states:
        for index in range(record.count) if record.count else (None,):
            values.update({(record.name, index, name): start for name, _, start in record.fields})
    return values


def registers_after(
    accelerator: m.Accelerator,
    instruction: m.Instruction,
    operands: Mapping[str, int | float],
    registers: Registers,
) -> Registers:
    """The registers after a command, without those that hold a row."""
    return _after(accelerator, instruction, operands, registers)[0]


def _after(
    accelerator: m.Accelerator,
    instruction: m.Instruction,
    operands: Mapping[str, int | float],
    registers: Registers,
) -> tuple[Registers, Mapping[Register, str]]:
    """The registers after a command, without those that hold a row, and the operands that set the latter."""
    effects = effects_of(accelerator, instruction)
    if not effects:
        return registers, {}
    changed = dict(registers)
    sets: dict[Register, str] = {}
    for (name, index, part), expression in effects.items():
        place = None
        if index is not None:
            at = algebra.substitute(index, lambda p: _lookup(accelerator, instruction, operands, registers, p))
            if not isinstance(at, Number):
                continue
            place = int(at.value)
        value = algebra.substitute(expression, lambda p: _lookup(accelerator, instruction, operands, registers, p))
        if isinstance(value, Number):
            changed[name, place, part] = value.value
            continue
        changed.pop((name, place, part), None)
        if isinstance(value, Call) and value.function == "wrap":
            value = value.arguments[0]
        if isinstance(value, AddressField):
            sets[name, place, part] = value.parameter
    return changed, sets


def effects_of(
    accelerator: m.Accelerator, instruction: m.Instruction
) -> Mapping[tuple[str, Expression | None, str], Expression]:
    """The registers that an instruction sets, with their new values."""
    return _all_effects(accelerator)[instruction.name]


@remembered
def _all_effects(
    accelerator: m.Accelerator,
) -> Mapping[str, Mapping[tuple[str, Expression | None, str], Expression]]:
    return {i.name: effects(accelerator, i) if not i.streams else {} for i in accelerator.instructions}


def fields_used(accelerator: m.Accelerator, instruction: m.Instruction) -> frozenset[tuple[str, str]]:
    """The fields of state records that an instruction's semantics mention."""
    role = instruction_roles(accelerator)[instruction.name]
    return role.states_read | role.states_written
