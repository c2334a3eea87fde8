"""Numbers that an expression can have, from the ranges of operands and of what instructions latch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from autocomp.remember import remembered_with
from autocomp.targets.simulator.isa.model import Accelerator, Instruction, semantics
from autocomp.targets.simulator.isa.tree import (
    AddressField,
    Assign,
    Binary,
    Call,
    Conditional,
    Expression,
    For,
    Name,
    Number,
    StateField,
    Statement,
    Unary,
    When,
)


class Range(NamedTuple):
    """All numbers from `low` to `high`, both included; infinite where nothing is known."""

    low: float
    high: float

    @property
    def known(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def holds(self) -> bool:
        """True if no number in it is 0, which as a condition is false."""
        return self.low > 0 or self.high < 0

    def join(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high))


ANY = Range(-math.inf, math.inf)
TRUTH = Range(0, 1)
TRUE = Range(1, 1)
FALSE = Range(0, 0)
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


@dataclass(frozen=True)
class Ranges:
    """Ranges of names (operands, loop variables) and of state fields, by (record, field)."""

    accelerator: Accelerator
    names: Mapping[str, Range]
    fields: Mapping[tuple[str, str], Range]

    def of(self, expression: Expression) -> Range:
        """A range that encloses every value of an expression."""
        if isinstance(expression, Number):
            return Range(expression.value, expression.value)
        if isinstance(expression, Name):
            return self.names.get(expression.name, ANY)
        if isinstance(expression, Binary):
            return _binary(expression.operator, self.of(expression.left), self.of(expression.right))
        if isinstance(expression, StateField):
            return self.fields.get((expression.state, expression.field), ANY)
        if isinstance(expression, AddressField):
            return TRUTH if expression.field == "none" else ANY
        if isinstance(expression, Unary):
            return _unary(expression.operator, self.of(expression.operand))
        if isinstance(expression, Conditional):
            condition = self.of(expression.condition)
            if condition.holds:
                return self.of(expression.then)
            if condition == FALSE:
                return self.of(expression.otherwise)
            return self.of(expression.then).join(self.of(expression.otherwise))
        if isinstance(expression, Call):
            return _call(expression.function, [self.of(argument) for argument in expression.arguments])
        return ANY


def ranges_of(accelerator: Accelerator, instruction: Instruction) -> Ranges:
    """The known ranges of an instruction's operands and of the state before it."""
    return Ranges(accelerator, _operands(instruction), latched(accelerator))


def _operands(instruction: Instruction) -> Mapping[str, Range]:
    return {
        parameter.name: Range(parameter.low, parameter.high)
        for parameter in instruction.parameters
        if parameter.low is not None and parameter.high is not None
    }


@remembered_with(semantics)
def latched(accelerator: Accelerator) -> Mapping[tuple[str, str], Range]:
    """The values that instructions give to state fields, with the initial ones."""
    values = {
        (record.name, name): Range(float(initial), float(initial))
        for record in accelerator.states
        for name, _, initial in record.fields
    }
    for instruction in accelerator.instructions:
        ranges = Ranges(accelerator, _operands(instruction), {})
        for assign in (a for statement in instruction.body for a in _assignments(statement)):
            if isinstance(assign.target, StateField):
                key = (assign.target.state, assign.target.field)
                values[key] = values[key].join(ranges.of(assign.value))
    return values


def _assignments(statement: Statement) -> Iterator[Assign]:
    if isinstance(statement, Assign):
        yield statement
    inner = statement.body if isinstance(statement, For) else ()
    if isinstance(statement, When):
        inner = (*statement.then, *statement.otherwise)
    for part in inner:
        yield from _assignments(part)


def _unary(symbol: str, operand: Range) -> Range:
    if symbol == "-":
        return Range(-operand.high, -operand.low)
    return TRUTH if symbol == "!" else ANY


def _binary(symbol: str, left: Range, right: Range) -> Range:
    if symbol in ("==", "!=", "<", "<=", ">", ">=", "&&", "||"):
        return _truth(symbol, left, right)
    if not (left.known and right.known):
        return Range(0, right.high) if symbol == "&" and right.low >= 0 and math.isfinite(right.high) else ANY
    if symbol == "+":
        return Range(left.low + right.low, left.high + right.high)
    if symbol == "-":
        return Range(left.low - right.high, left.high - right.low)
    if symbol == "*":
        corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
        return Range(min(corners), max(corners))
    if symbol == "/" and right.low > 0:
        quotients = [int(a / b) for a in (left.low, left.high) for b in (right.low, right.high)]
        return Range(min(quotients), max(quotients))
    if symbol == "%" and right.low > 0 and left.low >= 0:
        return Range(0, min(left.high, right.high - 1))
    if symbol == "&" and left.low >= 0 and right.low >= 0:
        return Range(0, min(left.high, right.high))
    if symbol == "<<" and left.low >= 0 and right.low >= 0 and right.high < 48:
        return Range(left.low * 2**right.low, left.high * 2**right.high)
    if symbol == ">>" and left.low >= 0 and right.low >= 0 and right.high < 64:
        return Range(int(left.low) >> int(right.high), int(left.high) >> int(right.low))
    return ANY


def _truth(symbol: str, left: Range, right: Range) -> Range:
    if symbol == "&&":
        always, never = left.holds and right.holds, FALSE in (left, right)
    elif symbol == "||":
        always, never = left.holds or right.holds, left == right == FALSE
    else:
        always, never = _always(symbol, left, right), _always(_OPPOSITE[symbol], left, right)
    return TRUE if always else FALSE if never else TRUTH


def _always(comparison: str, left: Range, right: Range) -> bool:
    """True if a comparison holds for all numbers of two ranges."""
    if comparison == "<":
        return left.high < right.low
    if comparison == "<=":
        return left.high <= right.low
    if comparison == ">":
        return left.low > right.high
    if comparison == ">=":
        return left.low >= right.high
    if comparison == "==":
        return left == right and left.low == left.high
    return left.high < right.low or left.low > right.high


def _call(function: str, arguments: list[Range]) -> Range:
    first = arguments[0]
    if function in ("min", "max"):
        choose = min if function == "min" else max
        return Range(choose(a.low for a in arguments), choose(a.high for a in arguments))
    if function == "relu":
        return Range(max(first.low, 0), max(first.high, 0))
    if function == "ceil_div" and first.known and arguments[1].low > 0:
        ends = [-(-int(a) // int(b)) for a in (first.low, first.high) for b in (arguments[1].low, arguments[1].high)]
        return Range(min(ends), max(ends))
    return ANY
