"""Arithmetic that NumPy lacks: fused products in binary32, sums in a stated order, bfloat16."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
ADDRESS = (1 << 48) - 1  # of a pointer, without the number of its tensor


def fma(a: npt.ArrayLike, b: npt.ArrayLike, c: npt.ArrayLike) -> Floats:
    """a * b + c with one rounding, element by element: the sum in binary64 is rounded to odd, so that rounding it
    again does no harm (Boldo and Melquiond, 2008)."""
    with np.errstate(all="ignore"):
        product = np.asarray(a, np.float64) * np.asarray(b, np.float64)
        addend = np.asarray(c, np.float64)
        total = product + addend
        part = total - product
        rest = (product - (total - part)) + (addend - part)
        even = (total.view(np.int64) & 1) == 0
        odd = np.where(rest > 0, np.nextafter(total, np.inf), np.nextafter(total, -np.inf))
        return np.where(np.isfinite(total) & (rest != 0) & even, odd, total).astype(np.float32)


def canonical(values: Floats) -> Floats:
    """The same values with one representation of NaN."""
    return np.where(np.isnan(values), np.uint32(0x7FC00000).view(np.float32), values)


def chain(left: Floats, right: Floats, start: Floats) -> Floats:
    """start[i][j] + sum over k of left[i][k] * right[k][j], one fused product after the other."""
    total = start.copy()
    for k in range(left.shape[1]):
        total = canonical(fma(left[:, k, None], right[None, k, :], total))
    return total


def to_bfloat16(values: npt.ArrayLike) -> npt.NDArray[np.uint16]:
    """The bits of the nearest bfloat16, ties to even."""
    with np.errstate(all="ignore"):
        return np.asarray(values, np.float32).astype(ml_dtypes.bfloat16).view(np.uint16)


def from_bfloat16(bits: npt.NDArray[np.uint16]) -> Floats:
    return (bits.astype(np.uint32) << 16).view(np.float32)


class Memory:
    """DRAM as bytes, read and written through pointers."""

    def __init__(self, contents: Bytes) -> None:
        self.bytes = contents

    def read(self, pointer: int, count: int, dtype: str) -> npt.NDArray[np.generic]:
        at = pointer & ADDRESS
        return self.bytes[at : at + count * np.dtype(dtype).itemsize].copy().view(dtype)

    def write(self, pointer: int, values: npt.NDArray[np.generic]) -> None:
        at = pointer & ADDRESS
        raw = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
        self.bytes[at : at + raw.size] = raw
