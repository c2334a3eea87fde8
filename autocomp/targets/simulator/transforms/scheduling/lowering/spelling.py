"""Commands as calls: the shortest call form of an instruction that has the operands wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from autocomp.remember import remembered
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.derived.roles import call_roles
from autocomp.targets.simulator.isa.tree import Name
from autocomp.targets.simulator.transforms.errors import NotApplicable

Operands = Mapping[str, str | int | float]  # text of C, or numbers


@dataclass(frozen=True)
class CallText:
    """A call of a form with its arguments as text."""

    name: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.arguments)});"


@dataclass(frozen=True)
class CallForm:
    """A call form: the instruction's operand at each argument, and the operands that the form fixes."""

    name: str
    parameters: tuple[str, ...]
    fixed: Mapping[str, int | float]


@remembered
def call_forms(accelerator: m.Accelerator) -> Mapping[str, tuple[CallForm, ...]]:
    """The call forms of each instruction, those with the fewest arguments first; aliases before instructions."""
    by_instruction: dict[str, list[CallForm]] = {}
    for role in call_roles(accelerator):
        parameters = _parameters(accelerator, role.name, len(role.arguments))
        if parameters is not None:
            by_instruction.setdefault(role.instruction, []).append(CallForm(role.name, parameters, role.fixed))
    return {name: tuple(sorted(forms, key=lambda f: _order(name, f))) for name, forms in by_instruction.items()}


def _order(instruction: str, form: CallForm) -> tuple[bool, int, int]:
    return form.name == instruction, len(form.parameters), len(form.name)


def _parameters(accelerator: m.Accelerator, name: str, count: int) -> tuple[str, ...] | None:
    """The instruction's operand that each argument becomes; None for a form that computes operands."""
    instruction = accelerator.instruction(name)
    if instruction is not None and len(instruction.parameters) == count:
        return tuple(parameter.name for parameter in instruction.parameters)
    alias = accelerator.alias(name, count)
    if alias is None or len(alias.expansion) != 1:
        return None
    inner, arguments = alias.expansion[0]
    names = _parameters(accelerator, inner, len(arguments))
    if names is None:
        return None
    given = {
        a.name: n for a, n in zip(arguments, names, strict=True) if isinstance(a, Name) and a.name in alias.parameters
    }
    return tuple(given[p] for p in alias.parameters) if len(given) == len(alias.parameters) else None


def spelled(accelerator: m.Accelerator, instruction: m.Instruction, operands: Operands) -> CallText:
    """A call of an instruction. Raises NotApplicable if no form has these operands."""
    return next(spellings(accelerator, instruction, operands))


def spellings(accelerator: m.Accelerator, instruction: m.Instruction, operands: Operands) -> Iterator[CallText]:
    """The calls of an instruction with these operands, by form. Raises NotApplicable if no form has them."""
    fits = False
    for form in call_forms(accelerator).get(instruction.name, ()):
        fixed = all(operands[name] == value for name, value in form.fixed.items())
        if fixed and {*form.parameters, *form.fixed} == operands.keys():
            fits = True
            yield CallText(form.name, tuple(_text(instruction, name, operands[name]) for name in form.parameters))
    if not fits:
        raise NotApplicable(f"no call form of {instruction.name} has the operands that it needs here")


def _text(instruction: m.Instruction, name: str, value: str | int | float) -> str:
    if isinstance(value, str):
        return value
    parameter = next(p for p in instruction.parameters if p.name == name)
    if parameter.kind == "float":
        text = str(np.float32(abs(value)))
        return ("-" if value < 0 else "") + (text if "." in text or "e" in text else text + ".0") + "f"
    known = _named(parameter, value)
    return known or (hex(int(value)) if value >= 1 << 28 else str(int(value)))


def _named(parameter: m.Parameter, value: int | float) -> str:
    """The constant that is meant by a number, where the description lists the choices from 0 on."""
    low = parameter.low or 0
    at = int(value) - low
    return parameter.choices[at] if 0 <= at < len(parameter.choices) else ""
