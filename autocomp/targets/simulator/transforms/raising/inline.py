"""Helper functions in the place of their calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.syntax.rewrite import (
    all_names,
    assigned,
    call_of,
    called,
    declared,
    fresh,
    leaves_early,
    map_expressions,
    names,
    rewrite_statements,
    shared,
    substitute,
    walk,
    with_statements,
)

Helpers = Mapping[str, ast.Function]


def inlined(kernel: ast.Kernel) -> ast.Kernel:
    """The kernel with the bodies of its helpers in the place of their calls; helpers that nothing calls any more are
    gone. A helper stays that leaves early other than by `return` in a branch, has static variables or arrays that are
    not those of the caller, or whose result is not an expression of its parameters."""
    helpers: dict[str, ast.Function] = {}
    taken = set(all_names(kernel))
    kept: list[ast.Function] = []
    for function in kernel.functions:
        body = _Inliner(function, helpers, taken).body() if helpers else function.body
        function = function if body is function.body else replace(function, body=body)
        helpers[function.name] = replace(function, body=_falling_through(function.body))
        kept.append(function)
    needed = frozenset[str]().union(*(called(function.body) for function in kept))
    functions = (*(helper for helper in kept[:-1] if helper.name in needed), kept[-1])
    unchanged = len(functions) == len(kernel.functions) and all(map(lambda a, b: a is b, functions, kernel.functions))
    return kernel if unchanged else replace(kernel, functions=functions, source="")


class _Inliner:
    """Exchanges the calls in one function. `taken` are the names that new variables must not have."""

    def __init__(self, caller: ast.Function, helpers: Helpers, taken: set[str]) -> None:
        self._caller = caller
        self._own = declared(caller.body) | {parameter.name for parameter in caller.parameters}
        self._arrays = {parameter.name: parameter.type for parameter in caller.parameters}
        self._helpers = helpers
        self._taken = taken

    def body(self) -> ast.Block:
        body = map_expressions(self._caller.body, self._value, lambda part: called(part).isdisjoint(self._helpers))
        return rewrite_statements(body, lambda statement, path: self._statements(statement))

    def _value(self, node: ast.Expression) -> ast.Expression:
        """The expression that a call of a helper computes; any other expression unchanged."""
        helper = self._helper_of(node)
        if helper is None or not isinstance(node, ast.Call) or helper.return_type.name == "void":
            return node
        result = _result(helper.body.statements)
        scalars = not any(p.type.pointer or p.type.extents for p in helper.parameters)
        if result is None or not scalars or not all(map(_is_repeatable, node.arguments)):
            return node
        pairs = zip(helper.parameters, node.arguments, strict=True)
        values: dict[str, ast.Expression] = {p.name: ast.Cast(p.type, argument) for p, argument in pairs}
        return ast.Cast(helper.return_type, substitute(result, values))

    def _statements(self, statement: ast.Statement) -> ast.Block | None:
        """The block that replaces a statement which calls a helper; None for any other statement."""
        call = call_of(statement)
        helper = None if call is None else self._helper_of(call)
        if call is None or helper is None or not _is_plain(helper):
            return None
        values: dict[str, ast.Expression] = {}
        first: list[ast.Statement] = []
        for parameter, argument in zip(helper.parameters, call.arguments, strict=True):
            if parameter.type.extents:
                if not self._is_same_array(parameter, argument):
                    return None
                values[parameter.name] = argument
                continue
            name = fresh(parameter.name, self._taken)
            self._taken.add(name)
            values[parameter.name] = ast.Name(name)
            first.append(ast.Declaration((ast.Declarator(name, parameter.type, argument),)))
        return ast.Block((*first, *substitute(helper.body, values).statements))

    def _helper_of(self, node: ast.Expression) -> ast.Function | None:
        helper = self._helpers.get(node.function) if isinstance(node, ast.Call) else None
        if helper is None or not isinstance(node, ast.Call) or len(node.arguments) != len(helper.parameters):
            return None
        given = {parameter.name for parameter in helper.parameters}
        # A name of the machine in the helper would be hidden by a variable of the caller.
        return None if (names(helper.body) - declared(helper.body) - given) & self._own else helper

    def _is_same_array(self, parameter: ast.KernelParameter, argument: ast.Expression) -> bool:
        """True if an array parameter is merely another name for one of the caller's arrays."""
        array = self._arrays.get(argument.name) if isinstance(argument, ast.Name) else None
        return (
            array is not None and array.name == parameter.type.name and array.extents[1:] == parameter.type.extents[1:]
        )


def _is_plain(helper: ast.Function) -> bool:
    """True if a call can be inlined as parameter declarations followed by the body."""
    given = {parameter.name for parameter in helper.parameters}
    arrays = {parameter.name for parameter in helper.parameters if parameter.type.extents}
    return (
        helper.return_type.name == "void"
        and not helper.return_type.pointer
        and not leaves_early(helper.body)
        and given.isdisjoint(declared(helper.body))
        and arrays.isdisjoint(assigned(helper.body) | shared(helper.body))
        and not any(isinstance(node, ast.Declaration) and node.static for node in walk(helper.body))
    )


def _falling_through(body: ast.Block) -> ast.Block:
    """The body with the rest of it in the other branch where a branch ends in `return;`."""
    statements = body.statements
    if statements and statements[-1] == ast.Return():
        return _falling_through(ast.Block(statements[:-1]))
    for number, statement in enumerate(statements):
        if isinstance(statement, ast.If) and statement.then.statements[-1:] == (ast.Return(),):
            other = statement.otherwise.statements if statement.otherwise is not None else ()
            rest = _falling_through(ast.Block((*other, *statements[number + 1 :])))
            then = with_statements(statement.then, statement.then.statements[:-1])
            return ast.Block((*statements[:number], replace(statement, then=then, otherwise=rest)))
    return body


def _result(statements: tuple[ast.Statement, ...]) -> ast.Expression | None:
    """The value that statements return, as one expression; None where they do more than choose and name values."""
    if not statements:
        return None
    first, *others = statements
    rest = tuple(others)
    if isinstance(first, ast.Return):
        return first.value if first.value is not None and _is_repeatable(first.value) else None
    if isinstance(first, ast.If):
        other = first.otherwise.statements if first.otherwise is not None else ()
        then, otherwise = _result((*first.then.statements, *rest)), _result((*other, *rest))
        if then is None or otherwise is None or not _is_repeatable(first.condition):
            return None
        return ast.Conditional(first.condition, then, otherwise)
    if not isinstance(first, ast.Declaration) or first.static:
        return None
    result = _result(rest)
    for declarator in reversed(first.declarators):
        value = declarator.initializer
        if result is None or value is None or declarator.type.extents or not _is_repeatable(value):
            return None
        result = substitute(result, {declarator.name: ast.Cast(declarator.type, value)})
    return result


def _is_repeatable(value: ast.Expression) -> bool:
    """True if an expression may be evaluated any number of times."""
    return not any(isinstance(node, ast.Call | ast.Assignment | ast.Increment) for node in walk(value))
