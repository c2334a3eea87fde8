"""Pointers to functions as numbers of the functions that a file points at, and calls through them as choices.

void (*f)(int) = &g;   (*f)(3);
becomes
int f = 1;             if (f == 1) { g(3); }
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeVar

from autocomp.errors import KernelError, Place
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.pieces import Piece, split
from autocomp.targets.simulator.kernel.syntax.walk import rebuilt, walk

_TYPE = re.compile(r"function_of_(\d+)_t")
Types = Mapping[str, ast.Type]
Item = TypeVar("Item", ast.Function, ast.Declaration)


def type_of(count: int) -> str:
    """The name of the type of pointers to functions with this number of parameters."""
    return f"function_of_{count}_t"


def named_pointer(words: Sequence[Piece]) -> tuple[str, str] | None:
    """The name that `typedef void (*name)(int, int8_t*)` gives, and the type; None of other words."""
    texts = [word.text for word in words]
    star = next((n for n, pair in enumerate(pairwise(texts)) if pair == ("(", "*")), None)
    if star is None or texts[star + 3 : star + 5] != [")", "("] or texts[-1] != ")":
        return None
    parameters = [part for part in split(words[star + 5 : -1]) if part and [word.text for word in part] != ["void"]]
    return texts[star + 2], type_of(len(parameters))


def has_pointers(text: str) -> bool:
    """Tells whether a text may declare pointers to functions."""
    return re.search(rf"\(\s*\*|\b{_TYPE.pattern}\b", text) is not None


def numbered(
    functions: Sequence[ast.Function], declarations: Sequence[ast.Declaration]
) -> tuple[Sequence[ast.Function], Sequence[ast.Declaration]]:
    """Functions and declarations of a file without pointers to functions, whether these are the file's or the
    machine's. Raises KernelError for a call through a pointer that no function fits."""
    outside = {one.name: one.type for declaration in declarations for one in declaration.declarators}
    passed = {function.name: [parameter.type for parameter in function.parameters] for function in functions}
    items = [*declarations, *functions]
    given = [one for item in items for one in _given(item, {**outside, **_variables(item)}, passed)]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(name for _, name in given), 1)}
    choices = {count: {name: numbers[name] for other, name in given if other == count} for count, _ in given}
    return (
        [_rewritten(function, {**outside, **_variables(function)}, numbers, choices) for function in functions],
        [_rewritten(declaration, outside, numbers, choices) for declaration in declarations],
    )


def _variables(item: Any) -> Types:
    declared = (node for node in walk(item) if isinstance(node, ast.Declarator | ast.KernelParameter))
    return {one.name: one.type for one in declared}


def _parameters(kind: ast.Type | None) -> int | None:
    """The number of parameters of the functions that a variable of this type points at; None for other types."""
    found = None if kind is None else _TYPE.fullmatch(kind.name)
    return None if found is None else int(found[1])


def _given(item: Any, variables: Types, passed: Mapping[str, Sequence[ast.Type]]) -> Iterator[tuple[int, str]]:
    """The functions that pointers get, with the number of parameters that the pointer says."""
    for node in walk(item):
        pairs: list[tuple[ast.Type | None, ast.Expression | None]] = []
        if isinstance(node, ast.Declarator):
            pairs = [(node.type, node.initializer)]
        elif isinstance(node, ast.Assignment):
            names = [part.name for part in walk(node.target) if isinstance(part, ast.Name)]
            pairs = [(variables.get(names[0]), node.value)] if names else []
        elif isinstance(node, ast.Call):
            pairs = list(zip(passed.get(node.function, ()), node.arguments, strict=False))
        for kind, value in pairs:
            count = _parameters(kind)
            if count is None:
                continue
            for part in walk(value):
                if isinstance(part, ast.Name) and part.name not in variables and part.name != "NULL":
                    yield count, part.name


def _rewritten(
    item: Item, variables: Types, numbers: Mapping[str, int], choices: Mapping[int, Mapping[str, int]]
) -> Item:
    def through(node: Any) -> ast.CallThrough | None:
        if isinstance(node, ast.Call) and _parameters(variables.get(node.function)) is not None:
            return ast.CallThrough(ast.Name(node.function), node.arguments, node.line, node.column)
        return node if isinstance(node, ast.CallThrough) else None

    def changed(node: Any) -> Any:
        if isinstance(node, ast.Type) and _parameters(node) is not None:
            return ast.Type("int", node.pointer, node.extents)
        target = node.operand if isinstance(node, ast.Unary) and node.operator == "&" else node
        if isinstance(target, ast.Name) and target.name in numbers and target.name not in variables:
            return ast.IntLiteral(numbers[target.name], line=target.line, column=target.column)
        call = through(node.expression if isinstance(node, ast.ExpressionStatement) else node)
        if call is None:
            return None
        fitting = list(choices.get(len(call.arguments), {}).items())
        if not fitting:
            place = Place("", call.line, max(call.column, 1))
            raise KernelError(f"no function with {len(call.arguments)} parameters is given to a pointer", place=place)
        parts = replace(call, target=rebuilt(call.target, changed), arguments=rebuilt(call.arguments, changed))
        return (_statement if isinstance(node, ast.ExpressionStatement) else _value)(parts, fitting)

    new: Item = rebuilt(item, changed)
    return new


def _statement(call: ast.CallThrough, choices: Sequence[tuple[str, int]]) -> ast.If:
    name, number = choices[0]
    then = ast.ExpressionStatement(ast.Call(name, call.arguments, call.line, call.column), call.line)
    rest = ast.Block((_statement(call, choices[1:]),)) if len(choices) > 1 else None
    return ast.If(_is(call, number), ast.Block((then,)), rest, call.line)


def _value(call: ast.CallThrough, choices: Sequence[tuple[str, int]]) -> ast.Expression:
    name, number = choices[0]
    value = ast.Call(name, call.arguments, call.line, call.column)
    if len(choices) == 1:
        return value
    return ast.Conditional(_is(call, number), value, _value(call, choices[1:]), call.line, call.column)


def _is(call: ast.CallThrough, number: int) -> ast.Binary:
    return ast.Binary("==", call.target, ast.IntLiteral(number), call.line, call.column)
