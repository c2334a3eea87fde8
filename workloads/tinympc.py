"""The references of the TinyMPC workloads: steps of a linear model-predictive controller, in binary64."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]


def control(Kinf: Array, x: Array, d: Array) -> dict[str, npt.NDArray[np.float64]]:  # noqa: N803 - the tensors' names
    """u = -(Kinf^T x + d), where Kinf is stored transposed, [12][4]."""
    return {"u": -(Kinf.T.astype(np.float64) @ x + d)}


def control_magnitude(Kinf: Array, x: Array, d: Array) -> dict[str, npt.NDArray[np.float64]]:  # noqa: N803
    """The same with the sizes of all terms."""
    return {"u": abs(Kinf).T.astype(np.float64) @ abs(x) + abs(d)}


def forward(
    Adyn: Array,  # noqa: N803
    Bdyn: Array,  # noqa: N803
    Kinf: Array,  # noqa: N803
    x: Array,
    d: Array,
) -> dict[str, npt.NDArray[np.float64]]:
    """The states from x[0] on: u[i] = -Kinf x[i] - d[i], x[i + 1] = Adyn x[i] + Bdyn u[i]."""
    states = x.astype(np.float64)
    controls = np.zeros(d.shape)
    for i in range(len(d)):
        controls[i] = -(Kinf.astype(np.float64) @ states[i]) - d[i]
        states[i + 1] = Adyn.astype(np.float64) @ states[i] + Bdyn.astype(np.float64) @ controls[i]
    return {"x": states, "u": controls}


def forward_magnitude(Adyn: Array, Bdyn: Array, Kinf: Array, x: Array, d: Array) -> dict[str, npt.NDArray[np.float64]]:  # noqa: N803
    """The same with the sizes of all terms."""
    sizes = forward(abs(Adyn), abs(Bdyn), -abs(Kinf), abs(x), -abs(d))
    return {name: abs(size) for name, size in sizes.items()}


def backward(
    Bdyn: Array,  # noqa: N803
    Quu_inv: Array,  # noqa: N803
    Kinf: Array,  # noqa: N803
    AmBKt: Array,  # noqa: N803
    p: Array,
    q: Array,
    r: Array,
    d: Array,
) -> dict[str, npt.NDArray[np.float64]]:
    """The gradients from the last p on: d[i] = Quu_inv^T (Bdyn^T p[i + 1] + r[i]),
    p[i] = q[i] + AmBKt p[i + 1] - Kinf^T r[i]. The last d stays as it is."""
    gradients, feedforward = p.astype(np.float64), d.astype(np.float64)
    for i in reversed(range(len(p) - 1)):
        after = gradients[i + 1]
        feedforward[i] = Quu_inv.T.astype(np.float64) @ (Bdyn.T.astype(np.float64) @ after + r[i])
        gradients[i] = q[i] + AmBKt.astype(np.float64) @ after - Kinf.T.astype(np.float64) @ r[i]
    return {"p": gradients, "d": feedforward}


def backward_magnitude(
    Bdyn: Array,  # noqa: N803
    Quu_inv: Array,  # noqa: N803
    Kinf: Array,  # noqa: N803
    AmBKt: Array,  # noqa: N803
    p: Array,
    q: Array,
    r: Array,
    d: Array,
) -> dict[str, npt.NDArray[np.float64]]:
    """The same with the sizes of all terms."""
    return backward(abs(Bdyn), abs(Quu_inv), -abs(Kinf), abs(AmBKt), abs(p), abs(q), abs(r), abs(d))
