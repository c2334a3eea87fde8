"""Formats of floats and functions of them, as the native core has them: values are binary32, rounded once."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping

# In the order of the native core's SpecialFunction: computed in binary64, then rounded to binary32.
SPECIAL: Mapping[str, Callable[[float], float]] = {
    "exp": math.exp,
    "log": math.log,
    "tanh": math.tanh,
    "erf": math.erf,
    "gelu": lambda x: 0.5 * x * math.erfc(-x / math.sqrt(2)),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
}
# Bits of exponent and mantissa, and whether there is an infinity. F8 as in the OCP 8-bit floating point specification.
FORMATS: Mapping[str, tuple[int, int, bool]] = {
    "f32": (8, 23, True),
    "f16": (5, 10, True),
    "bf16": (8, 7, True),
    "f8e5m2": (5, 2, True),
    "f8e4m3": (4, 3, False),
}


def to_binary32(value: float) -> float:
    """The binary32 nearest to `value`, ties to even; beyond the range infinity."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def to_format(value: float, element: str) -> float:
    """The value of a float type nearest to `value`, ties to even; beyond the range infinity, or not a number."""
    exponent_bits, mantissa_bits, infinite = FORMATS[element]
    beyond = math.copysign(math.inf, value) if infinite else math.nan
    if not math.isfinite(value):
        return math.nan if math.isnan(value) else beyond
    if element == "f32":
        return to_binary32(value)
    bias = (1 << (exponent_bits - 1)) - 1
    exponent = max(math.frexp(value)[1] - 1, 1 - bias)
    quantum = math.ldexp(1.0, exponent - mantissa_bits)
    rounded = round(value / quantum) * quantum
    steps = (2 << mantissa_bits) - (1 if infinite else 2)  # of the largest number, in units of its last place
    if abs(rounded) > math.ldexp(steps, bias + (not infinite) - mantissa_bits):
        return beyond
    return math.copysign(rounded, value)


def encode(value: float, element: str) -> int:
    """The bits of the nearest value of a float type; what is not a number has its positive code."""
    exponent_bits, mantissa_bits, infinite = FORMATS[element]
    rounded = to_format(value, element)
    top = (1 << exponent_bits) - 1 << mantissa_bits
    if math.isnan(rounded):
        return top | (1 << (mantissa_bits - 1) if infinite else (1 << mantissa_bits) - 1)
    sign = (1 if math.copysign(1, rounded) < 0 else 0) << (exponent_bits + mantissa_bits)
    if math.isinf(rounded) or rounded == 0:
        return sign | (top if rounded else 0)
    bias = (1 << (exponent_bits - 1)) - 1
    exponent = max(math.frexp(rounded)[1] - 1, 1 - bias)
    steps = int(math.ldexp(abs(rounded), mantissa_bits - exponent))  # at least 1 << mantissa_bits unless subnormal
    return sign | (((exponent + bias - 1) << mantissa_bits) + steps)


def special(function: str, value: float) -> float:
    """A function of SPECIAL; where it is undefined, infinity at a pole and else not a number."""
    try:
        return to_binary32(SPECIAL[function](value))
    except OverflowError:
        return math.inf if function == "exp" else 0.0
    except (ValueError, ZeroDivisionError):
        if value == 0 and function in ("log", "rsqrt"):
            return -math.inf if function == "log" else math.copysign(math.inf, value)
        return math.nan
