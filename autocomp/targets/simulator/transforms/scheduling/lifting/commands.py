"""The commands that a kernel issues, each with the form of its instruction that it takes.

Control flow does not depend on data, so one run tells all commands. Commands that differ in nothing but where they read
and write have the same form: there are few forms, and what is done to millions of commands is done in columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from autocomp.errors import KernelError, NotApplicable
from autocomp.remember import remembered
from autocomp.simulator import NARROW_FLOATS, Accesses, SimulationOptions, _core, replay_trace, run_program
from autocomp.targets.simulator import isa
from autocomp.targets.simulator import kernel as dialect
from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.derived.meaning import Transfer, UnclearError, transfers
from autocomp.targets.simulator.isa.derived.regions import effects
from autocomp.targets.simulator.isa.derived.roles import instruction_roles
from autocomp.targets.simulator.isa.tree import AddressField, Call, Expression, Name, Number, Require, StateField
from autocomp.targets.simulator.isa.walk import expressions
from autocomp.targets.simulator.kernel.code.bytecode import POINTER_SHIFT, Code, CompiledTensor
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.scheduling.lifting.tokens import without_tokens

Column = npt.NDArray[np.int64]
Register = tuple[str, int | None, str]  # state record, index, field
Registers = Mapping[Register, int | float]

MAX_STEPS = 1 << 26  # of the host's code
MAX_COMMANDS = 4_000_000


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

    def mentioned(self) -> Iterator[StateField]:
        """The registers that the semantics mention."""
        for statement in self.instruction.body:
            for expression in expressions(statement):
                yield from (part for part in algebra.walk(expression) if isinstance(part, StateField))

    def space(self, parameter: str) -> m.AddressSpace:
        """The address space of an operand."""
        operand = next(p for p in self.instruction.parameters if p.name == parameter)
        assert operand.space is not None
        return self.accelerator.space(operand.space)


@dataclass(frozen=True)
class Commands:
    """All commands of a run, in order: the number of each one's form, and its operands in columns."""

    accelerator: m.Accelerator
    forms: tuple[Form, ...]
    form: Column
    first: Column
    arguments: Column
    tensors: tuple[CompiledTensor, ...]
    trace: _core.Trace = field(repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.form)

    def of(self, form: int) -> Column:
        """The numbers of the commands of a form."""
        return np.flatnonzero(self.form == form)

    def operand(self, commands: Column, parameter: str) -> Column:
        """An operand of commands of one instruction."""
        parameters = self.forms[self.form[commands[0]]].instruction.parameters if len(commands) else ()
        position = next((n for n, p in enumerate(parameters) if p.name == parameter), 0)
        return self.arguments[self.first[commands] + position]

    def row(self, commands: Column, parameter: str) -> Column:
        """The local row that an address operand names."""
        if not len(commands):
            return commands
        high, low = self.forms[self.form[commands[0]]].space(parameter).field("row")
        rows: Column = (self.operand(commands, parameter) >> low) & ((1 << (high - low + 1)) - 1)
        return rows

    def place(self, commands: Column, parameter: str) -> tuple[Column, Column]:
        """The tensor, by its number, and the byte that a pointer operand names."""
        value = self.operand(commands, parameter)
        return (value >> POINTER_SHIFT) - 1, value & ((1 << POINTER_SHIFT) - 1)

    @cached_property
    def setters(self) -> Mapping[Register, Column]:
        """For each register that holds a row: the command before each command that set it last, or -1."""
        commands: dict[Register, Column] = {}
        numbers = np.arange(len(self))
        for register in {register for form in self.forms for register in form.sets}:
            sets = np.array([register in form.sets for form in self.forms], dtype=bool)[self.form]
            last = np.maximum.accumulate(np.where(sets, numbers, -1))
            commands[register] = np.concatenate(([-1], last[:-1]))
        return commands

    @cached_property
    def accesses(self) -> Accesses:
        """The reads and writes of each command, as the simulator saw them."""
        options = SimulationOptions(record_detail=True, requirements=False)
        replayed = replay_trace(isa.lower(self.accelerator).machine, self.trace, options)
        if replayed.error is not None or replayed.accesses is None:
            raise NotApplicable("the commands do not run by themselves")
        return replayed.accesses

    def base(self, commands: Column, form: Form, expression: Expression) -> Column:
        """The value of a row expression for commands of a form: a constant, or one row and a constant."""
        symbols = {part for part in algebra.walk(expression) if _is_row(form, part)}
        offset = form.number(algebra.substitute(expression, lambda part: algebra.ZERO if part in symbols else None))
        if not symbols:
            return np.full(len(commands), offset)
        if len(symbols) > 1:
            raise NotApplicable(f"{form.name} adds two addresses")
        symbol = symbols.pop()
        if isinstance(symbol, AddressField):
            return self.row(commands, symbol.parameter) + offset
        assert isinstance(symbol, StateField)
        register = (symbol.state, None, symbol.field)
        setters = self.setters[register][commands]
        rows = np.empty(len(commands), dtype=np.int64)
        for number in np.unique(self.form[setters]):
            chosen = self.form[setters] == number
            rows[chosen] = self.row(setters[chosen], self.forms[number].sets[register])
        return rows + offset


def _is_row(form: Form, part: Expression) -> bool:
    """True if a part of an expression is a row that differs from command to command."""
    if isinstance(part, AddressField):
        return part.field == form.space(part.parameter).row_field
    return isinstance(part, StateField) and part.index is None and (part.state, None, part.field) not in form.registers


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


def commands_of(kernel: ast.Kernel, accelerator: m.Accelerator, constants: Mapping[str, int | float]) -> Commands:
    """The commands that a kernel issues. Raises NotApplicable if the host computes on data, or it does not run."""
    try:
        checked = dialect.check(kernel, accelerator, constants)
    except KernelError as error:
        raise NotApplicable(str(error)) from None
    if {Code.Load, Code.Store, Code.HostCall} & set(checked.program.code[:, 0].tolist()):
        raise NotApplicable("the host reads or writes elements of tensors")
    tables = isa.lower(accelerator)
    tensors = {t.name: np.zeros(t.shape, array_type(t.dtype)) for t in checked.parameters}
    options = SimulationOptions(timing=False, record_trace=True, max_steps=MAX_STEPS)
    run = run_program(tables.machine, dialect.link(checked.program, tables), tensors, options)
    if run.error is not None:
        raise NotApplicable(f"line {run.error.line}: {run.error.message}")
    if run.command_count > MAX_COMMANDS:
        raise NotApplicable(
            f"the kernel issues {run.command_count} commands, more than {MAX_COMMANDS} are not followed"
        )
    trace = run.trace
    assert isinstance(trace, _core.Trace)
    if run.command_count != len(trace):  # hardware loops: what they send
        options = SimulationOptions(timing=False, record_trace=True, requirements=False)
        trace = replay_trace(tables.machine, trace, options).trace
        assert isinstance(trace, _core.Trace)
    instruction, first, arguments, _ = trace.columns(tables.machine)
    arguments = without_tokens(accelerator, instruction, first, arguments)
    signatures, given = _signatures(accelerator, instruction, first, arguments)
    walker = _Forms(accelerator, given)
    form = walker.follow(signatures)
    return Commands(accelerator, tuple(walker.forms), form, first, arguments, checked.program.tensors, trace)


def array_type(element: str) -> np.dtype:
    """The NumPy type of an element type."""
    narrow = NARROW_FLOATS.get(element)
    return np.dtype(narrow or f"{element[0]}{int(element[1:]) // 8}")


Signature = tuple[m.Instruction, Mapping[str, int | float]]


def _signatures(
    accelerator: m.Accelerator, instruction: Column, first: Column, arguments: Column
) -> tuple[Column, list[Signature]]:
    """For each command the number of its instruction and operands, rows and pointers left out; and what these are."""
    signatures = np.zeros(len(instruction), dtype=np.int64)
    given: list[Signature] = []
    for number in np.unique(instruction):
        table = accelerator.instructions[number]
        chosen = np.flatnonzero(instruction == number)
        matrix = arguments[first[chosen][:, None] + np.arange(len(table.parameters))[None, :]]
        for position, parameter in enumerate(table.parameters):
            matrix[:, position] = _without_place(accelerator, parameter, matrix[:, position])
        unique, inverse = _unique_rows(matrix)
        signatures[chosen] = inverse + len(given)
        given.extend((table, dict(_operands(table, row))) for row in unique)
    return signatures, given


def _unique_rows(matrix: Column) -> tuple[Column, Column]:
    """The distinct rows of a matrix, and which of them each row is."""
    if not matrix.shape[1]:
        return matrix[:1], np.zeros(len(matrix), dtype=np.int64)
    key = np.zeros(len(matrix), dtype=np.int64)
    for column in matrix.T:
        values, codes = np.unique(column, return_inverse=True)
        key = key * len(values) + codes
        _, key = np.unique(key, return_inverse=True)
    _, index, inverse = np.unique(key, return_index=True, return_inverse=True)
    return matrix[index], inverse


def _without_place(accelerator: m.Accelerator, parameter: m.Parameter, values: Column) -> Column:
    if parameter.kind == "pointer":
        return np.asarray(values != 0, dtype=np.int64)
    if parameter.kind == "address":
        assert parameter.space is not None
        space = accelerator.space(parameter.space)
        high, low = space.field(space.row_field)
        values = values & 0xFFFFFFFF
        rows = ((1 << (high + 1)) - 1) & ~((1 << low) - 1)
        return np.where(values == (-1 if space.none is None else space.none), values, values & ~rows)
    return values


def _operands(table: m.Instruction, row: Column) -> Iterator[tuple[str, int | float]]:
    for parameter, value in zip(table.parameters, row.tolist(), strict=True):
        yield parameter.name, algebra.bits_to_float(value) if parameter.kind == "float" else value


class _Forms:
    """Follows the configuration through the commands: a command's form depends on what it is and on the registers."""

    def __init__(self, accelerator: m.Accelerator, given: list[Signature]) -> None:
        self._accelerator = accelerator
        self._given = given
        self._states: dict[tuple[tuple[Register, int | float], ...], int] = {}
        self._registers: list[Registers] = []
        self._next: list[tuple[int, int]] = []  # by state and signature: form, next state
        self.forms: list[Form] = []
        self._known: dict[tuple[int, tuple[object, ...]], int] = {}

    def follow(self, signatures: Column) -> Column:
        """The number of each command's form."""
        state = self._state(initial_registers(self._accelerator))
        numbers = np.empty(len(signatures), dtype=np.int64)
        taken: dict[tuple[int, int], tuple[int, int]] = {}
        for number, signature in enumerate(signatures.tolist()):
            key = (state, signature)
            outcome = taken.get(key)
            if outcome is None:
                outcome = taken[key] = self._outcome(state, signature)
            numbers[number], state = outcome
        return numbers

    def _state(self, registers: Registers) -> int:
        key = tuple(sorted(registers.items(), key=repr))
        if key not in self._states:
            self._states[key] = len(self._registers)
            self._registers.append(registers)
        return self._states[key]

    def _outcome(self, state: int, signature: int) -> tuple[int, int]:
        """The form of a command, and the state after it."""
        instruction, operands = self._given[signature]
        registers = self._registers[state]
        used = _used(self._accelerator, instruction)
        known = (
            signature,
            tuple(registers.get(register) for register in registers if (register[0], register[2]) in used),
        )
        changed, sets = _after(self._accelerator, instruction, operands, registers)
        if known not in self._known:
            self._known[known] = len(self.forms)
            self.forms.append(_form(self._accelerator, instruction, operands, registers, sets))
        return self._known[known], self._state(changed)


def form_of(
    accelerator: m.Accelerator,
    instruction: m.Instruction,
    operands: Mapping[str, int | float],
    registers: Registers,
) -> Form:
    """The form that a command takes with these operands and registers. Raises NotApplicable if it cannot be told."""
    _, sets = _after(accelerator, instruction, operands, registers)
    form = _form(accelerator, instruction, operands, registers, sets)
    if form.unclear:
        raise NotApplicable(form.unclear)
    return form


def _form(
    accelerator: m.Accelerator,
    instruction: m.Instruction,
    operands: Mapping[str, int | float],
    registers: Registers,
    sets: Mapping[Register, str],
) -> Form:

    def decide(expression: Expression) -> Expression:
        return algebra.substitute(expression, lambda part: _lookup(accelerator, instruction, operands, registers, part))

    moves: tuple[Transfer, ...] = ()
    unclear = ""
    try:
        moves = () if instruction.streams else transfers(accelerator, instruction, decide)
    except UnclearError as error:
        unclear = f"{instruction.name}: {error}"
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


def _used(accelerator: m.Accelerator, instruction: m.Instruction) -> frozenset[tuple[str, str]]:
    """The fields of state records that an instruction's semantics mention."""
    role = instruction_roles(accelerator)[instruction.name]
    return role.states_read | role.states_written
