"""Arrays of pointers, as one pointer for each element, and their elements as choices.

int8_t* from[2] = {A, B};  …  from[i]
becomes
int8_t* from_0 = A; int8_t* from_1 = B;  …  i == 0 ? from_0 : i == 1 ? from_1 : NULL
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.structure_fields import fail
from autocomp.targets.simulator.kernel.syntax.walk import rebuilt, walk

MOST = 64  # elements of an array of pointers
NULL = ast.Name("NULL")


@dataclass(frozen=True)
class _Pointers:
    """An array of pointers: the type of one, the extents, and the variables in the order of C."""

    type: ast.Type
    extents: tuple[int, ...]
    names: tuple[str, ...]

    def at(self, position: Sequence[int]) -> ast.Name:
        number = 0
        for index, extent in zip(position, self.extents, strict=True):
            number = number * extent + index
        return ast.Name(self.names[number])


Arrays = Mapping[str, _Pointers]


def separated(
    functions: Sequence[ast.Function], declarations: Sequence[ast.Declaration], names: Mapping[str, int | float]
) -> tuple[Sequence[ast.Function], Sequence[ast.Declaration]]:
    """Functions and declarations of a file without arrays of pointers. `names` are constants, for their extents.
    Raises KernelError, with its place, for an array that is used as a whole."""
    items = [*declarations, *functions]
    declared = [node for item in items for node in walk(item) if isinstance(node, ast.Declarator | ast.KernelParameter)]
    if not any(one.type.pointer and one.type.extents for one in declared):
        return functions, declarations
    taken = {one.name for one in declared}
    outside = {name: found for item in declarations for name, found in _found(item, names, taken)}
    return (
        [_rewritten(function, {**outside, **dict(_found(function, names, taken))}) for function in functions],
        [_rewritten(declaration, outside) for declaration in declarations],
    )


def _found(item: Any, names: Mapping[str, int | float], taken: set[str]) -> Iterator[tuple[str, _Pointers]]:
    """The arrays of pointers that an item declares."""
    others: dict[str, ast.Type] = {}
    for node in walk(item):
        if not isinstance(node, ast.Declarator | ast.KernelParameter):
            continue
        if others.setdefault(node.name, node.type) != node.type:
            if any(kind.pointer and kind.extents for kind in (others[node.name], node.type)):
                fail(node, f"{node.name!r} is an array of pointers and something else in one function", "rename one")
            continue
        if not node.type.pointer or not node.type.extents:
            continue
        if isinstance(node, ast.KernelParameter):
            fail(node, f"parameter {node.name!r} is an array of pointers", "pass the pointers one by one")
        extents = tuple(_number(extent, names, node) for extent in node.type.extents)
        if math.prod(extents) > MOST:
            fail(node, f"{node.name!r} has {math.prod(extents)} pointers; at most {MOST} are possible")
        variables = []
        for position in itertools.product(*map(range, extents)):
            name = "_".join((node.name, *map(str, position)))
            while name in taken:
                name += "_"
            taken.add(name)
            variables.append(name)
        yield node.name, _Pointers(replace(node.type, extents=()), extents, tuple(variables))


def _number(extent: ast.Expression, names: Mapping[str, int | float], node: Any) -> int:
    known = names.get(extent.name) if isinstance(extent, ast.Name) else None
    value = extent.value if isinstance(extent, ast.IntLiteral) else known
    if not isinstance(value, int) or value < 1:
        fail(node, f"how many pointers {node.name!r} holds must be a number, or a name of one that #define gives")
    return value


def _rewritten(item: Any, arrays: Arrays) -> Any:
    def changed(node: Any) -> Any:
        if isinstance(node, ast.Declaration) and any(one.name in arrays for one in node.declarators):
            return replace(node, declarators=tuple(new for one in node.declarators for new in _declarators(one)))
        if isinstance(node, ast.ExpressionStatement) and isinstance(node.expression, ast.Assignment | ast.Increment):
            used = _element(node.expression.target, arrays)
            if used is not None:
                return _assigned(node, *used)
        if isinstance(node, ast.SizeOf) and not isinstance(node.operand, ast.Type):
            return _size(node, arrays)
        used = _element(node, arrays)
        if used is not None:
            return _choice(*used, node)
        if isinstance(node, ast.Name) and node.name in arrays:
            fail(node, f"{node.name!r} is an array of pointers, and is used as a whole", "use its elements, as in p[0]")
        return None

    def _declarators(one: ast.Declarator) -> Iterator[ast.Declarator]:
        if one.name not in arrays:
            yield rebuilt(one, changed)
            return
        array = arrays[one.name]
        for position, name in zip(itertools.product(*map(range, array.extents)), array.names, strict=True):
            value = None if one.initializer is None else rebuilt(_stated(one.initializer, position, one), changed)
            yield replace(one, name=name, type=array.type, initializer=value)

    def _assigned(node: ast.ExpressionStatement, array: _Pointers, indices: tuple[Any, ...]) -> ast.Statement:
        change: Any = node.expression
        value = {"value": rebuilt(change.value, changed)} if isinstance(change, ast.Assignment) else {}

        def way(position: tuple[int, ...]) -> ast.Statement:
            if len(position) == len(array.extents):
                return replace(node, expression=replace(change, target=array.at(position), **value))
            index = rebuilt(indices[len(position)], changed)
            if isinstance(index, ast.IntLiteral):
                return way((*position, _within(index, array.extents[len(position)])))
            _same_each_time(index)
            statement: ast.Statement | None = None
            for number in reversed(range(array.extents[len(position)])):
                rest = None if statement is None else ast.Block((statement,))
                statement = ast.If(_is(index, number), ast.Block((way((*position, number)),)), rest, node.line)
            assert statement is not None
            return statement

        return way(())

    def _choice(array: _Pointers, indices: tuple[Any, ...], node: Any) -> Any:
        def way(position: tuple[int, ...]) -> Any:
            if len(position) == len(array.extents):
                return replace(array.at(position), line=node.line, column=node.column)
            index = rebuilt(indices[len(position)], changed)
            if isinstance(index, ast.IntLiteral):
                return way((*position, _within(index, array.extents[len(position)])))
            _same_each_time(index)
            chosen: Any = NULL
            for number in reversed(range(array.extents[len(position)])):
                chosen = ast.Conditional(_is(index, number), way((*position, number)), chosen, node.line, node.column)
            return chosen

        return way(())

    return rebuilt(item, changed)


def _element(node: Any, arrays: Arrays) -> tuple[_Pointers, tuple[Any, ...]] | None:
    """The array and the indices of an expression for one of its pointers."""
    indices: list[Any] = []
    while isinstance(node, ast.Index):
        indices.insert(0, node.index)
        node = node.base
    array = arrays.get(node.name) if isinstance(node, ast.Name) else None
    return (array, tuple(indices)) if array is not None and len(indices) == len(array.extents) else None


def _size(node: ast.SizeOf, arrays: Arrays) -> ast.Expression | None:
    """The size of an array of pointers, or of one of them."""
    used = _element(node.operand, arrays)
    if used is not None:
        array, count = used[0], 1
    elif isinstance(node.operand, ast.Name) and node.operand.name in arrays:
        array = arrays[node.operand.name]
        count = len(array.names)
    else:
        return None
    one = ast.SizeOf(array.type, node.line, node.column)
    return ast.Binary("*", one, ast.IntLiteral(count), node.line, node.column)


def _stated(given: Any, position: Sequence[int], one: ast.Declarator) -> Any:
    """The value that a list states for one pointer; NULL for those that it leaves out."""
    for index in position:
        if not isinstance(given, ast.InitializerList):
            fail(one, f"{one.name!r} is initialised by a list in braces")
        if index >= len(given.values):
            return NULL
        given = given.values[index]
    return given


def _within(index: ast.IntLiteral, extent: int) -> int:
    if index.value >= extent:
        fail(index, f"index {index.value} is beyond the {extent} pointers of the array")
    return index.value


def _same_each_time(index: Any) -> None:
    if any(isinstance(part, ast.Assignment | ast.Increment | ast.Call | ast.CallThrough) for part in walk(index)):
        fail(index, "the index of a pointer has an effect, and is read several times", "assign it to a variable before")


def _is(index: Any, number: int) -> ast.Binary:
    return ast.Binary("==", index, ast.IntLiteral(number), index.line, index.column)
