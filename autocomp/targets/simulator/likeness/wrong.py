"""The wrong elements of a result, of which hypotheses are tested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.workload.tolerance import Bounds, outside

Array = npt.NDArray[Any]
MOST = 256  # wrong elements that are looked at
FEWEST_VALUES = 4  # different ones: fewer may be right for another problem by chance


@dataclass(frozen=True)
class Wrong:
    """Wrong elements of one result: their indices [n][axes], what they hold [n], and by how much a right one may differ
    from what was expected, [n] or None for equality."""

    indices: npt.NDArray[np.int64]
    got: Array
    bounds: Bounds | None

    @classmethod
    def of(cls, got: Array, expected: Array, bounds: Bounds | None) -> Wrong | None:
        """Wrong elements, in an order of chance; None where there are too few to tell anything by."""
        indices = np.argwhere(outside(got, expected, bounds))
        some = np.random.default_rng(0).permutation(len(indices))[:MOST]
        places = tuple(indices[some].T)
        if len(np.unique(got[places])) < FEWEST_VALUES:
            return None
        return cls(indices[some], got[places], None if bounds is None else bounds[places])

    def first(self, count: int) -> Wrong:
        return Wrong(self.indices[:count], self.got[:count], None if self.bounds is None else self.bounds[:count])

    def explained(self, results: Array) -> npt.NDArray[np.bool_]:
        """For each column of `results` [n][m]: True if it holds what all of the elements hold."""
        errors = None if self.bounds is None else np.broadcast_to(self.bounds[:, None], results.shape)
        got = np.broadcast_to(self.got[:, None], results.shape)
        right: npt.NDArray[np.bool_] = np.logical_not(np.asarray(outside(got, results, errors).any(axis=0)))
        return right
