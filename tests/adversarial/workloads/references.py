"""The references of the custom workloads here."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.int8]


def copy(x: Array) -> Array:
    """y = x."""
    return x


def multiply(A: Array, B: Array) -> npt.NDArray[np.int32]:  # noqa: N803 - the tensors' names
    """C = A B."""
    return A.astype(np.int32) @ B.astype(np.int32)


def quantised(sums: npt.NDArray[np.int32]) -> Array:
    """A quarter of the sums, rounded to even, within int8."""
    return np.clip(np.rint(sums.astype(np.float32) / 4), -128, 127).astype(np.int8)


def chain(A: Array, B: Array, D: Array) -> tuple[Array, Array]:  # noqa: N803 - the tensors' names
    """T = relu(A B) / 4 and E = T D / 4."""
    T = quantised(np.maximum(A.astype(np.int32) @ B.astype(np.int32), 0))  # noqa: N806
    return T, quantised(T.astype(np.int32) @ D.astype(np.int32))


def requantise(x: npt.NDArray[np.int32]) -> Array:
    """y = x / 2^20, rounded to even, within int8."""
    return np.clip(np.rint(x / 2.0**20), -128, 127).astype(np.int8)


def multiply_fractions(x: npt.NDArray[np.int16], y: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
    """z = x y / 2^15, rounded to even, within int16."""
    return np.clip(np.rint(x.astype(np.float64) * y / 2.0**15), -32768, 32767).astype(np.int16)


def nearest(x: npt.NDArray[np.float32]) -> Array:
    """The nearest even int8."""
    return np.clip(np.rint(x), -128, 127).astype(np.int8)


def multiply_halves(x: npt.NDArray[np.float16], y: npt.NDArray[np.float16]) -> npt.NDArray[np.float16]:
    """z = x y, rounded once: binary32 holds the product."""
    return (x.astype(np.float32) * y.astype(np.float32)).astype(np.float16)


def dot(x: npt.NDArray[Any], y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The products of each row, added."""
    return (x.astype(np.float64) * y.astype(np.float64)).sum(1).astype(ml_dtypes.bfloat16)


def dot_size(x: npt.NDArray[Any], y: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The magnitudes of what `dot` adds."""
    return np.abs(x.astype(np.float64) * y.astype(np.float64)).sum(1)


def to_eight_bits(x: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
    """The nearest number of float8_e4m3, the largest where x is beyond it."""
    return np.clip(x, -448, 448).astype(ml_dtypes.float8_e4m3fn)


def multiply_nibbles(x: Array, w: npt.NDArray[np.uint8]) -> npt.NDArray[np.int32]:
    """y = x w, row by row, with signed weights: the lower 4 bits of a byte come first."""
    weights = np.stack([w & 15, w >> 4], axis=-1).reshape(x.shape).astype(np.int32)
    return (x * np.where(weights > 7, weights - 16, weights)).sum(1).astype(np.int32)


def statistics(x: npt.NDArray[np.int16]) -> dict[str, npt.NDArray[Any]]:
    """A thousand times the sum of each row, and its mean."""
    total = x.sum(1, dtype=np.int32)
    return {"total": total * np.int32(1000), "mean": (total / 64).astype(np.float32)}


def dot_of_shorts(x: npt.NDArray[np.int16], y: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
    """The products of each row, added, divided by 2^8 downward, within int16."""
    sums = (x.astype(np.int64) * y.astype(np.int64)).sum(1)
    return np.clip(sums >> 8, -32768, 32767).astype(np.int16)
