"""The references of the workloads that chain operations, in binary64."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]


def mlp(X: Array, W1: Array, b1: Array, W2: Array) -> dict[str, npt.NDArray[np.float64]]:  # noqa: N803
    """Y = relu(X W1 + b1) W2."""
    hidden = np.maximum(X.astype(np.float64) @ W1 + b1, 0)
    return {"Y": hidden @ W2}


def mlp_magnitude(X: Array, W1: Array, b1: Array, W2: Array) -> dict[str, npt.NDArray[np.float64]]:  # noqa: N803
    """The same with the sizes of all terms; RELU makes no difference of two numbers larger."""
    return {"Y": (abs(X).astype(np.float64) @ abs(W1) + abs(b1)) @ abs(W2)}


def attention(Q: Array, K: Array, V: Array) -> dict[str, npt.NDArray[np.float64]]:  # noqa: N803
    """O = softmax(Q K^T / sqrt(d)) V, one head of d = 4 columns."""
    scores = Q.astype(np.float64) @ K.T / np.sqrt(Q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return {"O": weights / weights.sum(axis=1, keepdims=True) @ V}
