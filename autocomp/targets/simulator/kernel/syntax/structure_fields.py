"""The fields of structures: their definitions, and the values that lists in braces state for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

from autocomp.errors import KernelError, Place
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.walk import walk

Path = tuple[str, ...]
ZERO = ast.IntLiteral(0)


class Field(NamedTuple):
    """A number, pointer or array in a structure, and in the structures and arrays in it."""

    path: Path
    type: ast.Type


def is_structure(kind: ast.Type) -> bool:
    """True of structures, of arrays of them and of pointers to them."""
    return kind.name.startswith("struct ")


def fail(node: Any, message: str, hint: str | None = None) -> NoReturn:
    """Raises KernelError at a node."""
    place = Place("", node.line, max(getattr(node, "column", 0), 1)) if getattr(node, "line", 0) else None
    raise KernelError(message, place=place, hint=hint)


class Definitions:
    """The structures of a file, and the names of the variables for their fields."""

    def __init__(self, functions: Sequence[ast.Function], declarations: Sequence[ast.Declaration]) -> None:
        self._fields: dict[str, dict[str, ast.Type]] = {}  # by the structure's type
        self._names: dict[tuple[str, Path], str] = {}
        self._taken: set[str] = set()
        for node in (node for item in (*declarations, *functions) for node in walk(item)):
            if isinstance(node, ast.Declarator | ast.KernelParameter):
                self._taken.add(node.name)
                self._define(node.type, node)

    def _define(self, kind: ast.Type, node: Any) -> None:
        if not kind.fields:
            return
        fields: dict[str, ast.Type] = {}
        for declaration in kind.fields:
            for one in declaration.declarators:
                self._define(one.type, one)
                if not one.name:
                    fail(node, f"a structure in {kind.name!r} has no name")
                if is_structure(one.type) and one.type.pointer:
                    fail(one, f"field {one.name!r} points at a structure", "only variables and parameters may")
                fields[one.name] = replace(one.type, fields=())
        if self._fields.setdefault(kind.name, fields) != fields:
            fail(node, f"{kind.name!r} is defined twice, with other fields")

    def fields_of(self, kind: ast.Type, node: Any) -> dict[str, ast.Type]:
        """The types of a structure's fields by name, in order. Fails at `node` for one that is not defined."""
        if kind.name not in self._fields:
            known = ", ".join(self._fields) or "none"
            fail(node, f"{kind.name!r} is not defined", f"the structures of this file: {known}")
        return self._fields[kind.name]

    def names(self) -> Iterator[str]:
        """The types of the file's structures."""
        return iter(self._fields)

    def of_type(self, name: str) -> Mapping[str, ast.Type]:
        """The types of the fields of a structure that is defined, by name."""
        return self._fields[name]

    def leaves(self, kind: ast.Type, node: Any) -> Iterator[Field]:
        """The numbers, pointers and arrays of a structure, without the extents of an array of it."""
        for name, field in self.fields_of(kind, node).items():
            if not is_structure(field):
                yield Field((name,), field)
                continue
            for path, inner in self.leaves(field, node):
                yield Field((name, *path), replace(inner, extents=(*field.extents, *inner.extents)))

    def name(self, variable: str, path: Path) -> str:
        """The name of the variable for a field."""
        known = self._names.get((variable, path))
        if known is None:
            known = "_".join((variable, *path))
            while known in self._taken:
                known += "_"
            self._taken.add(known)
            self._names[variable, path] = known
        return known

    def stated(self, node: Any, kind: ast.Type, path: Path, leaf: ast.Type) -> Any:
        """The part of a list in braces for one field, in the order of the field's own array; else zeros. A structure in
        the list gives its field."""
        zeros = ast.InitializerList((ZERO,)) if kind.extents or leaf.extents else ZERO
        if node == ZERO and zeros != ZERO:
            return zeros
        if not path:
            return node
        if isinstance(node, ast.Cast):
            node = node.operand
        if isinstance(node, ast.Name | ast.Index | ast.Member | ast.Unary | ast.Call) and not kind.extents:
            for name in path:
                node = ast.Member(node, name, node.line, getattr(node, "column", 0))
            return node
        if not isinstance(node, ast.InitializerList):
            fail(node, f"{kind.name!r} is initialised by a list in braces, or by another one")
        if kind.extents:
            inner = replace(kind, extents=kind.extents[1:])
            if node.values == (ZERO,):
                return zeros
            values = (self.stated(value, inner, path, leaf) for value in node.values)
            return ast.InitializerList(tuple(values), node.line, node.column)
        fields = self.fields_of(kind, node)
        value = _chosen(node, fields).get(path[0])
        return zeros if value is None else self.stated(value, fields[path[0]], path[1:], leaf)


def _chosen(given: ast.InitializerList, fields: Mapping[str, ast.Type]) -> dict[str, ast.Expression]:
    """The value of each field that a list names, or reaches by its order."""
    order = list(fields)
    result: dict[str, ast.Expression] = {}
    position = 0
    for value in given.values:
        if isinstance(value, ast.Designated):
            if value.name not in fields:
                fail(value, f"unknown field {value.name!r}", f"the fields: {', '.join(order)}")
            position, value = order.index(value.name), value.value
        if position >= len(order):
            fail(value, f"a list has more values than the {len(order)} fields of its structure")
        result[order[position]] = value
        position += 1
    return result
