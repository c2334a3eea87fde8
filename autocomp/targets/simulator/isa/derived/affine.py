"""Index expressions over loop variables: as an affine function, or as the interval that encloses their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa.tree import (
    AddressField,
    Binary,
    Call,
    Conditional,
    Element,
    Expression,
    Name,
    Number,
    Sum,
    Unary,
)

Loops = Mapping[str, Expression]  # variable -> bound, outermost first; 0 <= variable < bound


@dataclass(frozen=True)
class Term:
    """`stride * i` for 0 <= i < count; i is a loop variable, or a digit of one: the remainder of `variable` by
    `modulus`, if there is one, divided by `divisor`."""

    variable: str
    count: Expression
    stride: Expression
    divisor: Expression = algebra.ONE
    modulus: Expression | None = None

    @property
    def whole(self) -> bool:
        """True if i is the loop variable itself."""
        return self.divisor == algebra.ONE and self.modulus is None

    def is_rest_of(self, block: Term) -> bool:
        """True if the loop variable is `block`'s number of whole blocks and the place in one, which is i."""
        return self.divisor == algebra.ONE and block.modulus is None and self.modulus == block.divisor


@dataclass(frozen=True)
class Affine:
    """base + sum of the terms; base, counts and strides are free of loop variables and of memory."""

    base: Expression
    terms: tuple[Term, ...] = ()


class UnboundedError(Exception):
    """Nothing is known about the values of an expression before the instruction runs."""


def is_fixed(expression: Expression, loops: Loops) -> bool:
    """True if arguments and state alone give the value: no loop variable, no element of a memory."""
    return not any(
        isinstance(part, Element | Sum) or (isinstance(part, Name) and part.name in loops)
        for part in algebra.walk(expression)
    )


def affine(expression: Expression, loops: Loops) -> Affine | None:
    """The expression as an affine function of loop variables, or None.

    Digits of a loop variable, quotients and remainders by fixed numbers, count as variables of their own, so the set
    of values described may be larger than the true one, never smaller.
    """
    if is_fixed(expression, loops):
        return Affine(expression)
    if isinstance(expression, Name) and expression.name in loops:
        return Affine(algebra.ZERO, (Term(expression.name, loops[expression.name], algebra.ONE),))
    if isinstance(expression, Binary):
        return _affine_binary(expression, loops)
    if isinstance(expression, Unary) and expression.operator == "-":
        operand = affine(expression.operand, loops)
        return None if operand is None else _scale(operand, Number(-1))
    if isinstance(expression, Conditional) and is_fixed(expression.condition, loops):
        return _affine_choice(expression, loops)
    return None


def _affine_binary(expression: Binary, loops: Loops) -> Affine | None:
    if expression.operator in ("+", "-"):
        left, right = affine(expression.left, loops), affine(expression.right, loops)
        if left is None or right is None:
            return None
        return _sum(left, right if expression.operator == "+" else _scale(right, Number(-1)))
    if expression.operator == "*":
        left, right = affine(expression.left, loops), affine(expression.right, loops)
        if left is not None and right is not None and not right.terms:
            return _scale(left, right.base)
        return _scale(right, left.base) if left is not None and right is not None and not left.terms else None
    digit = _digit(expression, loops)
    return None if digit is None else Affine(algebra.ZERO, (digit,))


def _digit(expression: Expression, loops: Loops) -> Term | None:
    """A digit of a loop variable, such as `v`, `v / 8`, `v % 8` or `v % 8 / 4`, as a term."""
    if isinstance(expression, Name) and expression.name in loops:
        return Term(expression.name, loops[expression.name], algebra.ONE)
    if not isinstance(expression, Binary) or expression.operator not in ("/", "%"):
        return None
    of, number = _digit(expression.left, loops), expression.right
    if of is None or not is_fixed(number, loops) or (not of.whole and not isinstance(number, Number)):
        return None
    product = algebra.multiply(of.divisor, number)
    if expression.operator == "/":
        return replace(of, count=_quotient(of.count, number), divisor=product)
    if of.modulus is not None and not _is_multiple(of.modulus, product):
        return None
    count = number if _is_multiple(of.count, number) else algebra.call("min", (of.count, number))
    return replace(of, count=count, modulus=product)


def _is_multiple(count: Expression, number: Expression) -> bool:
    """True if a count is seen to be a multiple of a number, and not to be 0."""
    if isinstance(count, Number) and isinstance(number, Number):
        return count.value > 0 and number.value > 0 and count.value % number.value == 0
    return False


def _quotient(count: Expression, number: Expression) -> Expression:
    """A count of iterations divided by a number, rounded up. Counts are far too small for a product to wrap."""
    if isinstance(count, Binary) and count.operator == "*" and number in (count.left, count.right):
        return count.right if count.left == number else count.left
    return algebra.call("ceil_div", (count, number))


def _affine_choice(expression: Conditional, loops: Loops) -> Affine | None:
    then, otherwise = affine(expression.then, loops), affine(expression.otherwise, loops)
    if then is None or otherwise is None:
        return None
    condition = expression.condition
    first = {_key(t): t for t in then.terms}
    second = {_key(t): t for t in otherwise.terms}
    terms = []
    for key in [*first, *(k for k in second if k not in first)]:
        term = first.get(key) or second[key]
        strides = [side[key].stride if key in side else algebra.ZERO for side in (first, second)]
        terms.append(replace(term, stride=algebra.select(condition, strides[0], strides[1])))
    return Affine(algebra.select(condition, then.base, otherwise.base), tuple(terms))


def _scale(value: Affine, factor: Expression) -> Affine:
    terms = tuple(replace(term, stride=algebra.multiply(term.stride, factor)) for term in value.terms)
    return Affine(algebra.multiply(value.base, factor), terms)


def _key(term: Term) -> tuple[str, Expression, Expression | None]:
    return term.variable, term.divisor, term.modulus


def _sum(left: Affine, right: Affine) -> Affine:
    terms = {_key(term): term for term in left.terms}
    for term in right.terms:
        before = terms.get(_key(term))
        terms[_key(term)] = term if before is None else replace(term, stride=algebra.add(before.stride, term.stride))
    return Affine(algebra.add(left.base, right.base), tuple(_without_digits(terms.values())))


def _without_digits(terms: Iterable[Term]) -> Iterator[Term]:
    """The terms, with a loop variable in place of its blocks and the place in one where both together step like it."""
    rest = list(terms)
    while rest:
        term = rest.pop(0)
        for other in rest:
            rests, block = (other, term) if other.is_rest_of(term) else (term, other)
            alike = other.variable == term.variable and rests.is_rest_of(block)
            if alike and block.stride == algebra.multiply(rests.stride, block.divisor):
                rest.remove(other)
                term = replace(rests, count=algebra.multiply(block.count, block.divisor), modulus=None)
                break
        yield term


def wrapped(expression: Expression, loops: Loops) -> tuple[Expression, Expression] | None:
    """An affine index that wraps round at a number, without that, and the condition that it stays below; None for any
    other expression."""
    if not (isinstance(expression, Binary) and expression.operator == "%" and isinstance(expression.right, Number)):
        return None
    inner = expression.left
    if is_fixed(inner, loops) or affine(inner, loops) is None:
        return None
    low, high = interval(inner, loops)
    above = algebra.ONE if _is_natural(low) else algebra.binary(">=", low, algebra.ZERO)
    return inner, algebra.both(above, algebra.binary("<", high, expression.right))


def interval(expression: Expression, loops: Loops) -> tuple[Expression, Expression]:
    """Smallest and largest value, both inclusive, as fixed expressions; they enclose the true range.

    Divisors and moduli are taken to be positive. Raises UnboundedError when the value comes from a memory.
    """
    if is_fixed(expression, loops):
        return expression, expression
    if isinstance(expression, Name):
        return algebra.ZERO, algebra.subtract(loops[expression.name], algebra.ONE)
    if isinstance(expression, Unary) and expression.operator == "-":
        low, high = interval(expression.operand, loops)
        return algebra.unary("-", high), algebra.unary("-", low)
    if isinstance(expression, Conditional):
        return _interval_of_choice(expression, loops)
    if isinstance(expression, Call) and expression.function in ("min", "max", "relu", "saturate"):
        bounds = [interval(argument, loops) for argument in expression.arguments]
        sides = [
            algebra.call(expression.function, tuple(b[end] for b in bounds), expression.type_argument) for end in (0, 1)
        ]
        return sides[0], sides[1]
    if isinstance(expression, Binary):
        return _interval_of_binary(expression, loops)
    raise UnboundedError


def _interval_of_choice(expression: Conditional, loops: Loops) -> tuple[Expression, Expression]:
    then, otherwise = interval(expression.then, loops), interval(expression.otherwise, loops)
    if is_fixed(expression.condition, loops):
        low, high = (algebra.select(expression.condition, then[end], otherwise[end]) for end in (0, 1))
        return low, high
    return algebra.call("min", (then[0], otherwise[0])), algebra.call("max", (then[1], otherwise[1]))


def _interval_of_binary(expression: Binary, loops: Loops) -> tuple[Expression, Expression]:
    symbol = expression.operator
    if symbol not in ("+", "-", "*", "/", "%"):
        raise UnboundedError
    (left_low, left_high), (right_low, right_high) = interval(expression.left, loops), interval(expression.right, loops)
    if symbol == "+":
        return algebra.add(left_low, right_low), algebra.add(left_high, right_high)
    if symbol == "-":
        return algebra.subtract(left_low, right_high), algebra.subtract(left_high, right_low)
    if symbol == "*":
        return _interval_of_product((left_low, left_high), (right_low, right_high))
    if right_low != right_high:
        raise UnboundedError
    if symbol == "/":
        return algebra.binary("/", left_low, right_low), algebra.binary("/", left_high, right_low)
    if _is_natural(left_low):
        return algebra.ZERO, algebra.call("min", (left_high, algebra.subtract(right_low, algebra.ONE)))
    most = algebra.subtract(right_low, algebra.ONE)
    return algebra.unary("-", most), most


def _is_natural(expression: Expression) -> bool:
    """True if an expression is seen not to be negative: sums and products of rows of addresses and such numbers."""
    if isinstance(expression, Number):
        return expression.value >= 0
    if isinstance(expression, Binary) and expression.operator in ("+", "*", "/", "%"):
        return _is_natural(expression.left) and _is_natural(expression.right)
    return isinstance(expression, AddressField)


def _interval_of_product(
    left: tuple[Expression, Expression], right: tuple[Expression, Expression]
) -> tuple[Expression, Expression]:
    if left[0] == left[1]:
        left, right = right, left
    if right[0] == right[1]:
        factor = right[0]
        if isinstance(factor, Number):
            ends = (left[0], left[1]) if factor.value >= 0 else (left[1], left[0])
            return algebra.multiply(ends[0], factor), algebra.multiply(ends[1], factor)
    corners = [algebra.multiply(a, b) for a in left for b in right]
    low = high = corners[0]
    for corner in corners[1:]:
        low, high = algebra.call("min", (low, corner)), algebra.call("max", (high, corner))
    return low, high
