"""Count, mean and spread of blocks of a convolution's results, taken where a tile of these is made.

A block has neighbouring results of one channel of one image. Those that lie outside of the image do not count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from autocomp.targets.triton.start.traced.grid import Grid
from autocomp.targets.triton.start.traced.index import join, split, symbol
from autocomp.targets.triton.start.traced.values import Scope

COUNT, MEAN, AROUND = "block_count", "block_mean", "block_spread"  # operators; the last adds squared distances
MOMENTS = frozenset({COUNT, MEAN, AROUND})
SIZES = (64, 32, 16)  # results of a block, the fewest blocks first
MOST_FOLDED = 2  # results of a cell; with four, Triton 3.6 was seen to mix the blocks of a tile up on an H200


@dataclass(frozen=True)
class Blocks:
    """The blocks of a grid: `size` results each, with places that hold none."""

    grid: Grid
    size: int

    @classmethod
    def of(cls, grid: Grid) -> Blocks | None:
        """The largest blocks that are parts of one image; None where no size divides it."""
        if grid.padded > MOST_FOLDED:
            return None
        return next((cls(grid, size) for size in SIZES if _of_image(grid) % size == 0), None)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Images, channels, and blocks of a channel."""
        grid = self.grid
        return grid.images, grid.groups * grid.filters, grid.kinds * _of_image(grid) // self.size

    def shape_of(self, op: str) -> tuple[int, int, int]:
        """The shape of one of the moments: all channels have the same counts."""
        images, channels, blocks = self.shape
        return images, 1 if op == COUNT else channels, blocks

    def stores(
        self, scope: Scope, value: str, inside: str, tile: tuple[str, str], outputs: Mapping[str, str]
    ) -> list[str]:
        """The lines that store the moments of a `tile` of filters by results in the memory that `outputs` name. The
        `value` of a result counts where it is `inside`. The scope gets what the moments are made of."""
        filters, results = tile
        size, blocks = self.size, f"({results}) // {self.size}"
        weights = scope.name("weights", f"tl.reshape(tl.where({inside}, 1.0, 0.0), (1, {blocks}, {size}))")
        parted = scope.name("parted", f"tl.reshape({value}, ({filters}, {blocks}, {size}))")
        made = {COUNT: scope.name("counts", f"tl.sum({weights}, axis=2)")}
        kept = f"tl.where({weights} > 0, {parted}, 0.0)"
        made[MEAN] = scope.name("means", f"tl.sum({kept}, axis=2) / tl.maximum({made[COUNT]}, 1.0)")
        if AROUND in outputs:
            apart = scope.name("apart", f"tl.where({weights} > 0, {parted} - {made[MEAN]}[:, :, None], 0.0)")
            made[AROUND] = scope.name("spreads", f"tl.sum({apart} * {apart}, axis=2)")
        offs = scope.name("offs_b", f"pid_m * ({blocks}) + tl.arange(0, {blocks})")
        return [self._store(op, name, made[op], offs) for op, name in outputs.items()]

    def _store(self, op: str, output: str, value: str, offs: str) -> str:
        grid, each = self.grid, _of_image(self.grid) // self.size
        image, block = split(symbol(f"{offs}[None, :]", grid.images * each), (grid.images, each))
        filters, kind = symbol("offs_f[:, None]", grid.filters), symbol("kind", grid.kinds)
        channel, channels = symbol("group", grid.groups).times(grid.filters) + filters, grid.groups * grid.filters
        if op == COUNT:  # of the first channel
            channel, channels = filters, 1
        place = join((image, channel, kind, block), (grid.images, channels, grid.kinds, each)).text({})
        mask = f"({offs}[None, :] < {grid.images * each}) & (offs_f[:, None] < {min(channels, grid.filters)})"
        return f"tl.store({output}_ptr + {place}, {value}, mask={mask})"


def _of_image(grid: Grid) -> int:
    """The places of one image along which a program has its results."""
    return math.prod(grid.lines) * grid.padded
