"""Sums that are scaled by a shift to the right, as machines do that have no multiplier for results."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

Rounding = Literal["half_even", "half_up", "half_away"]
MOST = 31  # bits that a sum of 32 may be shifted by


def shift_of(scale: float) -> int | None:
    """The bits of a shift to the right that multiplies by a scale; None if no shift does."""
    mantissa, exponent = math.frexp(scale)
    return 1 - exponent if mantissa == 0.5 and 0 <= 1 - exponent <= MOST else None


def shifted(sums: npt.NDArray[np.int32], bits: int, rounding: Rounding) -> npt.NDArray[np.int64]:
    """sums / 2**bits, exact, to the nearest integer; halves go to the even one, up, or away from 0."""
    wide = sums.astype(np.int64)
    if bits == 0:
        return wide
    floor, half = wide >> bits, 1 << (bits - 1)
    rest = wide - (floor << bits)
    ties = {"half_even": (floor & 1) == 1, "half_up": True, "half_away": floor >= 0}[rounding]
    up: npt.NDArray[np.int64] = floor + ((rest > half) | ((rest == half) & ties))
    return up
