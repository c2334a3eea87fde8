"""The commands that a kernel issues, each with the form of its instruction that it takes.

Control flow does not depend on data, so one run tells all commands. Commands that differ in nothing but where they read
and write have the same form: there are few forms, and what is done to millions of commands is done in columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
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
from autocomp.targets.simulator.isa.derived.engines import engines
from autocomp.targets.simulator.isa.tree import AddressField, Expression, StateField
from autocomp.targets.simulator.kernel.code.bytecode import POINTER_SHIFT, CompiledTensor
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import (
    Form,
    Register,
    Registers,
    fields_used,
    form_or_unclear,
    initial_registers,
    registers_after,
)
from autocomp.targets.simulator.transforms.scheduling.lifting.one_core import on_one_core
from autocomp.targets.simulator.transforms.scheduling.lifting.tokens import without_tokens

Column = npt.NDArray[np.int64]
MAX_STEPS = 1 << 26  # of the host's code
MAX_COMMANDS = 4_000_000


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
            reason = "" if replayed.error is None else f": {replayed.error.message}"
            raise NotApplicable(f"the commands do not run by themselves{reason}")
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


def commands_of(kernel: ast.Kernel, accelerator: m.Accelerator, constants: Mapping[str, int | float]) -> Commands:
    """The commands that a kernel issues. Raises NotApplicable if the host computes on data, or it does not run."""
    try:
        checked = dialect.check(kernel, accelerator, constants)
    except KernelError as error:
        raise NotApplicable(str(error)) from None
    tables = isa.lower(accelerator)
    tensors = {t.name: np.zeros(t.shape, array_type(t.dtype)) for t in checked.parameters}
    options = SimulationOptions(timing=False, record_trace=True, max_steps=MAX_STEPS, host_data=False)
    run = run_program(tables.machine, dialect.link(checked.program, tables), tensors, options)
    if run.error is not None and run.error.kind == "host":
        raise NotApplicable(f"line {run.error.line}: the host reads or writes elements of tensors")
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
    return of_trace(accelerator, trace, checked.program.tensors)


def of_trace(accelerator: m.Accelerator, trace: _core.Trace, tensors: tuple[CompiledTensor, ...]) -> Commands:
    """The commands of a trace, whose pointers are to some tensors; those of several cores as those of one."""
    trace = on_one_core(accelerator, trace)
    instruction, first, arguments, _ = trace.columns(isa.lower(accelerator).machine)
    instruction = _in_one_unit(accelerator)[instruction]
    arguments = without_tokens(accelerator, instruction, first, arguments)
    signatures, given = _signatures(accelerator, instruction, first, arguments)
    walker = _Forms(accelerator, given)
    form = walker.follow(signatures)
    return Commands(accelerator, tuple(walker.forms), form, first, arguments, tensors, trace)


@remembered
def _in_one_unit(accelerator: m.Accelerator) -> Column:
    """For the number of each instruction that of the first one which multiplies alike, in whichever unit."""
    numbers = {instruction.name: number for number, instruction in enumerate(accelerator.instructions)}
    firsts = {name: numbers[alike[0].name] for name, alike in engines(accelerator).items()}
    return np.array([firsts.get(name, number) for name, number in numbers.items()], dtype=np.int64)


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
        used = fields_used(self._accelerator, instruction)
        known = (
            signature,
            tuple(registers.get(register) for register in registers if (register[0], register[2]) in used),
        )
        if known not in self._known:
            self._known[known] = len(self.forms)
            self.forms.append(form_or_unclear(self._accelerator, instruction, operands, registers))
        changed = registers_after(self._accelerator, instruction, operands, registers)
        return self._known[known], self._state(changed)
