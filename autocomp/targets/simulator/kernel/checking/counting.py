"""Loops that count: the range of their variable in the body."""

from __future__ import annotations

from collections.abc import Mapping

from autocomp.targets.simulator.kernel.checking.expressions import Expressions
from autocomp.targets.simulator.kernel.checking.scope import Assigned, Scope, Symbol
from autocomp.targets.simulator.kernel.code.typed import INT64_HIGH, Constant, Value, Variable, bounds
from autocomp.targets.simulator.kernel.code.types import INT64, Scalar, is_integer
from autocomp.targets.simulator.kernel.syntax import ast


def narrow_variable(
    loop: ast.For,
    scope: Scope,
    expressions: Expressions,
    assigned: Assigned,
    initial: Mapping[int, tuple[int, int]],
) -> None:
    """Narrows what is known of the variable of a counting loop whose body leaves it alone. `initial` has the bounds of
    variables' initial values, by their registers."""
    counting = _counting(loop, expressions, assigned)
    if counting is None:
        return
    name, upward, stride = counting
    symbol = scope.find(name)
    if not isinstance(symbol, Symbol) or not isinstance(symbol.value, Variable) or symbol.const:
        return
    variable = symbol.value
    kind = variable.type
    assert isinstance(loop.condition, ast.Binary)
    limit = expressions.value(loop.condition.right)
    if not isinstance(kind, Scalar) or variable.slot not in initial or not is_integer(limit.type):
        return
    (low, high), (limit_low, limit_high) = initial[variable.slot], bounds(limit)
    strict = loop.condition.operator in ("<", ">")
    if upward and low >= 0 and limit_low >= 0:
        high = max(low, limit_high - strict)
        if high + stride <= min(kind.high, INT64_HIGH):
            scope.replace(name, Symbol(variable._replace(low=low, high=high), False))
    elif not upward and kind.signed and low >= 0 and limit_low >= 0:
        scope.replace(name, Symbol(variable._replace(low=min(limit_low + strict, high), high=high), False))


def _counting(loop: ast.For, expressions: Expressions, assigned: Assigned) -> tuple[str, bool, int] | None:
    """(variable, counts upward, step) of `for (T v = …; v < …; v += c)` and its like."""
    condition, step = loop.condition, loop.step
    if not isinstance(loop.initial, ast.Declaration) or not isinstance(condition, ast.Binary):
        return None
    if not isinstance(condition.left, ast.Name) or not isinstance(step, ast.Increment | ast.Assignment):
        return None
    name = condition.left.name
    if not isinstance(step.target, ast.Name) or step.target.name != name:
        return None
    if name in assigned.outside_own_step or all(d.name != name for d in loop.initial.declarators):
        return None
    stride: Value = Constant(INT64, 1)
    if isinstance(step, ast.Assignment):
        stride = expressions.value(step.value)
    if not isinstance(stride, Constant) or not is_integer(stride.type) or stride.value <= 0:
        return None
    operator = step.operator[:1]
    if (operator, condition.operator[0]) not in (("+", "<"), ("-", ">")):
        return None
    return name, operator == "+", int(stride.value)
