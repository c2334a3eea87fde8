"""The values of variables, as expressions of the counters of the loops around them (scalar evolution).

Hand-written kernels keep addresses, toggles and counts in variables that change. Each value that such a variable may
have where it is used takes the place of its name. A step added in every iteration becomes a multiple of the loop's
counter, a toggle its remainder by 2, a branch a conditional expression. Loops whose number of iterations follows from
that count from 0. A variable with a use where its value is not known keeps all its statements.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from autocomp.remember import remembered
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.raising.iteration_counts import Count, count_of
from autocomp.targets.simulator.transforms.raising.recurrences import Values, before, changes_in, step_of
from autocomp.targets.simulator.transforms.syntax.affine import (
    Interval,
    Ranges,
    interval,
    limits,
    literal,
)
from autocomp.targets.simulator.transforms.syntax.arithmetic import simplify
from autocomp.targets.simulator.transforms.syntax.loops import loop, make_if, make_loop
from autocomp.targets.simulator.transforms.syntax.rewrite import (
    assigned,
    declared,
    fresh,
    leaves_early,
    names,
    shared,
    substitute,
    walk,
    walk_statements,
    with_body,
    with_statements,
)

Statements = tuple[ast.Statement, ...]

_LARGEST = 64  # nodes of an expression that is still worth having in place of a variable


def evolved(kernel: ast.Kernel) -> ast.Kernel:
    """The kernel without the variables whose values are known wherever they are used. Without such variables, the
    kernel itself.

    Variables must be distinct, and loops that count must do so from 0, as in the normal form.
    """
    body = kernel.entry.body
    followed = _candidates(body)
    while followed:
        attempt = _Evolution(body, followed)
        statements = attempt.statements(body.statements, {}, {})
        if not attempt.unknown:
            return with_body(kernel, with_statements(body, statements))
        followed = {name: kind for name, kind in followed.items() if name not in attempt.unknown}
    return kernel


@remembered
def changing(node: ast.Statement) -> frozenset[str]:
    """Every variable that changes below a statement other than by a loop's counting."""
    if isinstance(node, ast.For) and loop(node) is not None:
        return changing(node.body)
    if isinstance(node, ast.Block):
        return frozenset[str]().union(*map(changing, node.statements))
    if isinstance(node, ast.If):
        branches = (node.then, *((node.otherwise,) if node.otherwise else ()))
        return assigned(node.condition).union(*map(changing, branches))
    return assigned(node)


def _candidates(body: ast.Block) -> dict[str, ast.Type]:
    """The integers and pointers that change, with their types."""
    types: dict[str, ast.Type] = {}
    for node in walk_statements(body):
        declaration = node.initial if isinstance(node, ast.For) and loop(node) is None else node
        if isinstance(declaration, ast.Declaration) and not declaration.static:
            types.update({d.name: d.type for d in declaration.declarators if _is_number(d.type)})
    return {name: kind for name, kind in types.items() if name in changing(body) - shared(body)}


def _is_number(kind: ast.Type) -> bool:
    return limits(kind) is not None or (kind.pointer == 1 and not kind.extents)


class _Evolution:
    """One walk over a function's body, in the order of execution. Of variables that are used, or changed, in a way that
    does not tell their values, the names are in `unknown` afterwards; the statements found are then worth nothing."""

    def __init__(self, body: ast.Block, followed: Mapping[str, ast.Type]) -> None:
        self._followed = followed
        self._unstable = changing(body) - followed.keys()
        self.unknown: set[str] = set()
        self._rehearsing = False  # only the values after a statement are asked for

    def statements(self, given: Statements, values: Values, ranges: Ranges) -> Statements:
        """The statements without the variables that are followed, whose `values` are brought up to date."""
        scope = dict(ranges)
        opened: set[str] = set()
        result: list[ast.Statement] = []
        for statement in given:
            if isinstance(statement, ast.Declaration):
                opened |= declared(statement)
                result.extend(self._declaration(statement, values, scope))
            else:
                result.extend(self._statement(statement, values, scope))
        for name, value in values.items():
            if value is not None and not opened.isdisjoint(names(value)):
                values[name] = None
        for name in opened & values.keys():
            del values[name]
        return tuple(result)

    def _statement(self, statement: ast.Statement, values: Values, ranges: Ranges) -> Statements:
        if isinstance(statement, ast.ExpressionStatement):
            return self._expression(statement, values, ranges)
        if isinstance(statement, ast.If):
            return self._if(statement, values, ranges)
        if isinstance(statement, ast.Block):
            return (with_statements(statement, self.statements(statement.statements, values, ranges)),)
        if isinstance(statement, ast.For):
            counted = loop(statement)
            if counted is not None:
                once = Count(counted.variable, counted.trips)
                return self._loop(once, statement.body.statements, values, ranges)
        if isinstance(statement, ast.For | ast.While | ast.DoWhile):
            return self._uncounted(statement, values, ranges)
        return (statement,)

    def _declaration(self, statement: ast.Declaration, values: Values, scope: dict[str, Interval]) -> Statements:
        kept: list[ast.Declarator] = []
        for declarator in statement.declarators:
            initial = declarator.initializer
            if declarator.name in self._followed:
                value = None if initial is None else self._held(declarator.name, initial, values)
                self._assign(declarator.name, value, values, scope)
                continue
            if initial is not None:
                initial = self._used(initial, values)
                bounds = interval(initial, scope)
                if bounds is not None and declarator.name not in self._unstable:
                    scope[declarator.name] = bounds
            kept.append(replace(declarator, initializer=initial))
        return (replace(statement, declarators=tuple(kept)),) if kept else ()

    def _expression(self, statement: ast.ExpressionStatement, values: Values, ranges: Ranges) -> Statements:
        change = statement.expression
        if isinstance(change, ast.Assignment | ast.Increment) and isinstance(change.target, ast.Name):
            name = change.target.name
            if name in self._followed:
                self._assign(name, self._held(name, _new_value(change), values), values, ranges)
                return ()
        return (replace(statement, expression=self._used(change, values)),)

    def _if(self, statement: ast.If, values: Values, ranges: Ranges) -> Statements:
        self._stays(statement, only=leaves_early(statement))
        condition = self._used(statement.condition, values)
        other = statement.otherwise or ast.Block(())
        taken, left = dict(values), dict(values)
        then = self.statements(statement.then.statements, taken, ranges)
        otherwise = self.statements(other.statements, left, ranges)
        for name in values:
            sides = taken[name], left[name]
            if sides[0] == sides[1]:
                values[name] = sides[0]
            elif sides[0] is None or sides[1] is None:
                values[name] = None
            else:
                self._assign(name, ast.Conditional(condition, sides[0], sides[1]), values, ranges)
        blocks = with_statements(statement.then, then), with_statements(other, otherwise)
        return (ast.If(condition, blocks[0], blocks[1] if otherwise else None, statement.line),)

    def _loop(
        self, count: Count, body: Statements, values: Values, ranges: Ranges, after: Values | None = None
    ) -> Statements:
        """A loop that runs `count` times over statements, each iteration under the count's conditions. `after`: the
        values after the statements, where they have been rehearsed: each nested loop would double the work."""
        if count.most <= 0:
            return ()
        inside = {**ranges, count.variable: (0, count.most - 1)}
        block = ast.Block(body)
        moving = (changing(block) & values.keys()) - declared(block)
        after = self._rehearsed(body, moving, values, inside) if after is None else after
        changes = changes_in(count, {name: values[name] for name in moving}, after)
        result: Statements = ()
        if not self._rehearsing:
            current = {**values, **{name: change.start for name, change in changes.items()}}
            for name in moving:
                self._assign(name, current[name], current, inside)
            guards = [self._used(condition, current) for condition in count.conditions]
            held = make_if(guards, self.statements(body, current, inside))
            result = (make_loop(count.variable, count.most, held),)
        for name in moving:
            self._assign(name, None if count.conditions else changes[name].after, values, ranges)
        return result

    def _rehearsed(self, body: Statements, moving: Collection[str], values: Values, ranges: Ranges) -> Values:
        """The values after statements, as expressions of what those that are `moving` were before them."""
        rehearsed: Values = {**values, **{name: ast.Name(before(name)) for name in moving}}
        outer, self._rehearsing = self._rehearsing, True
        self.statements(body, rehearsed, ranges)
        self._rehearsing = outer
        return rehearsed

    def _uncounted(self, given: ast.For | ast.While | ast.DoWhile, values: Values, ranges: Ranges) -> Statements:
        """A loop that does not count from 0: made to, or with all that changes in it left alone."""
        body: Statements = given.body.statements
        before: Statements = ()
        if isinstance(given, ast.For):
            before = () if given.initial is None else (given.initial,)
            body = (*body, *(() if given.step is None else (ast.ExpressionStatement(given.step),)))
        condition = given.condition
        inside = dict(values)
        kept = () if leaves_early(given.body) else self._before_loop(before, inside, ranges)
        moving = (changing(ast.Block(body)) & inside.keys()) - declared(ast.Block(body))
        if condition is None or kept is None or leaves_early(given.body) or not moving:
            return self._left_alone(given, values)
        after = self._rehearsed(body, moving, inside, ranges)
        steps = {name: step_of(name, after[name]) for name in moving}
        known = {name: value for name, value in inside.items() if value is not None}
        count = count_of(simplify(condition, ranges), known, steps, ranges, tested_last=isinstance(given, ast.DoWhile))
        if count is None:
            return self._left_alone(given, values)
        if count.variable in ranges:
            count = replace(count, variable=fresh(count.variable, ranges))
        result = self._loop(count, body, inside, ranges, after)
        values.update({name: value for name, value in inside.items() if name in values})
        return result

    def _before_loop(self, before: Statements, values: Values, ranges: Ranges) -> Statements | None:
        """No statements, if nothing is left of those that start a loop's counters, else None."""
        statements: list[ast.Statement] = []
        for statement in before:
            if isinstance(statement, ast.Declaration):
                statements.extend(self._declaration(statement, values, dict(ranges)))
            else:
                statements.extend(self._statement(statement, values, ranges))
        return None if statements else ()

    def _left_alone(self, given: ast.For | ast.While | ast.DoWhile, values: Values) -> Statements:
        self._stays(given)
        known = {name: value for name, value in values.items() if value is not None and name in names(given)}
        if not self._rehearsing and values.keys() & names(given) != known.keys():
            self.unknown |= (values.keys() & names(given)) - known.keys()
        return (substitute(given, known),)

    def _stays(self, statement: ast.Statement, only: bool = True) -> None:
        """Gives up the variables that change in a statement."""
        if only:
            self.unknown |= (assigned(statement) | declared(statement)) & self._followed.keys()

    def _used(self, node: ast.Expression, values: Values) -> ast.Expression:
        """An expression with the values of variables."""
        self.unknown |= assigned(node) & self._followed.keys()
        needed = names(node) & self._followed.keys()
        known = {name: value for name in needed if (value := values.get(name)) is not None}
        if not self._rehearsing:
            self.unknown |= needed - known.keys()
        return substitute(node, known)

    def _known(self, node: ast.Expression, values: Values) -> ast.Expression | None:
        """The same for a value that is kept: None if it is not known, or may change by itself."""
        if any(values.get(name) is None for name in names(node) & self._followed.keys()):
            return None
        return self._used(node, values)

    def _held(self, name: str, node: ast.Expression, values: Values) -> ast.Expression | None:
        """The value of a variable once an expression is assigned to it; a pointer keeps its own type."""
        kind = self._followed[name]
        value = self._known(node, values)
        if value is None or not kind.pointer:
            return value
        others = {self._followed[other] for other in names(node) & self._followed.keys()}
        if not any(other.pointer for other in others):
            return ast.Cast(kind, value)
        return value if {other for other in others if other.pointer} == {kind} else None

    def _assign(self, name: str, value: ast.Expression | None, values: Values, ranges: Ranges) -> None:
        """Keeps what a variable holds from here on, if that is a number that its type can hold."""
        if value is not None:
            value = simplify(value, ranges)
            held, bounds = limits(self._followed[name]), interval(value, ranges)
            fits = held is None or (bounds is not None and held[0] <= bounds[0] and bounds[1] <= held[1])
            if not (self._rehearsing or fits) or not _is_stable(value) or not self._unstable.isdisjoint(names(value)):
                value = None
        values[name] = value


def _new_value(change: ast.Assignment | ast.Increment) -> ast.Expression:
    if isinstance(change, ast.Increment):
        return ast.Binary("+" if change.operator == "++" else "-", change.target, literal(1))
    return ast.Binary(change.operator, change.target, change.value) if change.operator else change.value


def _is_stable(value: ast.Expression) -> bool:
    """True if an expression, evaluated later, has the value that it has now; it reads no memory."""
    nodes = list(walk(value))
    held = sum(isinstance(node, ast.Index) for node in nodes)
    addressed = sum(isinstance(node, ast.Unary) and node.operator == "&" for node in nodes)
    changes = any(isinstance(node, ast.Call | ast.Assignment | ast.Increment) for node in nodes)
    return len(nodes) <= _LARGEST and not changes and (not held or addressed > 0)
