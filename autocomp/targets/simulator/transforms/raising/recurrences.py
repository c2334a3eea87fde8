"""The values of variables in a loop, from what one iteration makes of them (recurrences)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.raising.iteration_counts import Count
from autocomp.targets.simulator.transforms.syntax.affine import Affine, affine, constant_of, expression, literal
from autocomp.targets.simulator.transforms.syntax.arithmetic import simplify
from autocomp.targets.simulator.transforms.syntax.rewrite import names, substitute

Values = dict[str, ast.Expression | None]  # of the variables that are followed; None: not known

_LONGEST_PERIOD = 16  # of a variable that goes round in a loop


@dataclass(frozen=True)
class Change:
    """The value of a variable when an iteration begins, and after the loop."""

    start: ast.Expression | None
    after: ast.Expression | None


def before(name: str) -> str:
    """Stands for a variable's value before a loop's body; no name of C."""
    return f"{name} before"


def changes_in(count: Count, first: Values, after: Values) -> dict[str, Change]:
    """The values of variables in a loop, from those that they hold `first` and `after` one iteration, as expressions of
    those that they held before it."""
    changes: dict[str, Change] = {}
    pending = set(first)
    marks = {before(name): name for name in first}
    while pending:
        ready = []
        for name in sorted(pending):
            value = after[name]
            others = set() if value is None else {marks[mark] for mark in names(value) & marks.keys()} - {name}
            if others.isdisjoint(pending):
                ready.append(name)
                changes[name] = _change(count, name, first[name], value, {other: changes[other] for other in others})
        if not ready:  # variables that change places
            return {**changes, **dict.fromkeys(pending, Change(None, None))}
        pending -= set(ready)
    return changes


def _change(
    count: Count,
    name: str,
    first: ast.Expression | None,
    after: ast.Expression | None,
    others: Mapping[str, Change],
) -> Change:
    own, counter = ast.Name(before(name)), ast.Name(count.variable)
    if after is None or any(other.start is None for other in others.values()):
        return Change(None, None)
    if after == own:
        return Change(first, first)
    if own.name not in names(after):
        value = substitute(after, {before(n): other.start for n, other in others.items() if other.start is not None})
        last = substitute(value, {counter.name: literal(count.most - 1)})
        previous = substitute(value, {counter.name: expression(affine(counter) - Affine(1))})
        start = None if first is None else _first_and_others(counter, first, previous)
        return Change(start, last)
    if first is None or others or counter.name in names(after):
        return Change(None, None)
    step = affine(after) - affine(own)
    if own.name not in names(expression(step)):
        return Change(_sum(first, counter, step), _sum(first, literal(count.most), step))
    second = simplify(substitute(after, {own.name: first}), {})
    if simplify(substitute(after, {own.name: after}), {}) == own:
        turn = affine(second) - affine(first)
        odd = ast.Binary("%", counter, literal(2))
        return Change(_sum(first, odd, turn), second if count.most % 2 else first)
    return _round(counter, count.most, first, own.name, after)


def step_of(name: str, after: ast.Expression | None) -> int | None:
    """The constant that an iteration adds to a variable."""
    change = None if after is None else affine(after) - affine(ast.Name(before(name)))
    return change.constant if change is not None and change.is_constant else None


def _sum(first: ast.Expression, times: ast.Expression, step: Affine) -> ast.Expression:
    return ast.Binary("+", first, ast.Binary("*", times, expression(step)))


def _first_and_others(counter: ast.Name, first: ast.Expression, others: ast.Expression) -> ast.Expression:
    if first == others:
        return first
    return ast.Conditional(ast.Binary("==", counter, literal(0)), first, others)


def _round(counter: ast.Name, most: int, first: ast.Expression, own: str, after: ast.Expression) -> Change:
    """Of a variable that comes back to its first value after equal steps."""
    values: list[int] = []
    value = constant_of(first, {})
    while value is not None and value not in values and len(values) < _LONGEST_PERIOD:
        values.append(value)
        value = constant_of(simplify(substitute(after, {own: literal(value)}), {}), {})
    period = len(values)
    steps = {later - earlier for earlier, later in pairwise(values)}
    if value is None or value != values[0] or len(steps) > 1:
        return Change(None, None)
    turn = ast.Binary("%", counter, literal(period)) if period > 1 else literal(0)
    return Change(_sum(first, turn, Affine(next(iter(steps), 0))), literal(values[most % period]))
