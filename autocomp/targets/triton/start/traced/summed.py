"""Sums of a convolution's results, from sums of its input: all results of a tap are added before they are multiplied.

A sum along an axis is a convolution without that axis. For each tap it has a channel: the sum of the elements that the
tap multiplies. These are the elements of the whole axis but a few at its ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from autocomp.targets.triton.start.traced.graph import Graph, Node, Ref
from autocomp.targets.triton.start.traced.loops import space_of
from autocomp.targets.triton.start.traced.roundings import KEPT, ROUNDED, roundings_of
from autocomp.targets.triton.start.traced.windows import Reach

LEAST = 4  # results for each channel that a sum along an axis gets, from which it is worth it
SPATIAL = 2  # the first axis of an image, after those of the batch and of the channels


def with_summed_operands(graph: Graph, tf32: bool = False) -> Graph:
    """The graph with sums of convolutions as convolutions of sums, or as products. With `tf32`, operands are rounded
    to that before they are added."""
    users: dict[str, int] = {}
    for node in graph.needed():
        for name in node.refs():
            users[name] = users.get(name, 0) + 1
    nodes: dict[str, Node] = {}
    for node in graph.nodes.values():
        made = _summed(graph, node, users, tf32) if node.op == "sum" else []
        nodes |= {one.name: one for one in (made or (node,))}
    return Graph(nodes, graph.outputs)


def _summed(graph: Graph, node: Node, users: dict[str, int], tf32: bool) -> list[Node]:
    """The nodes in place of a sum; none where it stays."""
    source = graph[node.args[0]]
    scales: list[Node] = []
    while source.op in ("mul", "div") and _is_number(source.args[1]) and _is_alone(graph, source, users):
        scales.insert(0, source)
        source = graph[source.args[0]]
    axes = space_of(graph, node).axes
    if source.op != "convolution" or not _is_alone(graph, source, users) or min(axes) < SPATIAL or not source.is_float:
        return []
    taps = {axis: _taps(graph, source, axis) for axis in axes}
    if int(source.args[8]) > 1 or any(source.shape[axis] < LEAST * len(_distinct(taps[axis])) for axis in axes):
        return []
    line = _Line(node.name, source.dtype)
    image, filters = (
        line.add(ROUNDED[rounding][0], (Ref(one.name),), one.shape) if rounding != KEPT else one
        for one, rounding in zip(
            (graph[ref] for ref in source.args[:2]), roundings_of(graph, source, tf32), strict=True
        )
    )
    last = _convolved(line, source, axes, *_stacked(line, source, image, filters, taps))
    if isinstance(source.args[2], Ref):
        count = math.prod(source.shape[axis] for axis in axes)
        whole = line.add("mul", (source.args[2], float(count)), graph[source.args[2]].shape)
        shape = (1, whole.shape[0], *(1 for _ in last.shape[2:]))
        last = line.add(
            "add", (Ref(last.name), Ref(line.add("view", (Ref(whole.name), shape), shape).name)), last.shape
        )
    for scale in scales:
        last = line.add(scale.op, (Ref(last.name), scale.args[1]), last.shape)
    return [*line.nodes, replace(node, op="view", args=(Ref(last.name), node.shape), options={})]


def _is_number(argument: object) -> bool:
    return isinstance(argument, (int, float))


def _is_alone(graph: Graph, node: Node, users: dict[str, int]) -> bool:
    """True where one node reads a value, and nobody asked for it."""
    return users.get(node.name) == 1 and node.name not in graph.outputs


@dataclass
class _Line:
    """Nodes that follow one another, with names of their own."""

    name: str
    dtype: str
    nodes: list[Node] = field(default_factory=list)

    def add(self, op: str, args: tuple[object, ...], shape: tuple[int, ...]) -> Node:
        self.nodes.append(Node(f"{self.name}_{len(self.nodes)}", op, args, {}, shape, self.dtype))
        return self.nodes[-1]

    def part(self, source: Node, axis: int, places: range) -> Node:
        """The sum of some places along an axis, which it loses."""
        rest = (*source.shape[:axis], *source.shape[axis + 1 :])
        if len(places) == 1:
            return self.add("select", (Ref(source.name), axis, places[0]), rest)
        if places != range(source.shape[axis]):
            shape = (*source.shape[:axis], len(places), *source.shape[axis + 1 :])
            source = self.add("slice", (Ref(source.name), axis, places[0], places[-1] + 1, places.step), shape)
        return self.add("sum", (Ref(source.name), (axis,)), rest)

    def total(self, source: Node, axis: int, places: range) -> Node:
        """The same, by what the whole axis has more where that is less."""
        extent = source.shape[axis]
        ends = [end for end in (range(places[0]), range(places[-1] + 1, extent)) if len(end)]
        if places.step > 1 or sum(map(len, ends)) > len(places) // 2:
            return self.part(source, axis, places)
        whole = self.part(source, axis, range(extent))
        for end in ends:
            whole = self.add("sub", (Ref(whole.name), Ref(self.part(source, axis, end).name)), whole.shape)
        return whole

    def added(self, source: Node, axis: int, places: range) -> Node:
        """The sum of a few places, as additions: it is computed where it is needed."""
        last = self.part(source, axis, places[:1])
        for place in places[1:]:
            other = self.part(source, axis, range(place, place + 1))
            last = self.add("add", (Ref(last.name), Ref(other.name)), last.shape)
        return last

    def whole(self, source: Node, axes: Sequence[int]) -> Node:
        rest = tuple(extent for axis, extent in enumerate(source.shape) if axis not in axes)
        return self.add("sum", (Ref(source.name), tuple(axes)), rest)

    def joined(self, parts: Sequence[Node], axis: int) -> Node:
        shape = list(parts[0].shape)
        shape[axis] *= len(parts)
        return parts[0] if len(parts) == 1 else self.add("cat", (tuple(Ref(p.name) for p in parts), axis), tuple(shape))


def _taps(graph: Graph, node: Node, axis: int) -> list[range]:
    """The places of an image along an axis that each tap multiplies."""
    reach, at = Reach.of(graph, node), axis - SPATIAL
    extent, results = graph[node.args[0]].shape[axis], node.shape[axis]
    stride, padding, dilation = reach.stride[at], reach.padding[at], reach.dilation[at]
    places = []
    for tap in range(reach.kernel[at]):
        first = tap * dilation - padding  # the result of place 0, or the place of result 0
        if reach.transposed:
            reached = [place for place in range(extent) if 0 <= place * stride + first < results]
            places.append(range(reached[0], reached[-1] + 1) if reached else range(0))
        else:
            read = [r * stride + first for r in range(results) if 0 <= r * stride + first < extent]
            places.append(range(read[0], read[-1] + 1, stride) if read else range(0))
    return places


def _distinct(taps: Sequence[range]) -> list[range]:
    return list(dict.fromkeys(one for one in taps if len(one)))


def _stacked(line: _Line, node: Node, image: Node, filters: Node, taps: dict[int, list[range]]) -> tuple[Node, Node]:
    """The image and the filters without some axes: for each set of places along these, channels of their own."""
    channels = 0 if node.args[6] else 1  # of the filters
    alike = [axis for axis in sorted(taps) if _distinct(taps[axis]) == [range(image.shape[axis])]]
    image = line.whole(image, alike) if alike else image
    for axis in sorted(taps, reverse=True):
        images, weights = [], []
        if axis in alike:
            filters = line.added(filters, axis, range(len(taps[axis])))
            continue
        before = sum(other < axis for other in alike)  # axes that the image has lost
        for places in _distinct(taps[axis]):
            same = [tap for tap, reached in enumerate(taps[axis]) if reached == places]
            images.append(line.total(image, axis - before, places))
            weights.append(line.added(filters, axis, range(same[0], same[-1] + 1)))
        image, filters = line.joined(images, 1), line.joined(weights, channels)
    return image, filters


def _convolved(line: _Line, node: Node, axes: Sequence[int], image: Node, filters: Node) -> Node:
    """The convolution along the axes that are left, or the product where none is."""
    transposed = bool(node.args[6])
    kept = [axis - SPATIAL for axis in range(SPATIAL, len(node.shape)) if axis not in axes]
    if not kept:
        depth, count = filters.shape if transposed else filters.shape[::-1]
        right = filters if transposed else line.add("t", (Ref(filters.name),), (depth, count))
        return line.add("mm", (Ref(image.name), Ref(right.name)), (image.shape[0], count))
    rank = len(node.shape) - SPATIAL
    stride, padding, dilation, added = (
        tuple((one * rank if len(one) == 1 else one)[at] for at in kept) for one in (*node.args[3:6], node.args[7])
    )
    shape = (*node.shape[:SPATIAL], *(node.shape[axis + SPATIAL] for axis in kept))
    args = (Ref(image.name), Ref(filters.name), None, stride, padding, dilation, transposed, added, 1)
    made = replace(line.add("convolution", args, shape), options={"roundings": (KEPT, KEPT)})
    line.nodes[-1] = made
    return made
