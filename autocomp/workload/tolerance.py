"""By how much a right result may differ from the reference, element by element.

Integers may not differ at all. A sum of n products of floats, in any order and with any grouping, may differ by
gamma(n) * (sum of |a||b|). There gamma(n) = n u / (1 - n u), and u is the unit roundoff (N. J. Higham, Accuracy and
Stability of Numerical Algorithms, 2nd edition, sections 3.1 and 4.2). Products that are 0 add no rounding. Where all
partial sums are multiples of one power of two and no larger than the significand holds, every order is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.workload.datatypes import data_type
from autocomp.workload.model import Tolerance

Array = npt.NDArray[Any]
Bounds = npt.NDArray[np.float64]


def unit_roundoff(dtype: Any) -> float:
    """Half the distance from 1 to the next larger number of a floating type."""
    return data_type(np.dtype(dtype).name).roundoff


def gamma(roundings: Array | float, unit: float) -> Array | float:
    """The largest relative error after this number of roundings; infinite where no bound exists."""
    total = roundings * np.float64(unit)
    return np.where(total < 0.5, total / (1 - np.minimum(total, 0.5)), np.inf)


def of_products(scale: float, a: Array, b: Array, biases: Array | None, expected: Array) -> Bounds:
    """For C = scale * activation(A.B + bias) of floats, A [I][K] and B [K][J]: bounds [I][J].

    A product is rounded once, each of the additions once, the result by the scale once, all to binary32 at least. The
    bound includes the reference's own rounding, underflow, and two roundings to a narrower result.
    """
    unit, scale = unit_roundoff(np.float32), abs(float(np.float32(scale)))
    sizes = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    terms = (a != 0).astype(np.float32) @ (b != 0).astype(np.float32)
    steps = _steps(a, 1)[:, None] * _steps(b, 0)[None, :]
    if biases is not None:
        bias = biases.astype(np.float64)
        sizes, terms = sizes + np.abs(bias), terms + (bias != 0)
        steps = np.minimum(steps, _steps(bias, 0)[None, :])
    exact = sizes <= steps / unit
    scaled = float(scale != 1.0)
    inexact = gamma(terms + 1 + scaled, unit) * sizes * scale
    underflow = (terms + 1) * float(np.finfo(np.float32).smallest_normal) * unit
    inexact = inexact + unit * np.abs(expected.astype(np.float64)) + of_storing(expected) + underflow
    bounds: Bounds = np.where(exact, 0.0, inexact)
    return bounds


def _steps(operand: Array, axis: int) -> Bounds:
    """The largest power of two that all elements along an axis are multiples of; infinite where all are 0."""
    significand, exponent = np.frexp(operand.astype(np.float64))
    bits = data_type(operand.dtype.name).precision
    integers = np.ldexp(np.abs(significand), bits).astype(np.int64)
    lowest = (integers & -integers).astype(np.float64)
    steps = np.where(integers == 0, np.inf, np.ldexp(lowest, exponent - bits))
    smallest: Bounds = steps.min(axis=axis)
    return smallest


def of_storing(expected: Array) -> Bounds | float:
    """Of a kernel and a reference that each round to a type narrower than binary32, at the end; 0 of other types."""
    known = data_type(expected.dtype.name)
    if known.roundoff <= unit_roundoff(np.float32):
        return 0.0
    bounds: Bounds = 2 * known.roundoff * (1 + known.roundoff) * np.abs(expected.astype(np.float64)) + known.smallest
    return bounds


def of_custom(tolerance: Tolerance, expected: Array, magnitude: Array | None) -> Bounds:
    """absolute + relative * |expected| + gamma(roundings) * magnitude, with the roundings of binary32 or of a more
    precise result. A narrower result is rounded once more, at the end. Of integers only `absolute` counts."""
    if not data_type(expected.dtype.name).is_float:
        return np.full(expected.shape, tolerance.absolute)
    bounds = tolerance.absolute + tolerance.relative * np.abs(expected.astype(np.float64))
    if magnitude is not None:
        unit = min(unit_roundoff(expected.dtype), unit_roundoff(np.float32))
        bounds = bounds + gamma(float(tolerance.roundings), unit) * magnitude + of_storing(expected)
    return np.asarray(bounds, np.float64)


def outside(got: Array, expected: Array, bounds: Bounds | None) -> npt.NDArray[np.bool_]:
    """A mask of the wrong elements. NaN equals only NaN, an infinity only itself."""
    if bounds is None:
        return np.not_equal(got, expected)
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(got.astype(np.float64) - expected.astype(np.float64))
        right = (got == expected) | (np.isnan(got) & np.isnan(expected)) | (np.isfinite(got) & (distance <= bounds))
    wrong: npt.NDArray[np.bool_] = ~right
    return wrong
