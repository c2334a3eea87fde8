"""Walking the statements of semantics, and what their expressions are made of."""

from __future__ import annotations

from collections.abc import Iterator

from autocomp.isa import model as m
from autocomp.isa.algebra import walk


def expressions(statement: m.Statement) -> Iterator[m.Expression]:
    """Every expression directly or indirectly inside a statement, at its top level."""
    if isinstance(statement, m.Require | m.When):
        yield statement.condition
    if isinstance(statement, m.Let | m.Assign):
        yield statement.value
    if isinstance(statement, m.Assign):
        yield statement.target
    if isinstance(statement, m.For):
        yield from (bound for _, bound in statement.variables)
    for inner in _inner(statement):
        yield from expressions(inner)


def assignments(statement: m.Statement) -> Iterator[m.Assign]:
    """The assignments inside a statement."""
    if isinstance(statement, m.Assign):
        yield statement
    for inner in _inner(statement):
        yield from assignments(inner)


def _inner(statement: m.Statement) -> tuple[m.Statement, ...]:
    if isinstance(statement, m.For):
        return statement.body
    if isinstance(statement, m.When):
        return (*statement.then, *statement.otherwise)
    return ()


def names(expression: m.Expression) -> Iterator[str]:
    """Every plain name in an expression: parameters, loop variables, lets."""
    return (node.name for node in walk(expression) if isinstance(node, m.Name))


def terms(expression: m.Expression) -> Iterator[m.Expression]:
    """The summands of an expression; both sides of a conditional."""
    if isinstance(expression, m.Binary) and expression.operator in "+-":
        yield from terms(expression.left)
        yield from terms(expression.right)
    elif isinstance(expression, m.Conditional):
        yield from terms(expression.then)
        yield from terms(expression.otherwise)
    else:
        yield expression


def has_element(expression: m.Expression) -> bool:
    """Whether an element of a memory occurs."""
    return any(isinstance(node, m.Element) for node in walk(expression))


def is_product(expression: m.Expression) -> bool:
    """Whether a product of two different memory elements occurs (behind conversions and guards)."""
    return any(
        isinstance(node, m.Binary)
        and node.operator == "*"
        and has_element(node.left)
        and has_element(node.right)
        and node.left != node.right
        for node in walk(expression)
    )
