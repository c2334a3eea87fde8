"""Walking the expressions and statements of semantics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autocomp.isa import model as m


def children(expression: m.Expression) -> tuple[m.Expression, ...]:
    """The direct sub-expressions of an expression, in order."""
    if isinstance(expression, m.Element):
        return expression.indices
    if isinstance(expression, m.StateField):
        return () if expression.index is None else (expression.index,)
    if isinstance(expression, m.Unary):
        return (expression.operand,)
    if isinstance(expression, m.Binary):
        return (expression.left, expression.right)
    if isinstance(expression, m.Conditional):
        return (expression.condition, expression.then, expression.otherwise)
    if isinstance(expression, m.Call):
        return expression.arguments
    if isinstance(expression, m.Sum):
        return (expression.bound, expression.body)
    return ()


def walk(expression: m.Expression) -> Iterator[m.Expression]:
    """An expression and everything below it, parents first."""
    yield expression
    for child in children(expression):
        yield from walk(child)


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


def substitute(expression: m.Expression, lets: Mapping[str, m.Expression]) -> m.Expression:
    """The expression with names of `lets` replaced by what they stand for, at every depth."""
    if not lets:
        return expression
    if isinstance(expression, m.Name):
        value = lets.get(expression.name)
        return (
            expression if value is None else substitute(value, {k: v for k, v in lets.items() if k != expression.name})
        )
    if isinstance(expression, m.Element):
        indices = tuple(substitute(index, lets) for index in expression.indices)
        return m.Element(expression.memory, indices, expression.element)
    if isinstance(expression, m.StateField) and expression.index is not None:
        return m.StateField(expression.state, substitute(expression.index, lets), expression.field)
    if isinstance(expression, m.Unary):
        return m.Unary(expression.operator, substitute(expression.operand, lets))
    if isinstance(expression, m.Binary):
        return m.Binary(expression.operator, substitute(expression.left, lets), substitute(expression.right, lets))
    if isinstance(expression, m.Conditional):
        parts = (substitute(part, lets) for part in children(expression))
        return m.Conditional(*parts)
    if isinstance(expression, m.Call):
        arguments = tuple(substitute(argument, lets) for argument in expression.arguments)
        return m.Call(expression.function, arguments, expression.type_argument)
    if isinstance(expression, m.Sum):
        return m.Sum(expression.variable, substitute(expression.bound, lets), substitute(expression.body, lets))
    return expression


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
    """Whether a product of two memory elements occurs (behind conversions and guards)."""
    return any(
        isinstance(node, m.Binary) and node.operator == "*" and has_element(node.left) and has_element(node.right)
        for node in walk(expression)
    )
