"""Where in tensors the results of a kernel are stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Column
from autocomp.targets.simulator.transforms.scheduling.lifting.flow import Tiles


class Homes:
    """Where in tensors results are stored."""

    def __init__(self, owner: Mapping[int, tuple[Column, ...]]) -> None:
        self._roots: dict[int, Column] = {}
        self._place: dict[int, tuple[Column, Column, int]] = {}
        for tensor, (root, byte, apart, element) in owner.items():
            unique, index = np.unique(root, return_index=True)
            where = np.searchsorted(unique, root)
            if (byte != byte[index][where]).any() or (apart != apart[index][where]).any():
                raise NotApplicable("a result is stored to several places")
            self._roots[tensor] = unique
            self._place[tensor] = (byte[index], apart[index], int(element[0]))
        together = np.concatenate([*self._roots.values(), np.zeros(0, dtype=np.int64)])
        if len(np.unique(together)) != len(together):
            raise NotApplicable("a result is stored to several tensors")

    def known(self, roots: Column) -> Column:
        """The indices of the results that are stored."""
        return np.flatnonzero(np.isin(roots, np.concatenate([*self._roots.values(), np.zeros(0, dtype=np.int64)])))

    def tiles(self, roots: Column, offset: Column, step: int, axes: tuple[str, str]) -> Iterator[tuple[Column, Tiles]]:
        """Where results lie, from rows at an offset of their first ones on, by tensor."""
        seen = 0
        for tensor, known in self._roots.items():
            at = np.minimum(np.searchsorted(known, roots), len(known) - 1)
            chosen = np.flatnonzero(known[at] == roots)
            byte, apart, element = self._place[tensor]
            seen += len(chosen)
            if len(chosen):
                stride = apart[at[chosen]]
                yield (
                    chosen,
                    Tiles(tensor, byte[at[chosen]] + offset[chosen] * stride, stride * step, *axes, element, -1),
                )
        if seen < len(roots):
            raise NotApplicable("a product's result is never stored")
