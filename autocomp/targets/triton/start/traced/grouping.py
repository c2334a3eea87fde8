"""Nodes of a graph that go into one kernel, given those that are stored already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from autocomp.targets.triton.start.traced.chains import end_of_chain
from autocomp.targets.triton.start.traced.graph import Graph, Node
from autocomp.targets.triton.start.traced.loops import REDUCTIONS, Space, space_of
from autocomp.targets.triton.start.traced.values import is_inline


@dataclass(frozen=True)
class Grouping:
    """The nodes of a graph that are `needed`, and its `results` by node, of which some outputs are `written`. `stored`
    and `written` grow as kernels are added."""

    graph: Graph
    needed: Sequence[Node]
    results: Mapping[str, str]
    stored: Mapping[str, str]
    written: Set[str]

    def over(self, space: Space, waiting: Sequence[Node]) -> list[Node]:
        """The first of some nodes, and the reductions after it that go over a space and need nothing from outside."""
        first = waiting[0]
        group, names = [first], {first.name}
        for node in waiting[1:]:
            if node.op not in REDUCTIONS or space_of(self.graph, node) != space:
                continue
            if all(need in names or need in self.stored for need in self.needs(node)):
                group.append(node)
                names.add(node.name)
        return group

    def needs(self, node: Node) -> set[str]:
        """The nodes that must be stored, or held, for a node to be computed."""
        names: set[str] = set()
        for name in node.refs():
            other = self.graph[name]
            names |= self.needs(other) if is_inline(other) and name not in self.stored else {name}
        return names

    def follower(self, group: Sequence[Node]) -> tuple[Node, str] | None:
        """A result that the kernel of some nodes can write by itself: it needs nothing else that is not stored."""
        names = {node.name for node in group}
        for name, output in self.results.items():
            node = self.graph[name]
            if output in self.written or not is_inline(node):
                continue
            needs = self.needs(node)
            if needs & names and needs <= names | set(self.stored):
                return node, output
        return None

    def last(self, node: Node) -> tuple[Node, str]:
        """The node that the kernel of another stores: a result and its name, else the end of a chain after it."""
        return self.follower([node]) or (end_of_chain(self.graph, self.needed, node, self.stored), "")

    def end(self, group: Sequence[Node]) -> Node | None:
        """The end of a chain after a node and the reductions of it that a kernel holds, where others read it."""
        held = {node.name for node in group[1:]}
        last = end_of_chain(self.graph, self.needed, group[0], self.stored, held)
        return last if last is not group[0] and self.is_read(last, held) else None

    def is_read(self, node: Node, but: Set[str]) -> bool:
        """True for a result, and for what any node reads but some."""
        readers = {other.name for other in self.needed if node.name in other.refs()}
        return node.name in self.results or not readers <= but

    def waves(self, group: Sequence[Node]) -> list[list[Node]]:
        """The nodes of a group, each after those that it needs; nodes of one wave need none of each other."""
        waves: list[list[Node]] = []
        level: dict[str, int] = {}
        for node in group:
            level[node.name] = 1 + max((level[need] for need in self.needs(node) if need in level), default=-1)
            if level[node.name] == len(waves):
                waves.append([])
            waves[level[node.name]].append(node)
        return waves

    def used_outside(self, node: Node, group: set[str], follower: tuple[Node, str] | None) -> bool:
        """True for a result, and for what kernels need that make neither a group nor its follower."""
        return node.name in self.results or any(
            node.name in self.needs(other)
            for other in self.needed
            if other.name not in group
            and (follower is None or other is not follower[0])
            and (not is_inline(other) or other.name in self.results)
        )
