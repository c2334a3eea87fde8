"""Calls with constant operands as commands, and commands as calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.algebra import substitute
from autocomp.targets.simulator.isa.derived.roles import CallRole
from autocomp.targets.simulator.isa.formats import to_binary32
from autocomp.targets.simulator.isa.tree import Expression, Name, Number
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lowering.spelling import call_forms
from autocomp.targets.simulator.transforms.straight.places import TensorByte, Value, float_literal
from autocomp.targets.simulator.transforms.syntax.affine import literal


class Command(NamedTuple):
    """An instruction with its operands."""

    instruction: m.Instruction
    operands: Mapping[str, Value]


def role_of(facts: Facts, call: ast.Call) -> CallRole | None:
    """The role of a call, None for the host's functions."""
    return facts.machine.roles.get((call.function, len(call.arguments)))


def command_of(facts: Facts, call: ast.Call, values: Sequence[Value]) -> Command:
    """The command of a call whose arguments have these values."""
    role = role_of(facts, call)
    instruction = None if role is None else facts.accelerator.instruction(role.instruction)
    assert instruction is not None
    return Command(instruction, operands_of(facts.accelerator, call.function, values))


def operands_of(accelerator: m.Accelerator, name: str, values: Sequence[Value]) -> dict[str, Value]:
    """The operands of the instruction that a call form comes to."""
    instruction = accelerator.instruction(name)
    if instruction is not None and len(instruction.parameters) == len(values):
        return {p.name: _taken(p, value) for p, value in zip(instruction.parameters, values, strict=True)}
    alias = accelerator.alias(name, len(values))
    if alias is None or len(alias.expansion) != 1:
        raise NotApplicable(f"{name} is more than one command")
    given = dict(zip(alias.parameters, values, strict=True))
    inner, arguments = alias.expansion[0]
    return operands_of(accelerator, inner, [_passed_on(argument, given) for argument in arguments])


def _taken(parameter: m.Parameter, value: Value) -> Value:
    """An operand as the instruction takes it: C converts numbers."""
    if (parameter.kind == "pointer") != isinstance(value, TensorByte) and value != 0:
        raise NotApplicable("an address is made of numbers, or a number of an address")
    if isinstance(value, TensorByte):
        return value
    return to_binary32(value) if parameter.kind == "float" else int(value)


def _passed_on(argument: Expression, given: Mapping[str, Value]) -> Value:
    """An operand that an alias makes of those that it is given."""
    if isinstance(argument, Name) and argument.name in given:
        return given[argument.name]

    def value(part: Expression) -> Expression | None:
        known = given.get(part.name) if isinstance(part, Name) else None
        return None if known is None or isinstance(known, TensorByte) else Number(known)

    result = substitute(argument, value)
    if not isinstance(result, Number):
        raise NotApplicable("an operand is computed from an address")
    return result.value


def call_with(
    accelerator: m.Accelerator, instruction: m.Instruction, operands: Mapping[str, Value | ast.Expression]
) -> ast.Call:
    """The shortest call of an instruction with these operands. Raises NotApplicable if no form has them."""
    for form in call_forms(accelerator).get(instruction.name, ()):
        if all(operands[name] == value for name, value in form.fixed.items()):
            return ast.Call(form.name, tuple(_argument(operands[name]) for name in form.parameters))
    raise NotApplicable(f"no call form of {instruction.name} has the operands that it needs here")


def _argument(value: Value | ast.Expression) -> ast.Expression:
    if isinstance(value, TensorByte):
        raise NotApplicable("an operand of a computation is a place in a tensor")
    if isinstance(value, int):
        return literal(value)
    return float_literal(value) if isinstance(value, float) else value
