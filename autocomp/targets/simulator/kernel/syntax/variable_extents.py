"""Array parameters whose extents are other parameters, as pointers and flat indices.

int8_t x[n][h][w]  …  x[i][j][k]      becomes      int8_t* x  …  x[(i * h + j) * w + k]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.walk import rebuilt, walk


def flattened(function: ast.Function) -> ast.Function:
    """The function with such parameters as pointers. The others stay as they are."""
    numbers = {parameter.name for parameter in function.parameters if not parameter.type.extents}
    arrays = {
        parameter.name: parameter.type
        for parameter in function.parameters
        if any(isinstance(n, ast.Name) and n.name in numbers for e in parameter.type.extents for n in walk(e))
    }
    if not arrays:
        return function
    parameters = tuple(
        replace(p, type=ast.Type(p.type.name, p.type.pointer + 1)) if p.name in arrays else p
        for p in function.parameters
    )
    return replace(function, parameters=parameters, body=_rewritten(function.body, arrays))


def _rewritten(node: Any, arrays: Mapping[str, ast.Type]) -> Any:
    def flat(part: Any) -> Any:
        indices: list[ast.Expression] = []
        base = part
        while isinstance(base, ast.Index):
            indices.insert(0, base.index)
            base = base.base
        if not indices or not isinstance(base, ast.Name) or base.name not in arrays:
            return None
        return access(base, [_rewritten(index, arrays) for index in indices], arrays[base.name], part)

    return rebuilt(node, flat)


def access(base: ast.Name, indices: list[ast.Expression], kind: ast.Type, node: ast.Expression) -> ast.Expression:
    """An element, or the address of the first one where indices are left out, of an array by a flat pointer."""
    place = indices[0]
    for position, extent in enumerate(kind.extents[1:], 1):
        place = ast.Binary("*", place, extent, node.line, node.column)
        if position < len(indices):
            place = ast.Binary("+", place, indices[position], node.line, node.column)
    if len(indices) < len(kind.extents):
        return ast.Binary("+", base, place, node.line, node.column)
    return ast.Index(base, place, node.line, node.column)
