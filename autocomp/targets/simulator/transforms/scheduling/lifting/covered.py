"""Where tiles are in tensors: by index, and the part of a tensor that they cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.computation import Subscript, Tensor
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Column
from autocomp.targets.simulator.transforms.scheduling.lifting.flow import Tiles


@dataclass(frozen=True)
class Used:
    """The part of a tensor that tiles cover: from indices `first` on, `shape` of them. `alike`: columns of a group, or
    0 without groups."""

    tensor: Tensor
    first: tuple[int, ...]
    shape: tuple[int, ...]
    alike: int = 0

    @classmethod
    def whole(cls, tensor: Tensor) -> Used:
        return cls(tensor, (0,) * len(tensor.shape), tensor.shape)

    @property
    def extents(self) -> tuple[int, ...]:
        """Of its dimensions, with groups of columns as one of their own."""
        *others, columns = self.shape
        return (*others, columns // self.alike, self.alike) if self.alike else self.shape

    def indices(self, byte: Column) -> list[Column]:
        """The places of the elements at bytes of the tensor along these dimensions."""
        *others, columns = (v - first for v, first in zip(indices(self.tensor, byte), self.first, strict=True))
        return [*others, *(np.divmod(columns, self.alike) if self.alike else (columns,))]

    def subscripts(self, names: Sequence[str]) -> tuple[Subscript, ...]:
        """The tensor's subscripts, from the names of these dimensions."""
        pairs = zip(names, self.extents, strict=True)
        terms: list[tuple[tuple[str, int], ...]] = [((name, 1),) if extent > 1 else () for name, extent in pairs]
        if self.alike:
            *others, groups, columns = terms
            terms = [*others, tuple((name, self.alike) for name, _ in groups) + columns]
        return tuple(Subscript(first, each) for first, each in zip(self.first, terms, strict=True))


def covered(tensor: Tensor, tiles: Sequence[tuple[Tiles, Mapping[str, tuple[int, int]], Mapping[str, int]]]) -> Used:
    """The part of a tensor that tiles cover; for each, the dimension and step of its axes, and their extents."""
    first, end = [*tensor.shape], [0] * len(tensor.shape)
    for tile, places, axes in tiles:
        reach = {dim: (axes[axis] - 1) * step for axis, (dim, step) in places.items()}
        for dim, values in enumerate(indices(tensor, tile.byte)):
            first[dim] = min(first[dim], int(values.min()))
            end[dim] = max(end[dim], min(int(values.max()) + reach.get(dim, 0) + 1, tensor.shape[dim]))
    return Used(tensor, tuple(first), tuple(e - f for e, f in zip(end, first, strict=True)))


def indices(tensor: Tensor, byte: Column) -> list[Column]:
    """The subscripts of the elements at bytes of a tensor."""
    columns: list[Column] = []
    left = byte
    for stride in tensor.strides:
        index, left = np.divmod(left, stride)
        columns.append(index)
    if left.any():
        raise NotApplicable(f"a move begins inside an element of {tensor.name!r}")
    return columns
