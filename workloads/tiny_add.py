"""The reference of tiny_add.yaml."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def add(X: npt.NDArray[np.int32], Y: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:  # noqa: N803 - the tensors' names
    """Z = X + Y, wrapping at 32 bits."""
    return X + Y
