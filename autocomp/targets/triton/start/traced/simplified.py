"""Nodes that say in one what a traced graph says in several: kernels then read each element once, or compute less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from autocomp.targets.triton.start.traced.graph import VIEWS, Graph, Node, Ref
from autocomp.targets.triton.start.traced.loops import SPREAD, space_of

SOFT = "tanh_softplus"  # tanh(log(1 + e^x)), of the activation Mish


def simplified(graph: Graph) -> Graph:
    """The graph with sums of squared distances to a mean, and what else is known of it, as nodes of their own."""
    nodes: dict[str, Node] = {}
    for node in graph.nodes.values():
        changed = node
        for rule in RULES:
            changed = rule(graph, changed)
        nodes |= {one.name: one for one in _exclusive(graph, changed)}
    return Graph(nodes, graph.outputs)


def _of_one_element(graph: Graph, node: Node) -> Node:
    """A reduction of single elements moves them."""
    if node.op not in ("sum", "prod", "amax", "amin") or graph[node.args[0]].dtype != node.dtype:
        return node
    return replace(node, op="view", args=(node.args[0], node.shape)) if space_of(graph, node).length == 1 else node


def _spread(graph: Graph, node: Node) -> Node:
    """A sum of the squares of `x - sum(x) / n`, over the same elements."""
    squares = _argument(graph, node, 0) if node.op == "sum" else None
    if squares is None or squares.op != "mul" or squares.args[0] != squares.args[1]:
        return node
    centred = graph[squares.args[0]]
    mean = _argument(graph, centred, 1) if centred.op == "sub" and not centred.options else None
    while mean is not None and mean.op in VIEWS:
        mean = _argument(graph, mean, 0)
    total = _argument(graph, mean, 0) if mean is not None and mean.op == "div" else None
    while total is not None and total.op in VIEWS:
        total = _argument(graph, total, 0)
    if mean is None or total is None or total.op != "sum" or total.args[0] != centred.args[0]:
        return node
    space = space_of(graph, node)
    if space != space_of(graph, total) or mean.args[1] != space.length:
        return node
    return replace(node, op=SPREAD, args=(centred.args[0], *node.args[1:]))


def _exclusive(graph: Graph, node: Node) -> tuple[Node, ...]:
    """Zeros in front of running sums are the running sums of elements with zeros in front."""
    if node.op != "cat":
        return (node,)
    *first, last = (graph[part] for part in node.args[0])
    axis = int(node.option("dim", 1, 0)) % len(node.shape)
    if last.op != "cumsum" or int(last.args[1]) % len(node.shape) != axis or not all(map(_is_zero, first)):
        return (node,)
    moved = replace(node, name=f"{node.name}_moved", args=((*node.args[0][:-1], last.args[0]), *node.args[1:]))
    return (moved, replace(last, name=node.name, args=(Ref(moved.name), axis), shape=node.shape))


def _is_zero(node: Node) -> bool:
    return node.op in ("zeros", "zeros_like") or (node.op in ("full", "full_like") and node.args[1] == 0)


def _soft(graph: Graph, node: Node) -> Node:
    """`tanh` of a softplus, which from some place on may be its argument."""
    inner = _argument(graph, node, 0) if node.op == "tanh" else None
    if inner is not None and inner.op == "where":
        above, same = _argument(graph, inner, 0), inner.args[1]
        if above is None or above.op != "gt" or above.args[0] != same or above.args[1] < ALIKE:
            return node
        inner = _argument(graph, inner, 2)
    raised = _argument(graph, inner, 0) if inner is not None and inner.op == "log1p" else None
    if raised is None or raised.op != "exp":
        return node
    return replace(node, op=SOFT, args=raised.args)


ALIKE = 10.0  # from here on tanh is 1 in float32
RULES: tuple[Callable[[Graph, Node], Node], ...] = (_of_one_element, _spread, _soft)


def _argument(graph: Graph, node: Node, position: int) -> Node | None:
    """The node that is an argument, None for a number."""
    argument = node.args[position]
    return graph[argument] if isinstance(argument, Ref) else None
