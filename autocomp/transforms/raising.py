"""Raises what hand-written kernels say in other words to what the normal form is made of.

Helper functions are put in the place of their calls, counting `while` loops become `for` loops, and a variable that has
one value in the first iteration and another one in all others becomes a condition. What is not surely the same is left
as it is; `unraised` names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from autocomp.kernel import ast
from autocomp.transforms.loops import progression
from autocomp.transforms.rewrite import (
    all_names,
    assigned,
    blocks,
    call_of,
    called,
    declared,
    fresh,
    leaves_early,
    names,
    rewrite_statements,
    shared,
    substitute,
    walk,
    with_blocks,
    with_statements,
)


def raised(kernel: ast.Kernel) -> ast.Kernel:
    """The same kernel in fewer constructs; helpers that nothing calls any more are gone."""
    helpers: dict[str, ast.Function] = {}
    taken = set(all_names(kernel))
    kept: list[ast.Function] = []
    for function in kernel.functions:
        body = _inlined(function, helpers, taken)
        body = with_statements(body, _counted(body.statements))
        body = rewrite_statements(body, lambda statement, path: _with_counted_loops(statement))
        function = function if body is function.body else replace(function, body=body)
        helpers[function.name] = function
        kept.append(function)
    needed = frozenset[str]().union(*(called(function.body) for function in kept))
    functions = (*(helper for helper in kept[:-1] if helper.name in needed), kept[-1])
    unchanged = len(functions) == len(kernel.functions) and all(map(lambda a, b: a is b, functions, kernel.functions))
    return kernel if unchanged else replace(kernel, functions=functions, source="")


def unraised(kernel: ast.Kernel) -> tuple[str, ...]:
    """What a kernel in normal form still has that the transformations do not see through, in source order."""
    helpers = {function.name for function in kernel.functions}
    found = (_named(node, helpers) for node in walk(kernel.entry.body))
    return tuple(dict.fromkeys(text for text in found if text is not None))


def _named(node: object, helpers: set[str]) -> str | None:
    if isinstance(node, ast.While | ast.DoWhile):
        return f"a `while` loop that does not simply count{_at(node.line)}"
    if isinstance(node, ast.For) and progression(node) is None:
        return f"a `for` loop whose number of iterations is not constant{_at(node.line)}"
    if isinstance(node, ast.Call) and node.function in helpers:
        return f"the helper function `{node.function}`{_at(node.line)}"
    if isinstance(node, ast.ExpressionStatement) and isinstance(node.expression, ast.Assignment):
        target = node.expression.target
        return f"the variable `{target.name}`, which changes{_at(node.line)}" if isinstance(target, ast.Name) else None
    return None


def _at(line: int) -> str:
    return f" in line {line}" if line else ""


def _inlined(function: ast.Function, helpers: Mapping[str, ast.Function], taken: set[str]) -> ast.Block:
    """The function's body with the bodies of helpers in place of their calls."""
    own = declared(function.body) | {parameter.name for parameter in function.parameters}

    def change(statement: ast.Statement, path: tuple[int, ...]) -> ast.Statement | None:
        call = call_of(statement)
        helper = helpers.get(call.function) if call is not None else None
        if call is None or helper is None or not _is_plain(helper) or len(call.arguments) != len(helper.parameters):
            return None
        given = {parameter.name for parameter in helper.parameters}
        if (names(helper.body) - declared(helper.body) - given) & own:
            return None  # a name of the machine in the helper would be hidden by a variable of the caller
        values: dict[str, ast.Expression] = {}
        first: list[ast.Statement] = []
        for parameter, argument in zip(helper.parameters, call.arguments, strict=True):
            name = fresh(parameter.name, taken)
            taken.add(name)
            values[parameter.name] = ast.Name(name)
            first.append(ast.Declaration((ast.Declarator(name, parameter.type, argument),)))
        return ast.Block((*first, *substitute(helper.body, values).statements))

    return rewrite_statements(function.body, change) if helpers else function.body


def _is_plain(helper: ast.Function) -> bool:
    """Whether a call comes to the body with the scalar parameters as variables in front."""
    given = {parameter.name for parameter in helper.parameters}
    return (
        helper.return_type.name == "void"
        and not leaves_early(helper.body)
        and given.isdisjoint(declared(helper.body))
        and not any(parameter.type.pointer or parameter.type.extents for parameter in helper.parameters)
        and not any(isinstance(node, ast.Declaration) and node.static for node in walk(helper.body))
    )


def _with_counted_loops(statement: ast.Statement) -> ast.Statement:
    """The statement with the lists of statements that it holds directly in raised form; itself if they are already."""
    return with_blocks(statement, tuple(with_statements(held, _counted(held.statements)) for held in blocks(statement)))


def _counted(given: tuple[ast.Statement, ...]) -> tuple[ast.Statement, ...]:
    """Statements with each declaration and the loop after it that it belongs to made one."""
    result: list[ast.Statement] = []
    for number, statement in enumerate(given):
        before = result[-1] if result else None
        if isinstance(before, ast.Declaration) and len(before.declarators) == 1 and not before.static:
            declarator = before.declarators[0]
            alone = not any(declarator.name in names(later) for later in given[number + 1 :])
            merged = _for_of_while(before, statement) or _first_and_others(declarator, statement) if alone else None
            if merged is not None:
                result[-1] = merged
                continue
        result.append(statement)
    return tuple(result)


def _for_of_while(before: ast.Declaration, statement: ast.Statement) -> ast.For | None:
    """`int v = s; while (c) { …; v += d; }` as `for (int v = s; c; v += d) { … }`."""
    if not isinstance(statement, ast.While) or before.declarators[0].initializer is None:
        return None
    held = _ending_in_change(statement.body, before.declarators[0].name)
    if held is None:
        return None
    body, change = held
    return ast.For(before, statement.condition, change, body, statement.line)


def _first_and_others(declarator: ast.Declarator, statement: ast.Statement) -> ast.For | None:
    """`T c = 1; for (int v = s; …) { …; c = 2; }` as `for (int v = s; …) { const T c = v == s ? 1 : 2; … }`."""
    if not isinstance(statement, ast.For) or not isinstance(statement.initial, ast.Declaration):
        return None
    held = _ending_in_change(statement.body, declarator.name)
    if held is None or len(statement.initial.declarators) != 1:
        return None
    body, change = held
    counter = statement.initial.declarators[0]
    first, others = declarator.initializer, change.value if isinstance(change, ast.Assignment) else None
    if not isinstance(first, ast.IntLiteral) or not isinstance(others, ast.IntLiteral):
        return None
    if not isinstance(change, ast.Assignment) or change.operator or not isinstance(counter.initializer, ast.IntLiteral):
        return None
    head = (statement.condition, statement.step)
    if declarator.name in names(statement.condition) | names(statement.step) or None in head:
        return None
    if counter.name in assigned(body) | shared(body) or not _monotonic(statement.step, counter.name):
        return None
    is_first = ast.Binary("==", ast.Name(counter.name), counter.initializer)
    value = ast.Conditional(is_first, first, others)
    chosen = ast.Declaration((replace(declarator, initializer=value),), const=True)
    return replace(statement, body=ast.Block((chosen, *body.statements)))


def _monotonic(step: ast.Expression | None, counter: str) -> bool:
    """Whether a loop's counter does not come back to its first value."""
    if isinstance(step, ast.Step):
        return step.target == ast.Name(counter)
    return (
        isinstance(step, ast.Assignment)
        and step.target == ast.Name(counter)
        and step.operator in ("+", "-")
        and isinstance(step.value, ast.IntLiteral)
        and step.value.value > 0
    )


def _ending_in_change(body: ast.Block, variable: str) -> tuple[ast.Block, ast.Assignment | ast.Step] | None:
    """A loop's body that always ends in the one change of a variable: what comes before, and the change."""
    last = body.statements[-1] if body.statements else None
    change = last.expression if isinstance(last, ast.ExpressionStatement) else None
    if not isinstance(change, ast.Assignment | ast.Step) or change.target != ast.Name(variable):
        return None
    rest = ast.Block(body.statements[:-1])
    if leaves_early(rest) or variable in assigned(rest) | shared(rest) or names(change) & declared(rest):
        return None
    return rest, change
