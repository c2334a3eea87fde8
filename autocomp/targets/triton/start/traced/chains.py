"""Chains of nodes that follow one element by element, and may be computed where it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from autocomp.targets.triton.start.traced.elementwise import TEMPLATES
from autocomp.targets.triton.start.traced.graph import VIEWS, Graph, Node
from autocomp.targets.triton.start.traced.values import is_inline


def end_of_chain(
    graph: Graph, needed: Sequence[Node], first: Node, stored: Collection[str], held: Collection[str] = ()
) -> Node:
    """The last node that everything that uses `first` goes through, made of it and of what is stored or `held` alone:
    stored in its place, it is computed once. Without such a node, `first` itself. Held ones may be made of it."""
    if first.name in graph.outputs:
        return first
    users: dict[str, set[str]] = {}
    for node in needed:
        for name in node.refs():
            users.setdefault(name, set()).add(node.name)
    chain, end = {first.name}, first
    for node in needed:
        if not chain & set(node.refs()) or not _moves_with(graph, node, first, {*chain, *stored, *held}):
            continue
        chain.add(node.name)
        inner = chain - {node.name}
        if node.is_float and node.op in TEMPLATES and all(users[name] <= {*chain, *held} for name in inner):
            end = node
        if node.name in graph.outputs:
            break
    return end


def _moves_with(graph: Graph, node: Node, first: Node, known: Collection[str]) -> bool:
    """True for a node with an element for each of the first's, made of what is known."""
    if node.elements != first.elements or not (node.op in TEMPLATES or node.op in VIEWS):
        return False
    return all(name in known or _is_made_of(graph, name, known) for name in node.refs())


def _is_made_of(graph: Graph, name: str, known: Collection[str]) -> bool:
    node = graph[name]
    return is_inline(node) and all(other in known or _is_made_of(graph, other, known) for other in node.refs())
