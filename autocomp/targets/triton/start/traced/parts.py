"""Reductions of many elements to few results, in parts: a few programs would not keep a device busy."""

from __future__ import annotations

import math
from collections.abc import Iterator

from autocomp.targets.triton.start.traced.graph import Graph, Node, Ref
from autocomp.targets.triton.start.traced.loops import SPREAD, Space, space_of

LONG_ROW = 1 << 15  # elements of a row from which it is worth to be reduced by several programs
LONG_COLUMN = 1 << 10  # likewise along another axis
PROGRAMS = 512  # that keep a device busy
COLUMNS = 256  # results of one program along another axis
LEAST_ROW, LEAST_COLUMN = 1024, 64  # elements of a part


def with_parts(graph: Graph) -> Graph:
    """The graph with long reductions in two steps, the first by many programs. A sum of squared distances is that of
    each part to its own mean, and that of the means."""
    nodes: dict[str, Node] = {}
    for node in graph.nodes.values():
        nodes |= {one.name: one for one in (_in_parts(graph, node) or (node,))}
    return Graph(nodes, graph.outputs)


def _in_parts(graph: Graph, node: Node) -> list[Node]:
    """The nodes in place of one; none where it stays."""
    if node.op not in ("sum", "amax", "amin", SPREAD) or not isinstance(node.args[0], Ref):
        return []
    space = space_of(graph, node)
    parts = _parts(space)
    if parts == 1:
        return []
    source = graph[node.args[0]]
    shape, axis = _shape(space, parts)
    name = node.name
    flat = Node(f"{name}_flat", "view", (Ref(source.name), shape), {}, shape, source.dtype)
    return [flat, *_two_steps(node, flat, axis, space.length // parts)]


def _two_steps(node: Node, flat: Node, axis: int, length: int) -> Iterator[Node]:
    some = (*flat.shape[:axis], *flat.shape[axis + 1 :])
    kept = (*flat.shape[: axis - 1], *flat.shape[axis + 1 :])
    name, dtype = node.name, node.dtype

    def first(word: str, op: str) -> Node:
        return Node(f"{name}_{word}", op, (Ref(flat.name), (axis,)), {}, some, dtype)

    def last(word: str, op: str, of: Node) -> Node:
        return Node(f"{name}_{word}", op, (Ref(of.name), (axis - 1,)), {}, kept, dtype)

    part = first("parts", node.op)
    if node.op != SPREAD:
        whole = last("whole", node.op, part)
        yield from (part, whole)
    else:
        sums, within = first("sums", "sum"), last("within", "sum", part)
        apart = last("apart", SPREAD, sums)
        scaled = Node(f"{name}_scaled", "div", (Ref(apart.name), length), {}, kept, dtype)
        whole = Node(f"{name}_whole", "add", (Ref(within.name), Ref(scaled.name)), {}, kept, dtype)
        yield from (part, sums, within, apart, scaled, whole)
    yield Node(name, "view", (Ref(whole.name), node.shape), {}, node.shape, dtype)


def _shape(space: Space, parts: int) -> tuple[tuple[int, ...], int]:
    """The shape of the elements in parts, and the axis along which the elements of a part are."""
    if space.rows:
        return (space.results, parts, space.length // parts), 2
    (axis,) = _long(space)
    return (*space.shape[:axis], parts, space.length // parts, *space.shape[axis + 1 :]), axis + 1


def _long(space: Space) -> tuple[int, ...]:
    return tuple(axis for axis in space.axes if space.shape[axis] > 1)


def _parts(space: Space) -> int:
    """Into how many equal parts a reduction is split: enough to keep a device busy, and none too small."""
    programs = space.results if space.rows else -(-space.results // COLUMNS)
    if space.length < (LONG_ROW if space.rows else LONG_COLUMN) or programs >= PROGRAMS:
        return 1
    if not space.rows and (len(_long(space)) > 1 or len(_long(space)) < len(space.axes)):
        return 1
    wanted = min(math.ceil(4 * PROGRAMS / programs), space.length // (LEAST_ROW if space.rows else LEAST_COLUMN))
    return next((parts for parts in range(wanted, 1, -1) if space.length % parts == 0), 1)
