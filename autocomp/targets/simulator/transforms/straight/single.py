"""Calls of several commands, such as a hardware loop or a library's routine, as the commands that they issue.

A kernel that is written out runs once, and its commands are replayed: the replay says what hardware loops send, in an
order that their conditions allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from autocomp.errors import KernelError
from autocomp.simulator import SimulationOptions, _core, replay_trace, run_program
from autocomp.targets.simulator import isa
from autocomp.targets.simulator import kernel as dialect
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.algebra import bits_to_float
from autocomp.targets.simulator.isa.derived.roles import instruction_roles
from autocomp.targets.simulator.kernel.checking.calls import BUILTINS
from autocomp.targets.simulator.kernel.code.bytecode import POINTER_SHIFT, Code
from autocomp.targets.simulator.kernel.code.types import Array
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import array_type
from autocomp.targets.simulator.transforms.straight.calls import call_with
from autocomp.targets.simulator.transforms.straight.places import TensorByte, element_at
from autocomp.targets.simulator.transforms.syntax.rewrite import call_of, with_body

MAX_STATEMENTS = 4_000  # of a kernel that is written out
_STEPS = 100 * MAX_STATEMENTS  # of the host and of hardware loops
_OF_HOST = frozenset(name for name, _, _ in BUILTINS)


def is_several(facts: Facts, call: ast.Call) -> bool:
    """True if a call issues several commands, or one that sends others."""
    if call.function in _OF_HOST:
        return False
    role = facts.machine.roles.get((call.function, len(call.arguments)))
    instruction = None if role is None else facts.accelerator.instruction(role.instruction)
    return instruction is None or bool(instruction.streams)


def single_commands(
    facts: Facts, statements: Sequence[ast.Statement], arrays: Mapping[str, Array]
) -> tuple[ast.Statement, ...]:
    """Statements, one after another, with calls of several commands as these commands. `arrays` are all tensors.

    Raises NotApplicable where a hardware loop sends what no kernel can call, or there are more than MAX_STATEMENTS.
    """
    if not any((call := call_of(statement)) and is_several(facts, call) for statement in statements):
        return tuple(statements)
    accelerator = facts.accelerator
    expanders = _expanders(accelerator)
    body: list[ast.Statement] = []
    issued = _issued(facts, statements)
    for line, statement in enumerate(statements, 1):
        commands = issued.get(line, [])
        sent = [(instruction, operands) for instruction, operands in commands if instruction.unit not in expanders]
        if (len(commands) == 1 and sent) or not commands:
            body.append(statement)
        for instruction, operands in sent if len(commands) > 1 else ():
            body.append(ast.ExpressionStatement(_call(accelerator, instruction, operands, arrays)))
    if len(body) > MAX_STATEMENTS:
        raise NotApplicable(f"the kernel has {len(body)} commands, more than {MAX_STATEMENTS} are not written out")
    return tuple(body)


Command = tuple[m.Instruction, Sequence[int]]  # an instruction and its operands, floats as bits


def _issued(facts: Facts, statements: Sequence[ast.Statement]) -> Mapping[int, list[Command]]:
    """The commands of each statement, numbered from 1, in the order that they reach the units."""
    tables = isa.lower(facts.accelerator)
    trace = _trace(facts, tables.machine, [_in_line(statement, line) for line, statement in enumerate(statements, 1)])
    replayed = replay_trace(tables.machine, trace, SimulationOptions(timing=False, record_trace=True, max_steps=_STEPS))
    if replayed.error is not None:
        raise NotApplicable(f"statement {replayed.error.line}: {replayed.error.message}")
    assert isinstance(replayed.trace, _core.Trace)
    numbers, first, arguments, lines = (column.tolist() for column in replayed.trace.columns(tables.machine))
    commands: dict[int, list[Command]] = {}
    for number, start, line in zip(numbers, first, lines, strict=True):
        instruction = facts.accelerator.instructions[number]
        operands = arguments[start : start + len(instruction.parameters)]
        commands.setdefault(line, []).append((instruction, operands))
    return commands


def _trace(facts: Facts, machine: _core.Machine, statements: Sequence[ast.Statement]) -> _core.Trace:
    """The commands of a kernel of these statements, with their lines."""
    try:
        checked = dialect.check(
            with_body(facts.given, ast.Block(tuple(statements))), facts.accelerator, facts.constants
        )
    except KernelError as error:
        raise NotApplicable(error.message) from None
    code = checked.program.code[checked.program.lines == 0, 0]  # of routines
    if {Code.Load, Code.Store, Code.HostCall} & set(code.tolist()):
        raise NotApplicable("the host reads or writes elements of tensors in a routine")
    tensors = {t.name: np.zeros(t.shape, array_type(t.dtype)) for t in checked.parameters}
    options = SimulationOptions(timing=False, record_trace=True, max_steps=_STEPS)
    run = run_program(machine, dialect.link(checked.program, isa.lower(facts.accelerator)), tensors, options)
    if run.error is not None:
        raise NotApplicable(f"statement {run.error.line}: {run.error.message}")
    assert isinstance(run.trace, _core.Trace)
    return run.trace


def _in_line(statement: ast.Statement, line: int) -> ast.Statement:
    """A statement whose call, if it is one, is in a line, as its commands then are."""
    call = call_of(statement)
    if call is None or not isinstance(statement, ast.ExpressionStatement):
        return statement
    return replace(statement, line=line, expression=replace(call, line=line))


def _expanders(accelerator: m.Accelerator) -> frozenset[str | None]:
    """The units of hardware loops, whose own commands do nothing once the loops are written out."""
    units = frozenset(instruction.unit for instruction in accelerator.instructions if instruction.streams)
    roles = instruction_roles(accelerator)
    own = [instruction for instruction in accelerator.instructions if instruction.unit in units]
    set_by_them = {state for instruction in own for state, _ in roles[instruction.name].states_written}
    for instruction in accelerator.instructions:
        shared = set_by_them & {state for state, _ in roles[instruction.name].states_read}
        if shared and instruction.unit not in units:
            raise NotApplicable(f"hardware loops change {shared.pop()}, which {instruction.name} relies on")
    return units


def _call(
    accelerator: m.Accelerator, instruction: m.Instruction, values: Sequence[int], arrays: Mapping[str, Array]
) -> ast.Call:
    """The call of a command. Raises NotApplicable if no kernel can call it with these operands."""
    if instruction.sent:
        raise NotApplicable(f"hardware loops alone send {instruction.name}")
    operands: dict[str, int | float | ast.Expression] = {}
    for parameter, value in zip(instruction.parameters, values, strict=True):
        if parameter.kind == "pointer":
            operands[parameter.name] = _place(value, arrays)
        elif parameter.kind == "float":
            operands[parameter.name] = bits_to_float(value)
        else:
            operands[parameter.name] = value & 0xFFFFFFFF if parameter.kind == "address" else value
    return call_with(accelerator, instruction, operands)


def _place(value: int, arrays: Mapping[str, Array]) -> ast.Expression:
    """The address of an element; of none for 0."""
    number, byte = divmod(value, 1 << POINTER_SHIFT)
    if not value:
        return ast.Name("NULL")
    name = list(arrays)[number - 1]
    return ast.Unary("&", element_at(TensorByte(name, byte), arrays[name]))
