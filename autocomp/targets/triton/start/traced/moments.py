"""Sums and spreads of a convolution's results, from blocks whose moments are taken where they are made.

A norm reads these results once less, and where nothing else reads them they are not stored. The spread of all is that
in each block and that of the blocks' means (Chan, Golub and LeVeque, 1979).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autocomp.targets.triton.start.traced.blocks import AROUND, COUNT, MEAN, Blocks
from autocomp.targets.triton.start.traced.chains import end_of_chain
from autocomp.targets.triton.start.traced.channels import over_channels
from autocomp.targets.triton.start.traced.contraction import FEWEST, Contraction
from autocomp.targets.triton.start.traced.convolution import Convolution
from autocomp.targets.triton.start.traced.graph import Graph, Node, Ref
from autocomp.targets.triton.start.traced.loops import REDUCTIONS, SPREAD, Space, space_of

LEAST = 1 << 20  # results of a convolution from which it pays
MOST_PRODUCTS = 512  # for each result, up to which a kernel has time for more than products
RESHAPED = frozenset({"view", "_unsafe_view", "reshape", "squeeze", "unsqueeze"})


def with_moments(graph: Graph, tf32: bool) -> Graph:
    """The graph with sums and spreads of planes of a convolution's results, or of a few planes, by blocks."""
    known = dict(_ends(graph, tf32))
    nodes: dict[str, Node] = {}
    for node in graph.nodes.values():
        nodes |= {one.name: one for one in (*_made(graph, node, known),)} or {node.name: node}
    return Graph(nodes, graph.outputs)


def _ends(graph: Graph, tf32: bool) -> Iterator[tuple[str, Blocks]]:
    """The ends of chains after convolutions, which are stored in their place, with the blocks of these."""
    needed = graph.needed()
    inputs = {node.name for node in needed if node.op == "input"}
    reduced = {space_of(graph, node) for node in needed if node.op in REDUCTIONS}
    for node in needed:
        if node.op != "convolution" or not node.is_float or node.elements < LEAST or over_channels(node) in reduced:
            continue
        if Contraction.of(graph, node).n < FEWEST:
            continue
        convolution = Convolution(graph, node, {}, tf32)
        blocks = Blocks.of(convolution.grid)
        if blocks is not None and convolution.products_each <= MOST_PRODUCTS:
            yield end_of_chain(graph, needed, node, inputs).name, blocks


def _made(graph: Graph, node: Node, known: Mapping[str, Blocks]) -> Iterator[Node]:
    """The nodes in place of one; none where it stays."""
    if node.op not in ("sum", SPREAD):
        return
    source = graph[node.args[0]]
    while source.op in RESHAPED:
        source = graph[source.args[0]]
    space = space_of(graph, node)
    if source.name in known and _has_planes(source, space):
        yield from _ByBlocks(node, source, space, known[source.name]).nodes()


def _has_planes(source: Node, space: Space) -> bool:
    """True for rows that are whole channels of one image."""
    plane = math.prod(source.shape[2:])
    return space.rows and space.length % plane == 0 and source.shape[1] % (space.length // plane) == 0


@dataclass(frozen=True)
class _ByBlocks:
    """A reduction of rows of a source, by blocks of it."""

    node: Node
    source: Node
    space: Space
    blocks: Blocks

    def nodes(self) -> Iterator[Node]:
        count, mean, around = (
            self._new(op, op, (Ref(self.source.name),), self.blocks.shape_of(op), self.source.name)
            for op in (COUNT, MEAN, AROUND)
        )
        yield from (count, mean, around)
        rows = (self.space.results, math.prod(self.blocks.shape) // self.space.results)
        weighed = self._new("weighed", "mul", (Ref(mean.name), Ref(count.name)), mean.shape)
        parts = self._new("parts", "view", (Ref(weighed.name), rows), rows)
        total = self._new("total", "sum", (Ref(parts.name), (1,), True), (rows[0], 1))
        yield from (weighed, parts, total)
        if self.node.op == SPREAD:
            centre = self._new("centre", "div", (Ref(total.name), self.space.length), total.shape)
            means = self._new("means", "view", (Ref(mean.name), rows), rows)
            away = self._new("away", "sub", (Ref(means.name), Ref(centre.name)), rows)
            squares = self._new("squares", "mul", (Ref(away.name), Ref(away.name)), rows)
            counts = self._new("counts", "expand", (Ref(count.name), mean.shape), mean.shape)
            weights = self._new("weights", "view", (Ref(counts.name), rows), rows)
            between = self._new("between", "mul", (Ref(squares.name), Ref(weights.name)), rows)
            within = self._new("within", "view", (Ref(around.name), rows), rows)
            spread = self._new("spread", "add", (Ref(within.name), Ref(between.name)), rows)
            total = self._new("whole", "sum", (Ref(spread.name), (1,), True), total.shape)
            yield from (centre, means, away, squares, counts, weights, between, within, spread, total)
        yield Node(self.node.name, "view", (Ref(total.name), self.node.shape), {}, self.node.shape, self.node.dtype)

    def _new(self, word: str, op: str, args: tuple[object, ...], shape: tuple[int, ...], of: str = "") -> Node:
        return Node(f"{of or self.node.name}_{word}", op, args, {}, shape, self.source.dtype)
