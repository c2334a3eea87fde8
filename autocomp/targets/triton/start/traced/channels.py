"""Reductions over the channels of a convolution, in the kernel that multiplies: its tiles have all of them as rows."""

from __future__ import annotations

from autocomp.targets.triton.start.traced.convolution import Products
from autocomp.targets.triton.start.traced.graph import Graph, Node
from autocomp.targets.triton.start.traced.index import Index, join, split
from autocomp.targets.triton.start.traced.loops import Space
from autocomp.targets.triton.start.traced.tile import Tile
from autocomp.targets.triton.start.traced.values import Coordinates

CHANNELS = 1  # the axis of a convolution's result


def over_channels(node: Node) -> Space:
    return Space(node.shape, (CHANNELS,))


class Channels(Tile):
    """The tile of a convolution's results. A value for each cell is one row of it, loaded and stored for the
    cells that lie inside of the image."""

    def __init__(self, graph: Graph, products: Products, stored: dict[str, str]) -> None:
        super().__init__(graph, over_channels(products.node), stored)
        self.axis = 0
        self._place = products.result
        self.scope = products.scope
        self.inner_name = "offs_f"
        self.masked = products.columns > self.space.length
        self._held = self.scope.child(self.inner_name, self.scope.mask)
        self.scope.mask = products.inside

    def _of_result(self, shape: tuple[int, ...]) -> Coordinates:
        picture, _, *spots = self._place
        kept = (picture, *spots)
        extents = tuple(extent for axis, extent in enumerate(self.space.shape) if axis != CHANNELS)
        if shape == extents:
            return kept
        if shape == (*extents[:1], 1, *extents[1:]):
            return (picture, Index(), *spots)
        return split(join(kept, extents), shape)
