"""Structures by their fields: a variable of a structure becomes one variable for each number or array in it.

struct tile { int rows; int8_t data[4][4]; } t[2];   t[i].data[j][k]   p->rows
becomes
int t_rows[2]; int8_t t_data[2][4][4];               t_data[i][j][k]   p_rows[0]

A pointer to a structure becomes a pointer to the first number of each field.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.structure_fields import (
    ZERO,
    Definitions,
    Field,
    Path,
    fail,
    is_structure,
)
from autocomp.targets.simulator.kernel.syntax.variable_extents import access
from autocomp.targets.simulator.kernel.syntax.walk import rebuilt, walk

Scope = ChainMap[str, ast.Type]  # of variables, those of other types too: they hide what they are named like


class Part(NamedTuple):
    """`variable[index]…field[index]…`: what of a variable is meant, and the type of that."""

    variable: str
    declared: ast.Type
    path: Path
    indices: tuple[ast.Expression, ...]
    type: ast.Type
    node: Any


def dissolved(
    functions: Sequence[ast.Function], declarations: Sequence[ast.Declaration]
) -> tuple[tuple[ast.Function, ...], tuple[ast.Declaration, ...]]:
    """Functions and declarations of a file without structures. Raises KernelError, with its place, for what has no such
    form: structures that are returned, copied with arrays in them, or pointed at by one another."""
    structures = _Structures(functions, declarations)
    scope = Scope()
    outside = [new for declaration in declarations for new in structures.declared(declaration, scope)]
    return tuple(structures.function(function, scope) for function in functions), tuple(outside)


class _Structures:
    def __init__(self, functions: Sequence[ast.Function], declarations: Sequence[ast.Declaration]) -> None:
        self._of = Definitions(functions, declarations)
        self._parameters = {function.name: function.parameters for function in functions}

    # --- functions and statements ---

    def function(self, function: ast.Function, outside: Scope) -> ast.Function:
        if is_structure(function.return_type):
            fail(function, f"{function.name!r} returns a structure", "let it write through a pointer")
        scope = outside.new_child({p.name: _as_passed(p) for p in function.parameters})
        parameters = tuple(new for p in function.parameters for new in self._parameter(p, scope))
        return replace(function, parameters=parameters, body=self._rewritten(function.body, scope))

    def _parameter(self, parameter: ast.KernelParameter, scope: Scope) -> Iterator[ast.KernelParameter]:
        kind = scope[parameter.name]
        if not is_structure(kind):
            yield parameter
            return
        for field in self._of.leaves(kind, parameter):
            if field.type.extents and not kind.pointer:
                fail(parameter, f"{kind.name!r} has arrays and is passed by value", "pass a pointer to it")
            name = self._of.name(parameter.name, field.path)
            yield replace(parameter, name=name, type=_declared_type(kind, field.type))

    def declared(self, declaration: ast.Declaration, scope: Scope) -> Iterator[ast.Declaration]:
        for one in declaration.declarators:
            scope[one.name] = replace(one.type, fields=())
        if not any(is_structure(one.type) for one in declaration.declarators):
            yield self._rewritten(declaration, scope)
            return
        for one in declaration.declarators:
            kind = scope[one.name]
            if not one.name:
                continue
            if not is_structure(kind):
                yield replace(declaration, declarators=(self._rewritten(one, scope),))
                continue
            leaves = list(self._of.leaves(kind, one))
            values = [None] * len(leaves) if one.initializer is None else self._values(one.initializer, kind, scope)
            for field, value in zip(leaves, values, strict=True):
                name = self._of.name(one.name, field.path)
                new = replace(one, name=name, type=_declared_type(kind, field.type), initializer=value)
                yield replace(declaration, declarators=(new,))

    def _statement(self, statement: ast.Statement, scope: Scope) -> Iterator[ast.Statement]:
        if isinstance(statement, ast.Declaration):
            yield from self.declared(statement, scope)
            return
        assignment = statement.expression if isinstance(statement, ast.ExpressionStatement) else None
        if isinstance(assignment, ast.Assignment) and not assignment.operator:
            target = self._part(assignment.target, scope)
            if target is not None and is_structure(target.type):
                yield self._assigned(target, assignment, scope)
                return
        yield self._rewritten(statement, scope)

    def _assigned(self, target: Part, assignment: ast.Assignment, scope: Scope) -> ast.Block:
        """All fields: the values first, since they may be made of what is assigned."""
        line = assignment.line
        before: list[ast.Statement] = []
        after: list[ast.Statement] = []
        values = self._values(assignment.value, target.type, scope)
        for number, (field, value) in enumerate(zip(self._of.leaves(target.type, assignment), values, strict=True)):
            if field.type.extents and not target.type.pointer:
                fail(assignment, f"{target.type.name!r} has arrays and is copied", "copy element by element")
            name = self._of.name(f"value_{number}", (target.variable,))
            kind = _declared_type(target.type, field.type)
            before.append(ast.Declaration((ast.Declarator(name, kind, value, line),), line=line))
            place = self._access(target._replace(path=(*target.path, *field.path)))
            after.append(ast.ExpressionStatement(ast.Assignment(place, ast.Name(name), "", line), line))
        return ast.Block((*before, *after), line)

    # --- expressions ---

    def _rewritten(self, node: Any, scope: Scope) -> Any:
        return rebuilt(node, partial(self._changed, scope))

    def _changed(self, scope: Scope, node: Any) -> Any:
        """The node in place of one; None where only those below it change."""
        if isinstance(node, ast.Block):
            inner = scope.new_child()
            return replace(node, statements=tuple(new for s in node.statements for new in self._statement(s, inner)))
        if isinstance(node, ast.For) and isinstance(node.initial, ast.Declaration):
            inner = scope.new_child()
            initial = list(self.declared(node.initial, inner))
            if len(initial) != 1:
                fail(node, "a structure is declared in the head of a loop", "declare it before the loop")
            rest = replace(node, initial=None)
            parts = {name: self._rewritten(getattr(rest, name), inner) for name in ("condition", "step", "body")}
            return replace(node, initial=initial[0], **parts)
        if isinstance(node, ast.Call) and node.function in self._parameters:
            return replace(node, arguments=tuple(self._arguments(node, scope)))
        if isinstance(node, ast.SizeOf):
            return self._size(node, scope)
        if isinstance(node, ast.Binary) and node.operator in ("==", "!="):
            return replace(node, left=self._compared(node.left, scope), right=self._compared(node.right, scope))
        if isinstance(node, ast.Unary) and node.operator == "!":
            return replace(node, operand=self._compared(node.operand, scope))
        if isinstance(node, ast.Unary) and node.operator == "&":
            part = self._part(node.operand, scope)
            is_row = part is not None and part.declared.pointer and not is_structure(part.type) and part.type.extents
            return self._access(part) if part is not None and is_row else None  # a flat pointer points at it already
        if isinstance(node, ast.Type) and is_structure(node):
            fail(node, f"{node.name!r} cannot stand here")
        part = self._part(node, scope)
        if part is None:
            return self._of_literal(node, scope)
        if is_structure(part.type):
            hint = "it may be passed to a function, assigned as a whole, or its fields be used"
            fail(node, f"{part.variable!r}, of {part.type.name!r}, is used as a number", hint)
        return self._access(part)

    def _compared(self, node: ast.Expression, scope: Scope) -> Any:
        """An expression that may be a pointer to a structure, which is then that to its first field."""
        part = self._part(node, scope)
        if part is None or not is_structure(part.type) or not part.type.pointer:
            return self._rewritten(node, scope)
        return self._access(part._replace(path=next(self._of.leaves(part.type, node)).path))

    def _part(self, node: Any, scope: Scope) -> Part | None:
        """The part of a structure's variable that an expression means; None for any other expression."""
        if isinstance(node, ast.Name):
            kind = scope.get(node.name)
            if kind is None or not is_structure(kind):
                return None
            return Part(node.name, kind, (), (), kind, node)
        if isinstance(node, ast.Unary) and node.operator == "*":
            if isinstance(node.operand, ast.Unary) and node.operand.operator == "&":
                return self._part(node.operand.operand, scope)
            if isinstance(node.operand, ast.Binary) and node.operand.operator == "+":
                return self._part(_indexed(node.operand), scope)
        if isinstance(node, ast.Index) or (isinstance(node, ast.Unary) and node.operator == "*"):
            base = self._part(node.base if isinstance(node, ast.Index) else node.operand, scope)
            if base is None:
                return None
            index = self._rewritten(node.index, scope) if isinstance(node, ast.Index) else ZERO
            kind = base.type
            kind = replace(kind, extents=kind.extents[1:]) if kind.extents else replace(kind, pointer=kind.pointer - 1)
            if kind.pointer < 0:
                fail(node, "only arrays and pointers have elements")
            return base._replace(indices=(*base.indices, index), type=kind, node=node)
        if isinstance(node, ast.Member):
            base = self._part(node.base, scope)
            if base is None:
                return None
            return base._replace(path=(*base.path, node.name), type=self._member(base.type, node), node=node)
        return None

    def _member(self, kind: ast.Type, node: ast.Member) -> ast.Type:
        if not is_structure(kind) or kind.pointer or kind.extents:
            fail(node, f"field {node.name!r} of what is not one structure", "index an array; a pointer takes ->")
        fields = self._of.fields_of(kind, node)
        if node.name not in fields:
            fail(node, f"{kind.name!r} has no field {node.name!r}", f"its fields: {', '.join(fields)}")
        return fields[node.name]

    def _access(self, part: Part) -> ast.Expression:
        """The expression for a number, pointer or array of a structure."""
        name = ast.Name(self._of.name(part.variable, part.path), part.node.line, part.node.column)
        indices = list(part.indices)
        result: ast.Expression = name
        if part.declared.pointer and indices:
            field = next(field.type for field in self._of.leaves(part.declared, part.node) if field.path == part.path)
            flat = ast.Type(field.name, field.pointer, (ZERO, *field.extents))
            result = access(name, indices[: len(flat.extents)], flat, part.node)
            indices = indices[len(flat.extents) :]
        for index in indices:
            result = ast.Index(result, index, part.node.line, part.node.column)
        return result

    def _arguments(self, call: ast.Call, scope: Scope) -> Iterator[ast.Expression]:
        parameters = self._parameters[call.function]
        for number, argument in enumerate(call.arguments):
            kind = _as_passed(parameters[number]) if number < len(parameters) else None
            if kind is None or not is_structure(kind):
                yield self._rewritten(argument, scope)
            else:
                yield from self._values(argument, kind, scope)

    # --- a value of every field ---

    def _values(self, node: ast.Expression, kind: ast.Type, scope: Scope) -> list[Any]:
        """The values that give each field of a structure, or each pointer to one, its value."""
        leaves = list(self._of.leaves(kind, node))
        if len(leaves) > 1 and not _is_list(node) and _has_effects(node):
            fail(node, "this is evaluated for each field, and has an effect", "assign it to a variable before")
        if kind.pointer:
            return [self._address(node, kind, field, scope) for field in leaves]
        part = self._part(node, scope)
        if part is not None:
            if part.type != kind:
                fail(node, f"a value of {kind.name!r} is needed here")
            if any(field.type.extents for field in leaves):
                fail(node, f"{kind.name!r} has arrays and is copied", "copy element by element")
            return [self._access(part._replace(path=(*part.path, *field.path))) for field in leaves]
        given = node.operand if isinstance(node, ast.Cast) else node
        return [self._rewritten(self._of.stated(given, kind, field.path, field.type), scope) for field in leaves]

    def _address(self, node: Any, kind: ast.Type, field: Field, scope: Scope) -> ast.Expression:
        if isinstance(node, ast.Cast):
            return self._address(node.operand, kind, field, scope)
        if isinstance(node, ast.Conditional):
            then, otherwise = (self._address(way, kind, field, scope) for way in (node.then, node.otherwise))
            return replace(node, condition=self._rewritten(node.condition, scope), then=then, otherwise=otherwise)
        if node in (ZERO, ast.Name("NULL")):
            return ast.Name("NULL", node.line, node.column)
        if isinstance(node, ast.Binary) and node.operator == "+":
            node = ast.Unary("&", _indexed(node), node.line, node.column)
        part = self._part(node.operand if isinstance(node, ast.Unary) and node.operator == "&" else node, scope)
        if part is None or part.type.name != kind.name or (part.type.pointer and part.indices):
            fail(node, f"a pointer to {kind.name!r} is needed here")
        part = part._replace(path=(*part.path, *field.path))
        if part.type.pointer:
            return self._access(part)
        zeros = (ZERO,) * (len(part.type.extents) + len(field.type.extents))
        return ast.Unary("&", self._access(part._replace(indices=(*part.indices, *zeros))), node.line, node.column)

    def _of_literal(self, node: Any, scope: Scope) -> Any:
        """`((struct s){…}).field[1]`: the value in the list."""
        base = node
        indices: list[ast.Expression] = []
        while isinstance(base, ast.Index):
            indices.insert(0, base.index)
            base = base.base
        if not isinstance(base, ast.Member) or not isinstance(base.base, ast.Cast):
            if isinstance(base, ast.Member):
                fail(base, f"field {base.name!r} of what is not a structure's variable")
            return None
        literal = base.base
        if _has_effects(literal):
            fail(base, "a list of which one field is taken has an effect", "declare a variable")
        kind = self._member(literal.type, base)
        value = self._of.stated(literal.operand, replace(literal.type, fields=()), (base.name,), kind)
        for index in indices:
            if not isinstance(value, ast.InitializerList) or not isinstance(index, ast.IntLiteral):
                fail(base, "an element of a list is chosen by a number", "declare a variable")
            value = value.values[index.value] if index.value < len(value.values) else ZERO
        return self._rewritten(value, scope)

    def _size(self, node: ast.SizeOf, scope: Scope) -> ast.Expression | None:
        operand = node.operand
        part = None if isinstance(operand, ast.Type) else self._part(operand, scope)
        kind = operand if isinstance(operand, ast.Type) else part.type if part is not None else None
        if kind is None or kind.pointer:
            return None
        leaves = [field.type for field in self._of.leaves(kind, node)] if is_structure(kind) else [kind]
        if len({(leaf.name, leaf.pointer) for leaf in leaves}) > 1 or leaves[0].pointer:
            fail(node, f"the size of {kind.name!r}, with fields of several types, is not defined here")
        total: ast.Expression = ZERO
        for leaf in leaves:
            size: ast.Expression = ast.SizeOf(ast.Type(leaf.name), node.line, node.column)
            for extent in (*leaf.extents, *(kind.extents if is_structure(kind) else ())):
                size = ast.Binary("*", size, extent, node.line, node.column)
            total = size if total == ZERO else ast.Binary("+", total, size, node.line, node.column)
        return total


def _is_list(node: Any) -> bool:
    return isinstance(node.operand if isinstance(node, ast.Cast) else node, ast.InitializerList)


def _has_effects(node: Any) -> bool:
    return any(isinstance(part, ast.Assignment | ast.Increment | ast.Call) for part in walk(node))


def _indexed(sum_: ast.Binary) -> ast.Index:
    """The element that `p + i` points at."""
    return ast.Index(sum_.left, sum_.right, sum_.line, sum_.column)


def _as_passed(parameter: ast.KernelParameter) -> ast.Type:
    """The type of a parameter: an array is a pointer."""
    kind = replace(parameter.type, fields=())
    if not is_structure(kind):
        return kind
    if kind.pointer + len(kind.extents) > 1:
        fail(parameter, f"{parameter.name!r} is more than a pointer to a structure", "pass a pointer to the first")
    return replace(kind, pointer=1, extents=()) if kind.extents else kind


def _declared_type(variable: ast.Type, field: ast.Type) -> ast.Type:
    """The type of the variable for a field: with the extents of an array of structures, or a pointer to its first."""
    if variable.pointer:
        return ast.Type(field.name, field.pointer + 1)
    return replace(field, extents=(*variable.extents, *field.extents))
