"""The sizes of tiles, and of blocks of tiles, that are tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product as cartesian
from math import ceil

from autocomp.targets.simulator.transforms.scheduling.computation import Contraction
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Tasks

_BLOCKS = 7  # sizes of a block along one dimension, at most
_HALVINGS = 4  # sizes of tiles, each half of the one before
_SMALLEST = 16  # elements of a tile along a dimension that has as many


def equal(extent: int, most: int) -> int:
    """The size of as few tiles of at most `most` elements as possible, all about as large."""
    return ceil(extent / ceil(extent / most))


def thirds(size: int) -> tuple[int, ...]:
    """A third of a size, where that is whole."""
    return () if size % 3 else (size // 3,)


def tiles_tried(leaves: Tasks, computation: Contraction) -> Iterator[Mapping[str, int]]:
    """Tiles of the sizes that they have, of more, of a third, and of less, one dimension or all at a time."""
    choices: dict[str, list[int]] = {}
    for dim, known in leaves.sizes.items():
        extent = computation.extents[dim]
        most = min(extent, known.most)
        sizes = {known.usual, most, *thirds(most), *(known.usual >> n for n in range(1, _HALVINGS))}
        if computation.pieced and dim == computation.row:
            alike = equal(extent, most)
            sizes |= {alike, *(size for size in (alike >> n for n in range(1, _HALVINGS)) if size)}
        choices[dim] = sorted((size for size in sizes if size >= min(_SMALLEST, known.usual)), reverse=True)
    usual = leaves.largest(computation)
    yield from ({**usual, **dict(zip(choices, sizes, strict=True))} for sizes in cartesian(*choices.values()))


def sizes_tried(tiles: int, most: int) -> list[int]:
    """Sizes of a block along a dimension: all of few tiles; else equal parts of it, and powers of two."""
    if tiles <= _BLOCKS:
        return [*range(1, min(tiles, most) + 1)]
    parts = {ceil(tiles / n) for n in range(1, tiles + 1)} | {1, 2, 4, 8, 16}
    fitting = sorted(size for size in parts if size <= min(tiles, most))
    if len(fitting) <= _BLOCKS:
        return fitting
    step = (len(fitting) - 1) / (_BLOCKS - 1)
    return sorted({fitting[round(n * step)] for n in range(_BLOCKS)} | {size for size in (4, 8) if size in fitting})
