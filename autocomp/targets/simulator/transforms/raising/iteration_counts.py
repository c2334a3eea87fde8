"""The number of iterations of a loop whose condition tests a variable that changes by equal steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.syntax.affine import (
    Affine,
    Interval,
    Ranges,
    affine,
    expression,
    interval_of,
    minimum_of,
)
from autocomp.targets.simulator.transforms.syntax.loops import conjuncts
from autocomp.targets.simulator.transforms.syntax.rewrite import names, substitute

Values = Mapping[str, ast.Expression]

# A comparison of a difference with 0 as (sign, most): it holds while sign * difference <= most.
_BELOW = {"<": (1, -1), "<=": (1, 0), ">": (-1, -1), ">=": (-1, 0), "!=": (1, 0)}


@dataclass(frozen=True)
class Count:
    """A loop that counts `variable` from 0 to `most` - 1. Where it may end sooner, `conditions`, in terms of the values
    when an iteration begins, say which iterations there are."""

    variable: str
    most: int
    conditions: tuple[ast.Expression, ...] = ()


def count_of(
    condition: ast.Expression, first: Values, steps: Mapping[str, int | None], ranges: Ranges, *, tested_last: bool
) -> Count | None:
    """The iterations of `while (condition)`, or with `tested_last` of `do … while (condition)`, or None. `first` are
    values before the loop, `steps` what each iteration adds to the variables that change in it (None: not known)."""
    moving = names(condition) & steps.keys()
    name = min(moving, default="")
    step = steps.get(name)
    if len(moving) != 1 or name not in first or not step:
        return None
    if tested_last:
        first = {**first, name: expression(affine(first[name]) + Affine(step))}
    tests = _parts(condition)
    counts = [_iterations(test, name, first, step, ranges) for test in tests]
    bounds = [one for one in counts if one is not None]
    if len(bounds) < len(counts):
        return None
    most = min(high for _, high in bounds)
    conditions = tuple(test for test, (low, _) in zip(tests, bounds, strict=True) if low < most)
    if not tested_last:
        return Count(name, most, conditions)
    return None if conditions else Count(name, most + 1)


def _parts(condition: ast.Expression) -> list[ast.Expression]:
    """Conditions that hold together where the condition does: what is below a minimum is below both of its sides."""
    parts: list[ast.Expression] = []
    for part in conjuncts(condition):
        sides = minimum_of(part.right) if isinstance(part, ast.Binary) and part.operator in ("<", "<=") else None
        if sides is None or not isinstance(part, ast.Binary):
            parts.append(part)
        else:
            parts.extend(inner for side in sides for inner in _parts(ast.Binary(part.operator, part.left, side)))
    return parts


def _iterations(test: ast.Expression, name: str, first: Values, step: int, ranges: Ranges) -> Interval | None:
    """The least and the most iterations until a test fails, where that is sure to stay so."""
    if not isinstance(test, ast.Binary) or test.operator not in _BELOW:
        test = ast.Binary("!=", test, ast.IntLiteral(0))
    others = {other: value for other, value in first.items() if other != name}
    distance = affine(substitute(test.left, others)) - affine(substitute(test.right, others))
    sign, most = _BELOW[test.operator]
    factor = distance.coefficient(name)
    start = distance - Affine(0, ((ast.Name(name), factor),)) + affine(first[name]).times(factor)
    start, speed = start.times(sign), factor * step * sign
    bounds = interval_of(start, ranges)
    if bounds is None or not speed or name in names(expression(start)):
        return None
    if test.operator == "!=":
        exact = bounds[0] == bounds[1] and bounds[0] % speed == 0 and -bounds[0] // speed >= 0
        return (-bounds[0] // speed,) * 2 if exact else None
    if speed < 0:
        return None
    low, high = (max(0, (most - bound) // speed + 1) for bound in reversed(bounds))
    return low, high
