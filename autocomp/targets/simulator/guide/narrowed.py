"""Semantics under a configuration that never changes: what is known becomes a number, and what cannot happen goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from autocomp.targets.simulator.guide.forms import Field, with_constants
from autocomp.targets.simulator.isa.algebra import ONE, ZERO, negate, substitute
from autocomp.targets.simulator.isa.show import show
from autocomp.targets.simulator.isa.tree import (
    Assign,
    Binary,
    Call,
    Conditional,
    Element,
    Expression,
    For,
    Let,
    Number,
    Require,
    StateField,
    Statement,
    When,
)

LONGEST_CHOICE = 200  # characters of a value that depends on a condition


def narrowed(
    body: Sequence[Statement], operands: Mapping[str, Number], fields: Mapping[Field, Number]
) -> tuple[Statement, ...]:
    """The statements for these values of operands and of fields of states, without requirements that always hold,
    branches that are never taken, and what is set to itself. Loops that differ by a condition alone
    become one."""
    return tuple(_Known(operands, fields).statements(body))


def joined(condition: Expression, then: Sequence[Statement], otherwise: Sequence[Statement]) -> Statement | None:
    """One loop over `condition ? … : …` in place of two that set the same elements, if that stays readable."""
    if len(then) != 1 or len(otherwise) != 1:
        return None
    first, second = then[0], otherwise[0]
    if not isinstance(first, For) or not isinstance(second, For) or first.variables != second.variables:
        return None
    if first.ordered or second.ordered or len(first.body) != 1 or len(second.body) != 1:
        return None
    one, other = first.body[0], second.body[0]
    if not isinstance(one, Assign) or not isinstance(other, Assign) or one.target != other.target:
        return None
    value = _choice(condition, one.value, other.value)
    return replace(first, body=(replace(one, value=value),)) if len(show(value)) <= LONGEST_CHOICE else None


def _unshifted(expression: Expression) -> Expression | None:
    """The operand of a shift by 0."""
    if isinstance(expression, Call) and expression.function == "rounding_shift" and expression.arguments[1] == ZERO:
        return expression.arguments[0]
    return None


def _choice(condition: Expression, one: Expression, other: Expression) -> Expression:
    """`condition ? one : other`; `p ? (c ? x : y) : z` in place of `c ? (p ? x : z) : (p ? y : z)`."""
    if isinstance(one, Conditional) and isinstance(other, Conditional):
        guard, rest = one.condition, one.otherwise
        if (guard, rest) == (other.condition, other.otherwise):
            return Conditional(guard, Conditional(condition, one.then, other.then), rest)
    return Conditional(condition, one, other)


@dataclass(frozen=True)
class _Known:
    operands: Mapping[str, Number]
    fields: Mapping[Field, Number]

    def statements(self, body: Sequence[Statement]) -> Iterator[Statement]:
        known = self
        for statement in body:
            if isinstance(statement, Let):
                value = known.value(statement.value)
                if isinstance(value, Number):
                    known = replace(known, operands={**known.operands, statement.name: value})
                else:
                    yield replace(statement, value=value)
            else:
                yield from known.statement(statement)

    def statement(self, statement: Statement) -> Iterator[Statement]:
        if isinstance(statement, Require):
            condition = self.condition(statement.condition)
            if not (isinstance(condition, Number) and condition.value):
                yield replace(statement, condition=condition)
        elif isinstance(statement, When):
            yield from self.when(statement)
        elif isinstance(statement, For):
            body = tuple(self.statements(statement.body))
            bounds = tuple((name, self.value(bound)) for name, bound in statement.variables)
            if body:
                yield replace(statement, variables=bounds, body=body)
        elif isinstance(statement, Assign):
            target, value = statement.target, self.value(statement.value)
            if isinstance(target, Element):
                target = replace(target, indices=tuple(map(self.value, target.indices)))
            known = isinstance(target, StateField) and (target.state, target.field) in self.fields
            if value != target and not known:
                yield replace(statement, target=target, value=value)
        else:
            yield statement

    def when(self, statement: When) -> Iterator[Statement]:
        condition = self.condition(statement.condition)
        then, otherwise = tuple(self.statements(statement.then)), tuple(self.statements(statement.otherwise))
        if isinstance(condition, Number):
            yield from then if condition.value else otherwise
        elif then and otherwise:
            yield joined(condition, then, otherwise) or When(condition, then, otherwise)
        elif then or otherwise:
            yield When(condition if then else negate(condition), then or otherwise)

    def value(self, expression: Expression) -> Expression:
        return substitute(with_constants(expression, self.operands, self.fields), _unshifted)

    def condition(self, expression: Expression) -> Expression:
        """As `value`; of `&&` and `||`, one known side decides or goes."""
        if not isinstance(expression, Binary) or expression.operator not in ("&&", "||"):
            return self.value(expression)
        either = expression.operator == "||"
        sides = [self.condition(expression.left), self.condition(expression.right)]
        numbers = [side for side in sides if isinstance(side, Number)]
        if any(bool(number.value) == either for number in numbers):
            return ONE if either else ZERO
        left = [side for side in sides if not isinstance(side, Number)]
        if len(left) == 2:
            return Binary(expression.operator, left[0], left[1])
        return left[0] if left else ZERO if either else ONE
