"""The reference of tinympc.yaml: one step of a linear model-predictive controller, in binary64."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]


def step(
    Adyn: Array,  # noqa: N803 - the tensors' names
    Bdyn: Array,  # noqa: N803
    Kinf: Array,  # noqa: N803
    x: Array,
    d: Array,
) -> dict[str, npt.NDArray[np.float64]]:
    """u = -Kinf x - d, clamped to [-1, 1], and the next state Adyn x + Bdyn u."""
    u = np.clip(-(Kinf.astype(np.float64) @ x) - d, -1, 1)
    return {"u": u, "next": Adyn.astype(np.float64) @ x + Bdyn.astype(np.float64) @ u}


def magnitude(Adyn: Array, Bdyn: Array, Kinf: Array, x: Array, d: Array) -> dict[str, npt.NDArray[np.float64]]:  # noqa: N803
    """The same with the sizes of all terms."""
    u = abs(Kinf).astype(np.float64) @ abs(x) + abs(d)
    return {"u": u, "next": abs(Adyn).astype(np.float64) @ abs(x) + abs(Bdyn).astype(np.float64) @ u}
