"""The error of floating-point arithmetic: bounds on a result's distance from the exact one.

The last rounding, to the type of the result, is bounded by its unit roundoff. All earlier roundings are taken as
independent and random: their variances add up, and a result may be `CONFIDENCE` standard deviations off (Higham and
Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019).
"""

from __future__ import annotations

from typing import Any

from autocomp.workload.datatypes import data_type

Array = Any
CONFIDENCE = 6.0
ACCUMULATOR = 2.0**-23  # tensor cores accumulate in binary32 and truncate, which errs twice as much as rounding
FUNCTION = 2.0**-21  # relative error of exp2, rsqrt, sine … in hardware: 2 units in the last place (CUDA C++ guide)
FP8_ACCUMULATOR = 2.0**-13  # Hopper's tensor cores keep 13 fraction bits when they add products of 8-bit floats


def final(value: Array, dtype: str) -> Array:
    """The error of rounding a result to its type; half of the smallest number where the type underflows."""
    kind = data_type(dtype)
    return abs(value) * kind.roundoff + kind.smallest / 2


def total(value: Array, deviation: Array, dtype: str) -> Array:
    """The tolerance of a result whose earlier roundings have a standard deviation."""
    return final(value, dtype) + CONFIDENCE * deviation


def summing(length: int, value: Array, squares: Array, unit: float = ACCUMULATOR) -> Array:
    """Standard deviation of the error of a sum of `length` terms, in any order. Each addition rounds a partial sum,
    whose size is that of the result plus a few times the root of the sum of the terms' squares."""
    return unit * length**0.5 * (abs(value) + 4.0 * squares**0.5)


def root(*deviations: Array) -> Array:
    """Deviations of independent errors taken together."""
    return sum(deviation * deviation for deviation in deviations) ** 0.5
