"""A kernel for the other activation: the operand by which a machine's idioms set it gets another value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from autocomp.export.forms import Forms
from autocomp.targets.simulator.isa.model import Accelerator, Idiom
from autocomp.targets.simulator.kernel import parse, print_kernel
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.walk import walk
from autocomp.targets.simulator.transforms.syntax.rewrite import map_expressions

HOLE = "relu"  # of idioms: true for RELU
Values = Mapping[bool, ast.Expression]


@dataclass(frozen=True)
class Setting:
    """The operand `place` of an instruction has one of two `values`: that with RELU, and that without. `fixed` are the
    operands that idioms give constants, by their places."""

    instruction: str
    place: int
    values: Values
    fixed: Mapping[int, int | float]


def with_activation(text: str, source: str, accelerator: Accelerator, constants: Mapping[str, int]) -> str | None:
    """The kernel without its RELU, or with one where it has none; nobody has tried it. None where the machine has no
    operand for that, or the kernel's entry function does not set it."""
    known = {**accelerator.all_constants, **constants}
    tree, forms = parse(text, source, known), Forms(accelerator, known)
    settings = [setting for idiom in accelerator.idioms for setting in _settings(idiom, forms)]
    for present in (True, False):
        turned = [_turned(function, settings, present, forms) for function in tree.functions]
        if turned[-1] != tree.entry and turned[:-1] == list(tree.functions[:-1]):
            return print_kernel(replace(tree, functions=tuple(turned), source=""))
    return None


def _settings(idiom: Idiom, forms: Forms) -> Iterator[Setting]:
    if HOLE not in idiom.parameters:
        return
    body = re.sub(r"\$(?=\w)", "", idiom.text)
    for node in walk(parse(f"void idiom() {{ {body} }}", f"<idiom {idiom.name}>")):
        if not isinstance(node, ast.Call) or not forms.knows(node.function):
            continue
        for instruction, operands in forms.commands(node):
            fixed = {n: value for n, o in enumerate(operands) if (value := forms.value(o)) is not None}
            for place, operand in enumerate(operands):
                values = _values(operand)
                if values is not None:
                    yield Setting(instruction.name, place, values, fixed)


def _values(operand: ast.Expression) -> Values | None:
    """The operand's values by the hole's, if it is this or a choice by this."""
    if operand == ast.Name(HOLE):
        return {True: ast.IntLiteral(1), False: ast.IntLiteral(0)}
    if isinstance(operand, ast.Conditional) and operand.condition == ast.Name(HOLE):
        return {True: operand.then, False: operand.otherwise}
    return None


def _turned(function: ast.Function, settings: Sequence[Setting], present: bool, forms: Forms) -> ast.Function:
    """The function with the other value wherever it has that of the present activation."""

    def change(node: ast.Expression) -> ast.Expression:
        if not isinstance(node, ast.Call) or not forms.knows(node.function):
            return node
        commands = forms.commands(node)
        if len(commands) != 1:
            return node
        [(instruction, operands)] = commands
        values = [forms.value(operand) for operand in operands]
        for setting in settings:
            here = setting.instruction == instruction.name and all(values[n] == v for n, v in setting.fixed.items())
            if here and values[setting.place] == forms.value(setting.values[present]) is not None:
                other = [*operands]
                other[setting.place] = setting.values[not present]
                return forms.shortest(instruction, tuple(other))
        return node

    return replace(function, body=map_expressions(function.body, change))
