"""Functions that return structures, as one function for each number or pointer in what they return.

struct plan make(int n) { return p; }     struct plan q = make(4);
becomes
int make_row(int n) { return p.row; } …   struct plan q = {make_row(4), make_rows(4)};

Such a function is called for each field, so that it may only compute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.structure_fields import Definitions, Path, fail, is_structure
from autocomp.targets.simulator.kernel.syntax.walk import rebuilt, walk


def by_field(functions: Sequence[ast.Function], declarations: Sequence[ast.Declaration]) -> tuple[ast.Function, ...]:
    """The functions of a file, none of which returns a structure. Raises KernelError, with its place, for one that does
    more than to compute it, or returns arrays."""
    returning = {f.name: f for f in functions if is_structure(f.return_type) and not f.return_type.pointer}
    if not returning:
        return tuple(functions)
    results = _Results(functions, declarations, returning)
    return tuple(new for function in functions for new in results.function(function))


class _Results:
    def __init__(
        self,
        functions: Sequence[ast.Function],
        declarations: Sequence[ast.Declaration],
        returning: Mapping[str, ast.Function],
    ) -> None:
        self._of = Definitions(functions, declarations)
        self._functions = {function.name: function for function in functions}
        self._returning = returning
        calls = (node.function for f in functions for node in walk(f) if isinstance(node, ast.Call))
        taken = {*self._functions, *calls}
        self._names: dict[tuple[str, Path], str] = {}
        for name, function in returning.items():
            for field in self._of.leaves(function.return_type, function):
                if field.type.extents:
                    fail(function, f"{name!r} returns a structure with arrays", "let it write through a pointer")
                own = self._of.name(name, field.path)
                while own in taken:
                    own += "_"
                taken.add(own)
                self._names[name, field.path] = own

    def function(self, function: ast.Function) -> Iterator[ast.Function]:
        if function.name not in self._returning:
            yield replace(function, body=self._rewritten(function.body))
            return
        effect = next(self._effects(function), None)
        if effect is not None:
            hint = "it is called for each field: let it compute alone, or write through a pointer"
            fail(effect, f"{function.name!r} returns a structure, and this is an effect", hint)
        for field in self._of.leaves(function.return_type, function):
            body = rebuilt(function.body, partial(self._of_field, function.return_type, field.path))
            yield replace(function, name=self._names[function.name, field.path], return_type=field.type, body=body)

    def _of_field(self, kind: ast.Type, path: Path, node: Any) -> Any:
        if isinstance(node, ast.Return) and node.value is not None:
            return replace(node, value=self._field(node.value, kind, path))
        return self._changed(node)

    def _field(self, value: Any, kind: ast.Type, path: Path) -> Any:
        """A field of what is returned."""
        if isinstance(value, ast.Conditional):
            then, otherwise = (self._field(way, kind, path) for way in (value.then, value.otherwise))
            return replace(value, condition=self._rewritten(value.condition), then=then, otherwise=otherwise)
        if isinstance(value, ast.Cast) and isinstance(value.operand, ast.InitializerList):
            leaf = next(field.type for field in self._of.leaves(kind, value) if field.path == path)
            return self._rewritten(self._of.stated(value.operand, replace(kind, fields=()), path, leaf))
        for name in path:
            value = ast.Member(value, name, value.line, getattr(value, "column", 0))
        return self._rewritten(value)

    # --- calls ---

    def _rewritten(self, node: Any) -> Any:
        return rebuilt(node, self._changed)

    def _changed(self, node: Any) -> Any:
        path: Path = ()
        base = node
        while isinstance(base, ast.Member):
            path, base = (base.name, *path), base.base
        if not isinstance(base, ast.Call) or base.function not in self._returning:
            return None
        parts = (part for argument in base.arguments for part in walk(argument))
        if any(isinstance(part, ast.Assignment | ast.Increment | ast.CallThrough) for part in parts):
            fail(base, "an argument has an effect, and this is called for each field", "assign it to a variable before")
        call = replace(base, arguments=self._rewritten(base.arguments))
        kind = self._returning[base.function].return_type
        for name in path:
            fields = self._of.fields_of(kind, node) if is_structure(kind) else {}
            if name not in fields:
                fail(node, f"{kind.name!r} has no field {name!r}", f"its fields: {', '.join(fields)}")
            kind = fields[name]
        return self._value(call, kind, path)

    def _value(self, call: ast.Call, kind: ast.Type, path: Path) -> Any:
        """A field of a call's result, or a structure in it as a list."""
        if not is_structure(kind):
            return replace(call, function=self._names[call.function, path])
        values = (self._value(call, field, (*path, name)) for name, field in self._of.fields_of(kind, call).items())
        given = ast.InitializerList(tuple(values), call.line, call.column)
        return ast.Cast(replace(kind, fields=()), given, call.line, call.column)

    # --- effects ---

    def _effects(self, function: ast.Function, within: tuple[str, ...] = ()) -> Iterator[Any]:
        """All in a function that does more than to compute a value from its parameters."""
        declared = (node for node in walk(function) if isinstance(node, ast.Declarator | ast.KernelParameter))
        own = {one.name: one.type for one in declared}
        arrays = {parameter.name for parameter in function.parameters if parameter.type.extents}
        for node in walk(function.body):
            if isinstance(node, ast.Assignment | ast.Increment):
                root = _root(node.target)
                if root not in own or root in arrays or (own[root].pointer and not isinstance(node.target, ast.Name)):
                    yield node
            elif isinstance(node, ast.CallThrough) or (isinstance(node, ast.Declaration) and node.static):
                yield node
            elif isinstance(node, ast.Call):
                called = self._functions.get(node.function)
                inner = called is None or called.name in within or any(self._effects(called, (*within, called.name)))
                if inner:
                    yield node


def _root(place: Any) -> str:
    """The variable that an assignment to a place changes; "" where it changes what a pointer points at."""
    while isinstance(place, ast.Index | ast.Member):
        place = place.base
    return place.name if isinstance(place, ast.Name) else ""
