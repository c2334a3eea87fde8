"""Values that several kernels need, and that many loads make: they are stored once.

A chain of additions grows along a network, for example. Computed anew wherever it is needed, it would take as many
loads as there were layers before.
"""

from __future__ import annotations

from autocomp.targets.triton.start.traced.graph import KEEP, VIEWS, Graph, Node, Ref, renamed
from autocomp.targets.triton.start.traced.values import MADE, is_inline

SMALL = 64  # a tensor with fewer than one element for so many of a result costs nothing to load


def with_kept(graph: Graph) -> Graph:
    """The graph with values stored where that saves loads."""
    users = _users(graph)
    readers = _readers(graph, users)
    nodes: dict[str, Node] = {}
    names: dict[str, str] = {}
    leaves: dict[str, frozenset[str]] = {}
    for node in graph.nodes.values():
        nodes[node.name] = renamed(node, names)
        if not is_inline(node):
            leaves[node.name] = frozenset([node.name])
            continue
        leaves[node.name] = frozenset().union(*(leaves[name] for name in node.refs()))
        if node.op in (*VIEWS, *MADE) or node.name in graph.outputs or _goes_on(graph, node, users[node.name]):
            continue
        loads = sum(graph[name].elements * SMALL >= node.elements for name in leaves[node.name])
        count = len(readers[node.name])
        if loads * count >= loads + 1 + count:  # those of a kernel that stores it, and one by each reader
            kept = f"{node.name}{KEEP}_"
            nodes[kept] = Node(kept, KEEP, (Ref(node.name),), {}, node.shape, node.dtype)
            names[node.name] = kept
            leaves[node.name] = frozenset([node.name])
    return Graph(nodes, graph.outputs)


def _users(graph: Graph) -> dict[str, list[Node]]:
    users: dict[str, list[Node]] = {name: [] for name in graph.nodes}
    for node in graph.needed():
        for name in dict.fromkeys(node.refs()):
            users[name].append(node)
    return users


def _readers(graph: Graph, users: dict[str, list[Node]]) -> dict[str, frozenset[str]]:
    """The nodes with kernels of their own, or results, that a value goes into."""
    readers: dict[str, frozenset[str]] = {}
    for name in reversed(list(graph.nodes)):
        own = [name] if name in graph.outputs else []
        own += [user.name for user in users[name] if not is_inline(user)]
        readers[name] = frozenset(own).union(*(readers[user.name] for user in users[name] if is_inline(user)))
    return readers


def _goes_on(graph: Graph, node: Node, users: list[Node]) -> bool:
    """True where one value of as many elements is all that is made of it: that may be stored in its place."""
    return len(users) == 1 and is_inline(users[0]) and users[0].elements == node.elements
