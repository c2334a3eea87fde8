"""Pointers to structures that a function only reads through, as structures passed by value.

void load(const struct m* a) { … a->data … }   load(&x)      becomes      void load(struct m a) { … a.data … }   load(x)

A structure of a pointer can then be passed in this way: no variable that holds a pointer has an address.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.structure_fields import Definitions, is_structure
from autocomp.targets.simulator.kernel.syntax.walk import rebuilt, walk

Place = tuple[str, int]  # a function, and the number of a parameter of it
Types = Mapping[str, ast.Type]


def read_by_value(
    functions: Sequence[ast.Function], declarations: Sequence[ast.Declaration]
) -> tuple[ast.Function, ...]:
    """The functions of a file with such parameters by value, where nothing can tell the difference. Nothing in the file
    then writes a structure of that type through a pointer or outside of functions, or points at a field of one."""
    changed = _changed_types(functions, declarations)
    pointed = {node.name for item in (*declarations, *functions) for node in walk(item) if isinstance(node, ast.Name)}
    known = {function.name: function for function in functions}
    taken = {
        (function.name, number)
        for function in functions
        for number, parameter in enumerate(function.parameters)
        if is_structure(parameter.type) and parameter.type.pointer == 1 and not parameter.type.extents
        if parameter.type.name not in changed and function.name not in pointed
    }
    while True:
        kept = {place for place in taken if _only_read(known[place[0]], place[1], taken)}
        kept -= {place for function in functions for place in _not_addresses(function, kept)}
        if kept == taken:
            return tuple(_rewritten(function, taken) for function in functions)
        taken = kept


def _changed_types(functions: Sequence[ast.Function], declarations: Sequence[ast.Declaration]) -> set[str]:
    """The types of structures that something may change while a function reads one through a pointer, those with
    arrays, and all that lie in them or that they lie in."""
    of = Definitions(functions, declarations)
    outside = {one.name: one.type for declaration in declarations for one in declaration.declarators}
    changed: set[str] = set()
    for function in functions:
        own = _variables(function)
        for node in walk(function.body):
            root = _root_of_change(node)
            kind = None if root is None else own.get(root, outside.get(root))
            if kind is not None and is_structure(kind) and (kind.pointer or root not in own or _points(node)):
                changed.add(kind.name)
    links = [{name, *(field.name for field in of.of_type(name).values() if is_structure(field))} for name in of.names()]
    changed |= {name for name in of.names() if any(field.extents for field in of.of_type(name).values())}
    while any(link & changed and not link <= changed for link in links):
        changed |= set().union(*(link for link in links if link & changed))
    return changed


def _variables(function: ast.Function) -> Types:
    declared = (node for node in walk(function) if isinstance(node, ast.Declarator | ast.KernelParameter))
    return {one.name: one.type for one in declared}


def _points(node: Any) -> bool:
    return isinstance(node, ast.Unary) and node.operator == "&"


def _root_of_change(node: Any) -> str | None:
    """The variable of which a node assigns a field, or an element as a whole, or takes the address of a field."""
    place: Any
    if isinstance(node, ast.Assignment | ast.Increment):
        place = node.target
    elif _points(node) and isinstance(node.operand, ast.Member):
        place = node.operand
    else:
        return None
    if isinstance(place, ast.Index | ast.Unary) and any(isinstance(part, ast.Member) for part in walk(place)):
        return None  # what a field points at
    if isinstance(place, ast.Name) and isinstance(node, ast.Increment):
        return None  # a pointer that moves on
    return next((part.name for part in walk(place) if isinstance(part, ast.Name)), None)


def _only_read(function: ast.Function, number: int, taken: set[Place]) -> bool:
    """True if all that a function does with a parameter is to read what it points at, or to pass it on to such ones."""
    name = function.parameters[number].name
    if any(isinstance(node, ast.Declarator) and node.name == name for node in walk(function.body)):
        return False
    read = Counter(node.operand.name for node in walk(function.body) if _is_pointed_at(node))
    passed = Counter(
        argument.name
        for call in walk(function.body)
        if isinstance(call, ast.Call)
        for place, argument in enumerate(call.arguments)
        if (call.function, place) in taken and isinstance(argument, ast.Name)
    )
    uses = sum(isinstance(node, ast.Name) and node.name == name for node in walk(function.body))
    return uses == read[name] + passed[name]


def _is_pointed_at(node: Any) -> bool:
    """True of `*a`, which is in `a->x` too."""
    return isinstance(node, ast.Unary) and node.operator == "*" and isinstance(node.operand, ast.Name)


def _not_addresses(function: ast.Function, taken: set[Place]) -> Iterator[Place]:
    """The parameters that a call in a function gives something else than the address of a structure, or a pointer."""
    for call in walk(function.body):
        if not isinstance(call, ast.Call):
            continue
        for number, argument in enumerate(call.arguments):
            if not _points(argument) and (not isinstance(argument, ast.Name) or argument.name == "NULL"):
                yield call.function, number


def _rewritten(function: ast.Function, taken: set[Place]) -> ast.Function:
    own = {p.name for number, p in enumerate(function.parameters) if (function.name, number) in taken}

    def structure(argument: Any) -> Any:
        if isinstance(argument, ast.Name) and argument.name in own:
            return argument
        if _points(argument):
            return rebuilt(argument.operand, changed)
        return ast.Unary("*", argument, argument.line, argument.column)

    def changed(node: Any) -> Any:
        if _is_pointed_at(node) and node.operand.name in own:
            return node.operand
        if not isinstance(node, ast.Call):
            return None
        arguments = (
            structure(argument) if (node.function, number) in taken else rebuilt(argument, changed)
            for number, argument in enumerate(node.arguments)
        )
        return replace(node, arguments=tuple(arguments))

    parameters = tuple(
        replace(p, type=ast.Type(p.type.name), const=False) if p.name in own else p for p in function.parameters
    )
    return replace(function, parameters=parameters, body=rebuilt(function.body, changed))
