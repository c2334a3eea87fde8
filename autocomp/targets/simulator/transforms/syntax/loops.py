"""Counted loops in their normal form: `for (int v = 0; v < TRIPS; v++)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from autocomp.remember import remembered
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.syntax.affine import Affine, affine, constant_of, expression, literal
from autocomp.targets.simulator.transforms.syntax.rewrite import assigned, leaves_early, shared

INT = ast.Type("int")


@dataclass(frozen=True)
class Loop:
    """A loop that counts from 0 to trips - 1."""

    variable: str
    trips: int


@dataclass(frozen=True)
class Progression:
    """The values start, start + step, … of a loop variable, `trips` in number."""

    variable: str
    start: int
    step: int
    trips: int


def loop(statement: ast.Statement) -> Loop | None:
    """The counted loop in normal form that a statement is, or None."""
    counted = progression(statement)
    if counted is None or (counted.start, counted.step) != (0, 1):
        return None
    return Loop(counted.variable, counted.trips)


@remembered
def progression(statement: ast.Statement) -> Progression | None:
    """The values of a `for` with constant bounds whose variable changes nowhere else, or None."""
    if not isinstance(statement, ast.For) or not isinstance(statement.initial, ast.Declaration):
        return None
    if len(statement.initial.declarators) != 1 or statement.condition is None or statement.step is None:
        return None
    declarator = statement.initial.declarators[0]
    start = _constant(declarator.initializer)
    step = _step(statement.step, declarator.name)
    if start is None or not step or not _keeps(statement.body, declarator.name):
        return None
    trips = _trips(statement.condition, declarator.name, start, step)
    return None if trips is None else Progression(declarator.name, start, step, trips)


def make_loop(variable: str, trips: int, statements: Sequence[ast.Statement]) -> ast.For:
    """A counted loop in normal form."""
    return ast.For(
        ast.Declaration((ast.Declarator(variable, INT, literal(0)),)),
        ast.Binary("<", ast.Name(variable), literal(trips)),
        ast.Increment(ast.Name(variable), "++", False),
        ast.Block(tuple(statements)),
    )


def make_nest(loops: Sequence[Loop], statements: Sequence[ast.Statement]) -> tuple[ast.Statement, ...]:
    """Loops around statements, the first one outermost."""
    result = tuple(statements)
    for item in reversed(loops):
        result = (make_loop(item.variable, item.trips, result),)
    return result


def make_if(conditions: Sequence[ast.Expression], statements: Sequence[ast.Statement]) -> tuple[ast.Statement, ...]:
    """The statements under the conjunction of conditions (none: as they are)."""
    if not conditions or not statements:
        return tuple(statements)
    return (ast.If(conjunction(conditions), ast.Block(tuple(statements))),)


def conjunction(conditions: Sequence[ast.Expression]) -> ast.Expression:
    """All of the conditions, of which there is at least one."""
    return reduce(lambda test, other: ast.Binary("&&", test, other), conditions)


def linear_index(loops: Sequence[Loop]) -> ast.Expression:
    """The number of an iteration of a nest, counted in execution order."""
    total = Affine(0)
    for item in loops:
        total = total.times(item.trips) + Affine(0, ((ast.Name(item.variable), 1),))
    return expression(total)


def conjuncts(condition: ast.Expression) -> tuple[ast.Expression, ...]:
    """The parts of a conjunction."""
    if isinstance(condition, ast.Binary) and condition.operator == "&&":
        return conjuncts(condition.left) + conjuncts(condition.right)
    return (condition,)


def _keeps(body: ast.Block, variable: str) -> bool:
    """True if a loop's body runs to its end each time and leaves the loop's variable alone."""
    return not leaves_early(body) and variable not in assigned(body) and variable not in shared(body)


def _constant(node: ast.Expression | None) -> int | None:
    return None if node is None else constant_of(node, {})


def _step(node: ast.Expression, variable: str) -> int | None:
    if isinstance(node, ast.Increment) and node.target == ast.Name(variable):
        return 1 if node.operator == "++" else -1
    if not isinstance(node, ast.Assignment) or node.target != ast.Name(variable):
        return None
    if node.operator in ("+", "-"):
        amount = _constant(node.value)
        return None if amount is None else amount if node.operator == "+" else -amount
    change = affine(node.value) - affine(ast.Name(variable))
    return change.constant if node.operator == "" and change.is_constant else None


def _trips(condition: ast.Expression, variable: str, start: int, step: int) -> int | None:
    if not isinstance(condition, ast.Binary):
        return None
    operator, left, right = condition.operator, condition.left, condition.right
    if right == ast.Name(variable):
        operator, left, right = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(operator, operator), right, left
    bound = _constant(right)
    if left != ast.Name(variable) or bound is None:
        return None
    if step > 0 and operator in ("<", "<="):
        return max(0, -(-(bound + (operator == "<=") - start) // step))
    if step < 0 and operator in (">", ">="):
        return max(0, -(-(start - bound + (operator == ">=")) // -step))
    if operator == "!=" and (bound - start) % step == 0 and (bound - start) // step >= 0:
        return (bound - start) // step
    return None
