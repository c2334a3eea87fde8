"""Expressions built with constants folded and neutral elements removed; integers are 64-bit and wrap."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Iterator

from autocomp.targets.simulator.isa.formats import SPECIAL, special, to_binary32, to_format
from autocomp.targets.simulator.isa.tree import (
    AddressField,
    Binary,
    Call,
    Conditional,
    Element,
    Expression,
    Name,
    Number,
    StateField,
    Sum,
    Unary,
)

ZERO = Number(0)
ONE = Number(1)
SOMEWHERE = Number(1 << 12)  # a pointer of which no more is known: not null, and aligned as tensors are
NEGATIVE_ZERO = 1 << 31  # the bits of the binary32 -0; those of all other negative numbers are larger


def wrap(value: int, bits: int = 64, signed: bool = True) -> int:
    """Two's-complement truncation of `value` to `bits` bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def saturate(value: int, bits: int, signed: bool = True) -> int:
    """`value` clamped to the range of an integer of `bits` bits."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return min(max(value, low), high)


def truncating_division(left: int, right: int) -> int:
    """Quotient rounded towards zero, as in C."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def rounding_shift(value: int, bits: int) -> int:
    """value / 2**bits, to nearest, ties to even."""
    if bits == 0:
        return value
    half, rest = 1 << (bits - 1), value & ((1 << bits) - 1)
    floor = value >> bits
    return floor + (1 if rest > half or (rest == half and floor & 1) else 0)


def round_to_int(value: float) -> int:
    """Nearest integer, ties to even; NaN gives the largest 64-bit integer, the range saturates."""
    if math.isnan(value):
        return (1 << 63) - 1
    return saturate(round(value), 64) if math.isfinite(value) else saturate(int(math.copysign(1 << 63, value)), 64)


def float_to_bits(value: float) -> int:
    """The 32 bits of a binary32."""
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def bits_to_float(value: int) -> float:
    """The binary32 of the low 32 bits."""
    return float(struct.unpack("<f", struct.pack("<I", value & 0xFFFFFFFF))[0])


def fma(left: float, right: float, addend: float) -> float:
    """left * right + addend of binary32 values, rounded once to binary32.

    The product is exact in binary64. Their sum is rounded to odd there, so that rounding it again cannot go wrong
    (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).
    """
    product = left * right
    total = product + addend
    if not math.isfinite(total):
        return to_binary32(total)
    part = total - product
    rest = (product - (total - part)) + (addend - part)
    if rest and not struct.unpack("<q", struct.pack("<d", total))[0] & 1:
        total = math.nextafter(total, math.copysign(math.inf, rest))
    return to_binary32(total)


def type_bits(type_argument: str) -> tuple[int, bool]:
    """Bits and signedness of the type of `saturate<i8>` or `wrap<i20>`."""
    return int(type_argument[1:]), type_argument[0] == "i"


_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_INTEGER: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": truncating_division,
    "%": lambda a, b: a - b * truncating_division(a, b),
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": lambda a, b: a << (b & 63),
    ">>": lambda a, b: a >> (b & 63),
    "&&": lambda a, b: int(bool(a) and bool(b)),
    "||": lambda a, b: int(bool(a) or bool(b)),
}


def apply_binary(symbol: str, left: float, right: float) -> int | float:
    """The value of `left symbol right`; ZeroDivisionError for an integer division by zero."""
    if symbol in _COMPARISONS:
        return int(_COMPARISONS[symbol](left, right))
    if isinstance(left, int) and isinstance(right, int):
        return wrap(_INTEGER[symbol](left, right))
    if symbol == "/":
        if right == 0:
            return (
                math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left * math.copysign(1, right))
            )
        return to_binary32(left / right)
    return to_binary32({"+": operator.add, "-": operator.sub, "*": operator.mul}[symbol](left, right))


def binary(symbol: str, left: Expression, right: Expression) -> Expression:
    """`left symbol right`, folded where it is known; ZeroDivisionError for a constant division by zero."""
    if isinstance(left, Number) and isinstance(right, Number):
        return Number(apply_binary(symbol, left.value, right.value))
    if symbol in ("/", "%") and right == ZERO and isinstance(right.value, int):
        raise ZeroDivisionError
    neutral = _neutral(symbol, left, right)
    return Binary(symbol, left, right) if neutral is None else neutral


def _is(value: Expression, number: int) -> bool:
    return isinstance(value, Number) and isinstance(value.value, int) and value.value == number


def _neutral(symbol: str, left: Expression, right: Expression) -> Expression | None:
    if symbol in ("+", "-") and _is(right, 0):
        return left
    if symbol == "+" and _is(left, 0):
        return right
    if symbol in ("*", "/") and _is(right, 1):
        return left
    if symbol == "*" and _is(left, 1):
        return right
    if symbol in ("*", "&&") and (_is(left, 0) or _is(right, 0)):
        return ZERO
    if symbol == "-" and left == right:
        return ZERO
    if symbol == "-" and isinstance(left, Binary) and left.operator == "+":
        if left.right == right:
            return left.left
        if left.left == right:
            return left.right
    if symbol == "+" and isinstance(left, Binary) and left.operator == "-" and left.right == right:
        return left.left
    return None


def add(left: Expression, right: Expression) -> Expression:
    return binary("+", left, right)


def subtract(left: Expression, right: Expression) -> Expression:
    return binary("-", left, right)


def multiply(left: Expression, right: Expression) -> Expression:
    return binary("*", left, right)


def truth(value: Expression) -> Expression:
    """1 where a value is not 0."""
    comparison = isinstance(value, Binary) and value.operator in (*_COMPARISONS, "&&", "||")
    negation = isinstance(value, Unary) and value.operator == "!"
    test = isinstance(value, AddressField) and value.field == "none"
    return value if comparison or negation or test else binary("!=", value, ZERO)


def both(left: Expression, right: Expression) -> Expression:
    """`left && right`."""
    if isinstance(left, Number):
        return right if left.value else ZERO
    if isinstance(right, Number):
        return left if right.value else ZERO
    return left if left == right else Binary("&&", left, right)


def negate(condition: Expression) -> Expression:
    """`!condition`, with the comparison turned round where there is one over integers equal or not."""
    if isinstance(condition, Number):
        return Number(int(not condition.value))
    if isinstance(condition, Unary) and condition.operator == "!":
        return condition.operand
    if isinstance(condition, Binary) and condition.operator in ("==", "!="):
        return Binary("!=" if condition.operator == "==" else "==", condition.left, condition.right)
    return Unary("!", condition)


def select(condition: Expression, then: Expression, otherwise: Expression) -> Expression:
    """`condition ? then : otherwise`."""
    if isinstance(condition, Number):
        return then if condition.value else otherwise
    return then if then == otherwise else Conditional(condition, then, otherwise)


def unary(symbol: str, operand: Expression) -> Expression:
    """`symbol operand`, folded where it is known."""
    if not isinstance(operand, Number):
        return operand if symbol == "+" else Unary(symbol, operand)
    value = operand.value
    if symbol == "!":
        return Number(int(not value))
    if symbol == "~":
        return Number(~int(value))
    return Number(-value) if symbol == "-" else operand


def call(function: str, arguments: tuple[Expression, ...], type_argument: str | None = None) -> Expression:
    """A built-in function, folded where it is known."""
    values = [a.value for a in arguments if isinstance(a, Number)]
    if len(values) == len(arguments):
        return Number(apply_function(function, values, type_argument))
    if function in ("min", "max") and arguments[0] == arguments[1]:
        return arguments[0]
    return Call(function, arguments, type_argument)


def apply_function(function: str, values: list[int | float], type_argument: str | None = None) -> int | float:
    """The value of a built-in function; ZeroDivisionError where it divides by zero."""
    first = values[0]
    if function == "convert" and type_argument is not None:
        return to_format(float(first), type_argument)
    if function in SPECIAL:
        return special(function, float(first))
    if type_argument is not None:
        bits, signed = type_bits(type_argument)
        return (saturate if function == "saturate" else wrap)(int(first), bits, signed)
    if function in ("min", "max"):
        return (min if function == "min" else max)(values)
    if function == "ceil_div":
        return -(-int(first) // int(values[1]))
    if function == "rounding_shift":
        return rounding_shift(int(first), int(values[1]) & 63)
    if function == "relu":
        negative = float_to_bits(first) > NEGATIVE_ZERO if isinstance(first, float) else first < 0
        return type(first)(0) if negative else first
    if function == "float":
        return to_binary32(float(first))
    if function == "round":
        return round_to_int(float(first))
    if function == "float_to_bits":
        return float_to_bits(float(first))
    if function == "square_root":
        return math.isqrt(max(0, int(first)))
    if function == "bits_to_float":
        return bits_to_float(int(first))
    if function == "fma":
        return fma(*(float(value) for value in values))
    if function == "extent":
        return 0  # a constant is not an address of a tensor
    if function == "ceil_log2":
        return max(0, (int(first) - 1).bit_length())
    raise KeyError(function)


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct parts of an expression."""
    if isinstance(expression, Unary):
        return (expression.operand,)
    if isinstance(expression, Binary):
        return (expression.left, expression.right)
    if isinstance(expression, Conditional):
        return (expression.condition, expression.then, expression.otherwise)
    if isinstance(expression, Call):
        return expression.arguments
    if isinstance(expression, Sum):
        return (expression.bound, expression.body, *(() if expression.start is None else (expression.start,)))
    if isinstance(expression, Element):
        return expression.indices
    if isinstance(expression, StateField):
        return () if expression.index is None else (expression.index,)
    return ()


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and all its parts."""
    yield expression
    for child in children(expression):
        yield from walk(child)


def is_larger(expression: Expression, limit: int) -> bool:
    """True if the expression has more than `limit` parts, found in time proportional to `limit`."""
    return any(count >= limit for count, _ in enumerate(walk(expression)))


def substitute(expression: Expression, replace: Callable[[Expression], Expression | None]) -> Expression:
    """The expression with every part for which `replace` gives something replaced by it, folded again."""
    changed = replace(expression)
    if changed is not None:
        return changed
    if isinstance(expression, Unary):
        return unary(expression.operator, substitute(expression.operand, replace))
    if isinstance(expression, Binary):
        left, right = substitute(expression.left, replace), substitute(expression.right, replace)
        return binary(expression.operator, left, right)
    if isinstance(expression, Conditional):
        parts = [substitute(part, replace) for part in children(expression)]
        return select(parts[0], parts[1], parts[2])
    if isinstance(expression, Call):
        arguments = tuple(substitute(a, replace) for a in expression.arguments)
        return call(expression.function, arguments, expression.type_argument)
    if isinstance(expression, Sum):
        parts = [substitute(part, replace) for part in children(expression)]
        start = parts[2] if expression.start is not None else None
        return Sum(expression.variable, parts[0], parts[1], start, expression.function)
    if isinstance(expression, Element):
        indices = tuple(substitute(i, replace) for i in expression.indices)
        return Element(expression.memory, indices, expression.element)
    if isinstance(expression, StateField) and expression.index is not None:
        return StateField(expression.state, substitute(expression.index, replace), expression.field)
    return expression


def names_in(expression: Expression) -> frozenset[str]:
    """Names of variables and parameters that an expression mentions."""
    names = set()
    for part in walk(expression):
        if isinstance(part, Name):
            names.add(part.name)
        elif isinstance(part, AddressField):
            names.add(part.parameter)
        elif isinstance(part, Element) and part.element is not None:
            names.add(part.memory)
    return frozenset(names)
