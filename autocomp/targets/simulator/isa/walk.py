"""Walking the statements of semantics, and what their expressions are made of."""

from __future__ import annotations

from collections.abc import Iterator

from autocomp.targets.simulator.isa.algebra import walk
from autocomp.targets.simulator.isa.tree import (
    Assign,
    Binary,
    Call,
    Conditional,
    Element,
    Expression,
    For,
    Let,
    Name,
    Require,
    Statement,
    When,
)


def expressions(statement: Statement) -> Iterator[Expression]:
    """Every expression directly or indirectly inside a statement, at its top level."""
    if isinstance(statement, Require | When):
        yield statement.condition
    if isinstance(statement, Let | Assign):
        yield statement.value
    if isinstance(statement, Assign):
        yield statement.target
    if isinstance(statement, For):
        yield from (bound for _, bound in statement.variables)
    for inner in _inner(statement):
        yield from expressions(inner)


def assignments(statement: Statement) -> Iterator[Assign]:
    """The assignments inside a statement."""
    if isinstance(statement, Assign):
        yield statement
    for inner in _inner(statement):
        yield from assignments(inner)


def loops(statement: Statement) -> Iterator[For]:
    """The loops in a statement, itself among them."""
    if isinstance(statement, For):
        yield statement
    for inner in _inner(statement):
        yield from loops(inner)


def _inner(statement: Statement) -> tuple[Statement, ...]:
    if isinstance(statement, For):
        return statement.body
    if isinstance(statement, When):
        return (*statement.then, *statement.otherwise)
    return ()


def names(expression: Expression) -> Iterator[str]:
    """Every plain name in an expression: parameters, loop variables, lets."""
    return (node.name for node in walk(expression) if isinstance(node, Name))


def terms(expression: Expression) -> Iterator[Expression]:
    """The summands of an expression; both sides of a conditional."""
    if isinstance(expression, Binary) and expression.operator in "+-":
        yield from terms(expression.left)
        yield from terms(expression.right)
    elif isinstance(expression, Conditional):
        yield from terms(expression.then)
        yield from terms(expression.otherwise)
    else:
        yield expression


def has_element(expression: Expression) -> bool:
    """True if an expression contains an element of a memory."""
    return any(isinstance(node, Element) for node in walk(expression))


def adds_product(target: Element, value: Expression) -> bool:
    """True if a value is the one that it replaces plus a product of two different memory elements."""
    if isinstance(value, Call) and value.function == "fma":
        left, right, addend = value.arguments
        return addend == target and is_product(Binary("*", left, right))
    if isinstance(value, Call) and len(value.arguments) == 1:
        return adds_product(target, value.arguments[0])
    if isinstance(value, Conditional):
        return adds_product(target, value.then) or adds_product(target, value.otherwise)
    return (
        isinstance(value, Binary)
        and value.operator == "+"
        and target in (value.left, value.right)
        and is_product(value)
    )


def is_product(expression: Expression) -> bool:
    """True if a product of two different memory elements occurs (also inside conversions and guards)."""
    return any(
        isinstance(node, Binary)
        and node.operator == "*"
        and has_element(node.left)
        and has_element(node.right)
        and node.left != node.right
        for node in walk(expression)
    )
