"""Declarations of a file outside of its functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.walk import rebuilt, walk


def at_their_uses(
    functions: Sequence[ast.Function], declarations: Sequence[ast.Declaration]
) -> tuple[tuple[ast.Function, ...], tuple[ast.Declaration, ...]]:
    """The functions, with the constants that they use declared again in them, and what is left outside.

    Transformations then find all of a kernel in its functions.
    """
    constants = [declaration for declaration in declarations if _is_constant(declaration)]
    if not constants:
        return tuple(functions), tuple(declarations)
    left = tuple(declaration for declaration in declarations if declaration not in constants)
    outside = set().union(*(_names(declaration) for declaration in left)) if left else set()
    kept = [c for c in constants if any(d.name in outside for d in c.declarators)]
    moved = [c for c in constants if c not in kept]
    values = {d.name: d.initializer for c in constants for d in c.declarators}
    return tuple(_with_constants(_with_extents(f, values), moved) for f in functions), (*kept, *left)


def _is_constant(declaration: ast.Declaration) -> bool:
    return declaration.const and all(
        d.initializer is not None and not d.type.extents and not d.type.pointer for d in declaration.declarators
    )


def _with_extents(function: ast.Function, values: Mapping[str, Any]) -> ast.Function:
    """The function with the values of constants in the extents of its parameters."""
    return replace(function, parameters=tuple(_substituted(p, values) for p in function.parameters))


def _substituted(node: Any, values: Mapping[str, Any]) -> Any:
    def value_of(part: Any) -> Any:
        return _substituted(values[part.name], values) if isinstance(part, ast.Name) and part.name in values else None

    return rebuilt(node, value_of)


def _with_constants(function: ast.Function, constants: Sequence[ast.Declaration]) -> ast.Function:
    needed = _names(function)
    own = {parameter.name for parameter in function.parameters}
    declarations: list[ast.Declaration] = []
    for declaration in reversed(constants):  # one may need those before it
        names = {d.name for d in declaration.declarators}
        if names & (needed - own):
            declarations.insert(0, replace(declaration, static=False))
            needed |= _names(declaration)
    if not declarations:
        return function
    return replace(function, body=replace(function.body, statements=(*declarations, *function.body.statements)))


def _names(node: object) -> set[str]:
    return {name.name for name in walk(node) if isinstance(name, ast.Name)}
