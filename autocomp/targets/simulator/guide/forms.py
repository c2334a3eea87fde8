"""The call forms that a prompt tells, and what they never change: operands and configuration of which the prompt then
needs to say nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from autocomp.targets.simulator.isa.algebra import substitute
from autocomp.targets.simulator.isa.model import Accelerator, Alias, Instruction
from autocomp.targets.simulator.isa.rules import spellings
from autocomp.targets.simulator.isa.tree import Expression, Name, Number, StateField, Statement
from autocomp.targets.simulator.isa.walk import assignments

Field = tuple[str, str]  # of a state: its name and the field's


@dataclass(frozen=True)
class Told:
    """The call forms of an instruction that a prompt tells, and the names of the others. `constant` are the operands
    that have one and the same value in all of the former."""

    forms: tuple[Alias, ...]
    others: tuple[str, ...]
    constant: Mapping[str, Number]


def told_forms(accelerator: Accelerator, instruction: Instruction, called: Collection[str]) -> Told:
    """The plain spellings, and those that kernels call. Only what configures the machine has constant operands, and not
    if kernels call it by its own name."""
    forms = [a for a in accelerator.aliases if not a.trace and any(c == instruction.name for c, _ in a.expansion)]
    plain = spellings(accelerator, instruction)
    told = tuple(form for form in forms if form in plain or form.name in called)
    others = tuple(form.name for form in forms if form not in told)
    free = instruction.name in called or not any(_settings(instruction.body))
    constant = {} if free else _constant(instruction, told)
    return Told(told, others, constant)


def _constant(instruction: Instruction, forms: Sequence[Alias]) -> dict[str, Number]:
    calls = [arguments for form in forms for name, arguments in form.expansion if name == instruction.name]
    if not calls:
        return {}
    columns = zip(instruction.parameters, zip(*calls, strict=True), strict=True)
    return {
        parameter.name: values[0]
        for parameter, values in columns
        if isinstance(values[0], Number) and all(value == values[0] for value in values)
    }


def constant_fields(
    instructions: Sequence[Instruction], bodies: Mapping[str, Sequence[Statement]]
) -> Mapping[Field, Number]:
    """The fields of states that always get one and the same value. `bodies` are the semantics of the instructions with
    their constant operands as numbers. A number that the description itself gives is a mark, and does not count."""
    constants: dict[Field, set[Expression]] = {}
    for body in bodies.values():
        for field, value in _settings(body):
            constants.setdefault(field, set()).add(value)
    marks = {field for i in instructions for field, value in _settings(i.body) if isinstance(value, Number)}
    return {
        field: value
        for field, values in constants.items()
        if len(values) == 1 and isinstance(value := next(iter(values)), Number) and field not in marks
    }


def with_constants(
    value: Expression, operands: Mapping[str, Number], fields: Mapping[Field, Number] | None = None
) -> Expression:
    """An expression with known operands and fields of states as numbers, folded."""

    def known(node: Expression) -> Expression | None:
        if isinstance(node, Name):
            return operands.get(node.name)
        if isinstance(node, StateField) and fields:
            return fields.get((node.state, node.field))
        return None

    return substitute(value, known)


def _settings(body: Sequence[Statement]) -> Iterator[tuple[Field, Expression]]:
    """The fields of states that statements set, with the values."""
    for statement in body:
        for assignment in assignments(statement):
            if isinstance(assignment.target, StateField):
                yield (assignment.target.state, assignment.target.field), assignment.value
