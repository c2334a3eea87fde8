"""The references of the custom workloads here."""

from __future__ import annotations

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
