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
