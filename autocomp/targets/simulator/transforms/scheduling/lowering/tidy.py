"""Text of loops brought into the shape that a person would write: expressions folded as far as the bounds of variables
allow, loops of one iteration and constants of one use gone.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import replace

from autocomp.remember import remember
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.syntax.affine import Interval, Ranges, affine, interval, literal, truth
from autocomp.targets.simulator.transforms.syntax.arithmetic import simplify
from autocomp.targets.simulator.transforms.syntax.rewrite import (
    assigned,
    blocks,
    names,
    substitute,
    with_blocks,
    with_statements,
)

Statements = tuple[ast.Statement, ...]


def tidied(statements: Statements) -> Statements:
    """The same statements in a shorter form."""
    return _unused(_block(statements, {}, {}))


def _block(given: Statements, ranges: Ranges, values: Mapping[str, ast.Expression]) -> Statements:
    scope: dict[str, Interval] = dict(ranges)
    known = dict(values)
    changing = frozenset[str]().union(*map(assigned, given)) if given else frozenset[str]()
    result: list[ast.Statement] = []
    for statement in given:
        if isinstance(statement, ast.Declaration):
            kept = _declaration(statement, scope, known, changing)
            result.extend([] if kept is None else [kept])
        else:
            result.extend(_statement(statement, scope, known))
    return tuple(result)


def _declaration(
    statement: ast.Declaration, scope: dict[str, Interval], known: dict[str, ast.Expression], changing: frozenset[str]
) -> ast.Declaration | None:
    """The rest of a declaration, or None: constants that are as short as their names are removed."""
    (declarator,) = statement.declarators
    if declarator.initializer is None:
        return statement
    value = _folded(declarator.initializer, known, scope)
    scope.pop(declarator.name, None)
    known.pop(declarator.name, None)
    if statement.const and declarator.name not in changing:
        if _is_short(value):
            known[declarator.name] = value
            return None
        bounds = interval(value, scope)
        if bounds is not None:
            scope[declarator.name] = bounds
    return replace(statement, declarators=(replace(declarator, initializer=value),))


def _folded(node: ast.Expression, known: Mapping[str, ast.Expression], scope: Ranges) -> ast.Expression:
    """The expression with what is known put in, as short as the bounds of variables allow."""
    own = names(node)
    values = {name: known[name] for name in own if name in known}
    if not values:
        return simplify(node, scope)
    used = own.difference(values).union(*map(names, values.values()))
    given = frozenset(values.items()), frozenset((name, scope[name]) for name in used if name in scope)
    return remember(node, "folded", given, lambda: simplify(substitute(node, values), scope))


def _is_short(value: ast.Expression) -> bool:
    """True if an expression says as much as a name for it."""
    if isinstance(value, ast.IntLiteral | ast.Name):
        return True
    total = affine(value)
    return len(total.terms) == 1 and isinstance(total.terms[0][0], ast.Name)


def _statement(statement: ast.Statement, scope: Ranges, known: Mapping[str, ast.Expression]) -> Statements:
    if isinstance(statement, ast.ExpressionStatement):
        return (replace(statement, expression=_folded(statement.expression, known, scope)),)
    if isinstance(statement, ast.If):
        return _if(statement, scope, known)
    if isinstance(statement, ast.For):
        return _for(statement, scope, known)
    if isinstance(statement, ast.Block):
        inside = _block(statement.statements, scope, known)
        return (ast.Block(inside),) if any(isinstance(s, ast.Declaration) for s in inside) else inside
    return (substitute(statement, known),)


def _if(statement: ast.If, scope: Ranges, known: Mapping[str, ast.Expression]) -> Statements:
    condition = _folded(statement.condition, known, scope)
    verdict = truth(interval(condition, scope) or (0, 1))
    other = statement.otherwise.statements if statement.otherwise is not None else ()
    if verdict is not None:
        chosen = _block(statement.then.statements if verdict else other, scope, known)
        return (ast.Block(chosen),) if any(isinstance(s, ast.Declaration) for s in chosen) else chosen
    then, otherwise = _block(statement.then.statements, scope, known), _block(other, scope, known)
    if not then and not otherwise:
        return ()
    return (ast.If(condition, ast.Block(then), ast.Block(otherwise) if otherwise else None),)


def _for(statement: ast.For, scope: Ranges, known: Mapping[str, ast.Expression]) -> Statements:
    counted = _counter(statement)
    if counted is None:
        inner = replace(
            statement,
            initial=None if statement.initial is None else substitute(statement.initial, known),
            condition=None if statement.condition is None else _folded(statement.condition, known, scope),
            step=None if statement.step is None else _folded(statement.step, known, scope),
            body=ast.Block(_block(statement.body.statements, scope, known)),
        )
        return (inner,)
    name, bound, by = counted
    count = _folded(bound, known, scope)
    most = interval(count, scope)
    inside = {key: value for key, value in known.items() if key != name}
    if most is not None and most[1] <= by and most[0] >= 1:
        body = _block(statement.body.statements, scope, {**inside, name: literal(0)})
        return (ast.Block(body),) if any(isinstance(s, ast.Declaration) for s in body) else body
    around = dict(scope)
    around.pop(name, None)
    if most is not None:
        around[name] = (0, max(0, (most[1] - 1) // by * by))
    body = _block(statement.body.statements, around, inside)
    if not body:
        return ()
    assert isinstance(statement.condition, ast.Binary)
    return (replace(statement, condition=replace(statement.condition, right=count), body=ast.Block(body)),)


def _counter(statement: ast.For) -> tuple[str, ast.Expression, int] | None:
    """The variable, the bound and the step of `for (int v = 0; v < bound; v += step)`."""
    initial, condition, step = statement.initial, statement.condition, statement.step
    if not isinstance(initial, ast.Declaration) or len(initial.declarators) != 1:
        return None
    (declarator,) = initial.declarators
    if declarator.initializer != literal(0) or not isinstance(condition, ast.Binary) or condition.operator != "<":
        return None
    if condition.left != ast.Name(declarator.name):
        return None
    if isinstance(step, ast.Increment) and step.operator == "++":
        return declarator.name, condition.right, 1
    if isinstance(step, ast.Assignment) and step.operator == "+" and isinstance(step.value, ast.IntLiteral):
        return declarator.name, condition.right, step.value.value
    return None


def _unused(given: Statements) -> Statements:
    """The statements without the declarations of variables that nothing names."""
    while True:
        named = frozenset[str]().union(*map(names, given))
        kept = _without(given, named)
        if kept is given:
            return given
        given = kept


def _without(given: Statements, named: frozenset[str]) -> Statements:
    """The statements without declarations of other variables than `named`, the same tuple if all stay."""
    kept = tuple(
        with_blocks(s, tuple(with_statements(b, _without(b.statements, named)) for b in blocks(s)))
        for s in given
        if not isinstance(s, ast.Declaration) or any(d.name in named for d in s.declarators)
    )
    return given if len(kept) == len(given) and all(map(operator.is_, kept, given)) else kept
