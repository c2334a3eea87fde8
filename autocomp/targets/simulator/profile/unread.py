"""Elements of inputs that no command moves, though results depend on them: what a wrong address of a move comes to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from autocomp.targets.simulator.profile.recording import EXAMPLE, Recording
from autocomp.workload.inputs import make_inputs
from autocomp.workload.model import TensorSpec
from autocomp.workload.reference import compute


@dataclass(frozen=True)
class Unread:
    """`count` elements of a tensor of `elements`, of which `first` is the first, in the tensor's order."""

    tensor: str
    first: tuple[int, ...]
    count: int
    elements: int

    @property
    def words(self) -> str:
        place = self.tensor + "".join(f"[{index}]" for index in self.first)
        others = f" and {self.count - 1:,} more of the {self.elements:,} elements" if self.count > 1 else ""
        return f"nothing reads {place}{others}, which results depend on; look at the addresses of the moves"


def unread(recording: Recording) -> Iterator[Unread]:
    """The inputs of which something is missing. None of kernels whose host computes: it may read elements itself."""
    workload = recording.workload
    if workload.host != "control":
        return
    for place, tensor in enumerate(workload.tensors):
        if tensor.role != "input":
            continue
        missing = np.flatnonzero(~_read(recording, place, tensor))
        if len(missing) and _matters(recording, tensor.name, missing):
            first = tuple(int(index) for index in np.unravel_index(missing[0], tensor.shape))
            yield Unread(tensor.name, first, len(missing), int(np.prod(tensor.shape)))


def _read(recording: Recording, place: int, tensor: TensorSpec) -> npt.NDArray[np.bool_]:
    """The elements of a tensor of which a command reads something. Pieces that are not evenly apart count as one."""
    accesses = recording.accesses
    mine = (accesses.tensor == place) & (accesses.write == 0) & (accesses.points > 0)
    extents = (accesses.first, accesses.last, accesses.points, accesses.bytes)
    read = np.zeros(tensor.bytes, np.bool_)
    for first, last, points, size in np.unique(np.stack(extents, 1)[mine], axis=0).tolist():
        piece, gaps = size // points, max(points - 1, 1)
        apart, odd = divmod(last - first - piece, gaps)
        if odd or piece * points != size:
            read[first:last] = True
        else:
            read[first + apart * np.arange(points)[:, None] + np.arange(piece)] = True
    elements: npt.NDArray[np.bool_] = read.reshape(int(np.prod(tensor.shape)), -1).max(1)
    return elements


def _matters(recording: Recording, tensor: str, missing: npt.NDArray[np.int64]) -> bool:
    """True if results change with these elements."""
    one, other = (make_inputs(recording.workload, replace(EXAMPLE, seed=seed)) for seed in (0, 1))
    changed = {name: array.copy() for name, array in one.items()}
    changed[tensor].reshape(-1)[missing] = other[tensor].reshape(-1)[missing]
    before, after = (compute(recording.workload, arrays) for arrays in (one, changed))
    return any(not np.array_equal(before[name], after[name]) for name in before)
