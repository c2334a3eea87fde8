"""The normal form that the transformations work on.

Loops count from 0 in steps of 1, blocks inside blocks are flattened, scalar constants are propagated into their uses,
and expressions are folded as far as the bounds of the loop variables allow. Code that does not fit this form stays
unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from autocomp.remember import remember
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.raising.evolution import evolved
from autocomp.targets.simulator.transforms.raising.inline import inlined
from autocomp.targets.simulator.transforms.raising.pointers import Arrays, array_types, is_address, with_subscripts
from autocomp.targets.simulator.transforms.syntax.affine import Interval, Ranges, interval, limits, literal, truth
from autocomp.targets.simulator.transforms.syntax.arithmetic import replace_sums, simplify
from autocomp.targets.simulator.transforms.syntax.loops import make_loop, progression
from autocomp.targets.simulator.transforms.syntax.rewrite import (
    assigned,
    blocks,
    declared,
    fresh,
    map_expressions,
    names,
    redeclared,
    rewrite_statements,
    substitute,
    walk,
    with_blocks,
    with_body,
    with_statements,
)


def normalise(kernel: ast.Kernel, constants: Mapping[str, int | float]) -> ast.Kernel:
    """The kernel with its entry function in normal form. `constants` are the machine's and the workload's names."""
    normal = _normalised(inlined(kernel), constants)
    while (again := evolved(inlined(normal))) is not normal:
        normal = _normalised(again, constants)
    return normal


def _normalised(kernel: ast.Kernel, constants: Mapping[str, int | float]) -> ast.Kernel:
    """One round of `normalise`."""
    body = _distinct_variables(kernel.entry.body, frozenset(p.name for p in kernel.entry.parameters))
    known = {name: literal(value) for name, value in constants.items() if isinstance(value, int)}
    hidden = declared(body)
    known = {name: value for name, value in known.items() if name not in hidden}
    body = map_expressions(
        body, lambda node: _with_constants(node, known), lambda part: known.keys().isdisjoint(names(part))
    )
    body = rewrite_statements(body, lambda statement, path: _with_initial_constants(statement, known))
    arrays = array_types(replace(kernel.entry, body=body))
    statements = _Normaliser(assigned(body), arrays).statements(body.statements, {})
    return with_body(kernel, replace(body, statements=statements))


def _with_constants(node: ast.Expression, known: Mapping[str, ast.Expression]) -> ast.Expression:
    """Arithmetic with named constants replaced by their values; names that stand alone are kept for the reader."""
    if isinstance(node, ast.Binary | ast.Unary | ast.Conditional | ast.Assignment | ast.Index):
        operands = {
            field: known[value.name]
            for field, value in vars(node).items()
            if isinstance(value, ast.Name) and value.name in known
        }
        return replace(node, **operands) if operands else node  # type: ignore[arg-type]
    return node


def _with_initial_constants(statement: ast.Statement, known: Mapping[str, ast.Expression]) -> ast.Statement | None:
    """A declaration with the value of a named constant that a variable merely repeats."""
    if not isinstance(statement, ast.Declaration):
        return None
    initials = [d.initializer for d in statement.declarators]
    values = [known.get(node.name, node) if isinstance(node, ast.Name) else node for node in initials]
    if all(new is old for new, old in zip(values, initials, strict=True)):
        return None
    pairs = zip(statement.declarators, values, strict=True)
    return replace(statement, declarators=tuple(replace(d, initializer=value) for d, value in pairs))


class _Normaliser:
    """One pass over a function's body, with the bounds of the variables in scope."""

    def __init__(self, changing: frozenset[str], arrays: Arrays) -> None:
        self._changing = changing
        self._arrays = arrays

    def statements(self, given: tuple[ast.Statement, ...], ranges: Ranges) -> tuple[ast.Statement, ...]:
        result: list[ast.Statement] = []
        scope = dict(ranges)
        pending = list(given)
        while pending:
            statement = pending.pop(0)
            if isinstance(statement, ast.Declaration):
                kept, values = self._declaration(statement, scope)
                if values:
                    pending = [substitute(later, values) for later in pending]
                if kept is not None:
                    result.append(kept)
                continue
            result.extend(self._statement(statement, scope))
        return tuple(result)

    def _statement(self, statement: ast.Statement, ranges: Ranges) -> tuple[ast.Statement, ...]:
        """The normal form of a statement; computed once for the same bounds of the variables in it."""
        bounds = frozenset((name, ranges[name]) for name in names(statement) if name in ranges)
        given = (bounds, self._changing & declared(statement))
        return remember(statement, "normal form", given, lambda: self._rewritten(statement, ranges))

    def _rewritten(self, statement: ast.Statement, ranges: Ranges) -> tuple[ast.Statement, ...]:
        if isinstance(statement, ast.For):
            return self._for(statement, ranges)
        if isinstance(statement, ast.If):
            return self._if(statement, ranges)
        if isinstance(statement, ast.Block):
            inner = self._block(statement, ranges)
            return (inner,) if any(isinstance(s, ast.Declaration) for s in inner.statements) else inner.statements
        if isinstance(statement, ast.While | ast.DoWhile):
            return (with_blocks(statement, (self._block(statement.body, {}),)),)
        if isinstance(statement, ast.ExpressionStatement):
            expression = simplify(statement.expression, ranges)
            if isinstance(expression, ast.Call):
                expression = with_subscripts(expression, self._arrays, ranges)
            return (statement if expression is statement.expression else replace(statement, expression=expression),)
        return (statement,)

    def _block(self, block: ast.Block, ranges: Ranges) -> ast.Block:
        return with_statements(block, self.statements(block.statements, ranges))

    def _for(self, statement: ast.For, ranges: Ranges) -> tuple[ast.Statement, ...]:
        head = replace(
            statement,
            initial=simplify(statement.initial, ranges) if statement.initial is not None else None,
            condition=simplify(statement.condition, ranges) if statement.condition is not None else None,
        )
        counted = progression(head)
        if counted is None:
            return (with_blocks(statement, (self._block(statement.body, ranges),)),)
        value = replace_sums(
            ast.Binary("+", ast.Binary("*", ast.Name(counted.variable), literal(counted.step)), literal(counted.start))
        )
        if counted.trips == 1:
            value = literal(counted.start)
        body = (
            statement.body
            if value == ast.Name(counted.variable)
            else substitute(statement.body, {counted.variable: value})
        )
        if counted.trips == 0:
            return ()
        inner = self._block(body, {**ranges, counted.variable: (0, counted.trips - 1)})
        if not inner.statements:
            return ()
        if counted.trips == 1 and not any(isinstance(s, ast.Declaration) for s in inner.statements):
            return inner.statements
        normal = make_loop(counted.variable, counted.trips, inner.statements)
        return (statement if inner is statement.body and normal == statement else normal,)

    def _if(self, statement: ast.If, ranges: Ranges) -> tuple[ast.Statement, ...]:
        condition = simplify(statement.condition, ranges)
        then = self._block(statement.then, ranges)
        other = self._block(statement.otherwise, ranges) if statement.otherwise else None
        other = other if other is not None and other.statements else None
        verdict = truth(interval(condition, ranges) or (0, 1))
        if verdict is not None:
            return then.statements if verdict else other.statements if other is not None else ()
        if not then.statements and other is None:
            return ()
        if condition is statement.condition and then is statement.then and other is statement.otherwise:
            return (statement,)
        return (ast.If(condition, then, other),)

    def _declaration(
        self, statement: ast.Declaration, scope: dict[str, Interval]
    ) -> tuple[ast.Declaration | None, dict[str, ast.Expression]]:
        """The rest of a declaration, and the values of the variables that it no longer declares."""
        kept: list[ast.Declarator] = []
        values: dict[str, ast.Expression] = {}
        for declarator in statement.declarators:
            initial = declarator.initializer
            if initial is not None:
                initial = simplify(substitute(initial, values), scope)
            bounds = interval(initial, scope) if initial is not None else None
            same = statement.const or not statement.static or (bounds is not None and bounds[0] == bounds[1])
            settled = declarator.name not in self._changing and same
            if settled and initial is not None and declarator.type.pointer == 1:
                pointed = ast.Cast(declarator.type, initial)
                if is_address(initial, self._arrays) and names(initial) <= scope.keys() | self._arrays.keys():
                    values[declarator.name] = pointed
                    continue
            if settled and initial is not None and _propagates(declarator, initial, bounds, scope):
                values[declarator.name] = initial
                continue
            if settled and bounds is not None:
                scope[declarator.name] = bounds
            kept.append(replace(declarator, initializer=initial))
        return (replace(statement, declarators=tuple(kept)) if kept else None), values


def _propagates(
    declarator: ast.Declarator, value: ast.Expression, bounds: Interval | None, scope: Mapping[str, Interval]
) -> bool:
    """True if a declaration is a mere name for an expression; a loop's index split off by / or % keeps its own."""
    held = limits(declarator.type)
    if held is None or bounds is None or bounds[0] < held[0] or bounds[1] > held[1]:
        return False
    if any(isinstance(node, ast.Call | ast.Assignment | ast.Increment | ast.Index) for node in walk(value)):
        return False
    if not names(value) <= scope.keys():
        return False
    return not (isinstance(value, ast.Binary) and value.operator in "/%")


def _distinct_variables(body: ast.Block, taken: frozenset[str]) -> ast.Block:
    """The body with no variable hiding another, so that expressions can be moved between scopes."""
    return with_statements(body, _Renamer(taken, declared(body)).statements(body.statements))


class _Renamer:
    """Gives variables that hide others, or that other scopes declare again, names of their own.

    Loops beside each other may share a variable; the transformations recognise related loops by it.
    """

    def __init__(self, taken: frozenset[str], known: frozenset[str]) -> None:
        self._used = set(taken)  # by parameters and by declarations other than those of loops
        self._known = known
        self._live = list(taken)  # variables in scope

    def statements(self, given: tuple[ast.Statement, ...]) -> tuple[ast.Statement, ...]:
        result: list[ast.Statement] = []
        pending = list(given)
        opened = 0
        while pending:
            statement = pending.pop(0)
            if isinstance(statement, ast.Declaration):
                for declarator in statement.declarators:
                    new = fresh(declarator.name, self._used)
                    self._used.add(new)
                    if new != declarator.name:
                        statement, *pending = (_renamed(s, declarator.name, new) for s in (statement, *pending))
                    self._live.append(new)
                    opened += 1
                result.append(statement)
            elif isinstance(statement, ast.For) and isinstance(statement.initial, ast.Declaration):
                result.append(self._for(statement, statement.initial))
            else:
                inner = tuple(with_statements(held, self.statements(held.statements)) for held in blocks(statement))
                result.append(with_blocks(statement, inner))
        del self._live[len(self._live) - opened :]
        return tuple(result)

    def _for(self, statement: ast.For, initial: ast.Declaration) -> ast.For:
        opened: list[str] = []
        for declarator in initial.declarators:
            name = declarator.name
            if name in self._live:
                name = fresh(name, self._used | self._known)
                self._used.add(name)
                renamed = _renamed(statement, declarator.name, name)
                assert isinstance(renamed, ast.For)
                statement = renamed
            opened.append(name)
        self._live.extend(opened)
        body = with_statements(statement.body, self.statements(statement.body.statements))
        del self._live[len(self._live) - len(opened) :]
        return statement if body is statement.body else replace(statement, body=body)


def _renamed(statement: ast.Statement, old: str, new: str) -> ast.Statement:
    """The statement with a variable renamed, its declaration included."""
    return redeclared(substitute(statement, {old: ast.Name(new)}), {old: new})
