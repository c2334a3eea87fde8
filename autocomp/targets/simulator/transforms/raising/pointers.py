"""DRAM addresses written as sums, as subscripts of the tensors that they lie in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.syntax.affine import (
    Affine,
    Ranges,
    affine,
    constant_of,
    expression,
    interval_of,
)
from autocomp.targets.simulator.transforms.syntax.rewrite import walk_statements

Arrays = Mapping[str, ast.Type]


@dataclass(frozen=True)
class _Address:
    """A place in a tensor: elements from its start, and how many of them adding 1 to the pointer passes."""

    tensor: str
    offset: Affine
    unit: int


def with_subscripts(call: ast.Call, arrays: Arrays, ranges: Ranges) -> ast.Call:
    """The call with `A + i * 64 + k`, and the like, as `&A[i][k]`, where each subscript is sure to be inside."""
    arguments = tuple(_subscripted(argument, arrays, ranges) for argument in call.arguments)
    same = all(new is old for new, old in zip(arguments, call.arguments, strict=True))
    return call if same else replace(call, arguments=arguments)


def array_types(function: ast.Function) -> Arrays:
    """The types of a function's parameters and of the arrays of its own."""
    types = {parameter.name: parameter.type for parameter in function.parameters}
    for node in walk_statements(function.body):
        if isinstance(node, ast.Declaration):
            types.update({array.name: array.type for array in node.declarators if array.type.extents})
    return types


def is_address(node: ast.Expression, arrays: Arrays) -> bool:
    """True if an expression is a place in a tensor, given by a sum."""
    return _address(node, arrays) is not None


def _subscripted(argument: ast.Expression, arrays: Arrays, ranges: Ranges) -> ast.Expression:
    if not isinstance(argument, ast.Binary | ast.Cast):
        return argument
    address = _address(argument, arrays)
    if address is None:
        return argument
    left = address.offset
    place: ast.Expression = ast.Name(address.tensor)
    sizes = _sizes(arrays[address.tensor]) or ()
    for number, extent in enumerate(sizes):
        step = prod(sizes[number + 1 :])
        whole = Affine(left.constant // step, tuple((a, f // step) for a, f in left.terms if f % step == 0))
        left = left - whole.times(step)
        bounds = interval_of(whole, ranges)
        if bounds is None or bounds[0] < 0 or bounds[1] >= extent:
            return argument
        place = ast.Index(place, expression(whole))
    return ast.Unary("&", place)


def _address(node: ast.Expression, arrays: Arrays) -> _Address | None:
    """The place that a pointer names; None if the expression is not known to be one."""
    if isinstance(node, ast.Name | ast.Index):
        return _first_of(node, arrays, 1)  # an array stands for its first element
    if isinstance(node, ast.Unary) and node.operator == "&":
        return _first_of(node.operand, arrays, 0)
    if isinstance(node, ast.Cast):
        address = _address(node.operand, arrays)
        same = address is not None and node.type.pointer == 1 and node.type.name == arrays[address.tensor].name
        return replace(address, unit=1) if address is not None and same else None
    if isinstance(node, ast.Binary) and node.operator in "+-":
        left, right = _address(node.left, arrays), _address(node.right, arrays)
        if (left is None) == (right is None) or (right is not None and node.operator == "-"):
            return None
        address, other = (left, node.right) if left is not None else (right, node.left)
        assert address is not None
        change = affine(other).times(address.unit if node.operator == "+" else -address.unit)
        return replace(address, offset=address.offset + change)
    return None


def _first_of(node: ast.Expression, arrays: Arrays, inner: int) -> _Address | None:
    """The place of an array or of a part of it, as a pointer to what is `inner` subscripts further in."""
    subscripts: list[ast.Expression] = []
    while isinstance(node, ast.Index):
        subscripts.insert(0, node.index)
        node = node.base
    sizes = _sizes(arrays[node.name]) if isinstance(node, ast.Name) and node.name in arrays else None
    if not isinstance(node, ast.Name) or sizes is None or len(subscripts) + inner > len(sizes):
        return None
    parts = [affine(s).times(prod(sizes[number + 1 :])) for number, s in enumerate(subscripts)]
    return _Address(node.name, sum(parts, Affine(0)), prod(sizes[len(subscripts) + inner :]))


def _sizes(kind: ast.Type) -> list[int] | None:
    """The extents of an array; None where one is not known."""
    known = [constant_of(extent, {}) for extent in kind.extents]
    return [size for size in known if size is not None] if None not in known else None
