"""The wrong elements of a result, of which hypotheses are tested."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.workload.tolerance import Bounds, outside

Array = npt.NDArray[Any]
MOST = 256  # wrong elements that are looked at
NEAR = 8  # places along each axis from the first wrong element on: a tile is rarely smaller
FEWEST_VALUES = 6  # different ones: fewer may be right for another problem by chance


@dataclass(frozen=True)
class Wrong:
    """Wrong elements of one result: their indices [n][axes], what they hold [n], and by how much a right one may differ
    from what was expected, [n] or None for equality. `where` names them in words."""

    where: str
    indices: npt.NDArray[np.int64]
    got: Array
    bounds: Bounds | None

    @classmethod
    def of(cls, name: str, got: Array, expected: Array, bounds: Bounds | None) -> Iterator[Wrong]:
        """All wrong elements, or many of them in an order of chance, then those near the first one, as tiles may be
        wrong in ways of their own. None that are too few to tell anything by."""
        indices = np.argwhere(outside(got, expected, bounds))
        if not len(indices):
            return
        near = indices[np.all((indices >= indices[0]) & (indices < indices[0] + NEAR), axis=1)]
        first = name + "".join(f"[{index}]" for index in indices[0])
        for where, all_of_them in ((f"wherever {name} is wrong", indices), (f"around {first}", near)):
            some = all_of_them[np.random.default_rng(0).permutation(len(all_of_them))[:MOST]]
            places = tuple(some.T)
            if len(np.unique(got[places])) >= FEWEST_VALUES:
                yield cls(where, some, got[places], None if bounds is None else bounds[places])

    def first(self, count: int) -> Wrong:
        return Wrong(
            self.where, self.indices[:count], self.got[:count], None if self.bounds is None else self.bounds[:count]
        )

    @property
    def each_bound(self) -> list[Bounds | None]:
        return [None] * len(self.got) if self.bounds is None else list(self.bounds)

    def explained(self, results: Array) -> npt.NDArray[np.bool_]:
        """For each column of `results` [n][m]: True if it holds what all of the elements hold."""
        errors = None if self.bounds is None else np.broadcast_to(self.bounds[:, None], results.shape)
        got = np.broadcast_to(self.got[:, None], results.shape)
        right: npt.NDArray[np.bool_] = np.logical_not(np.asarray(outside(got, results, errors).any(axis=0)))
        return right
