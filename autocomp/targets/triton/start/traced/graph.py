"""A traced operation: nodes of PyTorch's operators, as a worker's message has them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

# Operators whose results are elements of their argument, at other places.
VIEWS = frozenset(
    {
        "view",
        "_unsafe_view",
        "reshape",
        "permute",
        "transpose",
        "t",
        "unsqueeze",
        "squeeze",
        "expand",
        "slice",
        "select",
        "flip",
        "broadcast_in_dim",
        "unfold",
    }
)
KEEP = "keep"  # the operator of a value that is stored, as several kernels read it


@dataclass(frozen=True)
class Ref:
    """A node, where an argument names one."""

    name: str


@dataclass(frozen=True)
class Node:
    """One operator. Inputs of the operation have the operator `input`."""

    name: str
    op: str
    args: tuple[Any, ...]
    options: Mapping[str, Any]
    shape: tuple[int, ...]
    dtype: str

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def is_float(self) -> bool:
        return "float" in self.dtype

    def refs(self) -> Iterator[str]:
        return _refs((*self.args, *self.options.values()))

    def option(self, name: str, position: int, usual: Any = None) -> Any:
        """An argument that may be given by position or by name."""
        return self.args[position] if position < len(self.args) else self.options.get(name, usual)


@dataclass(frozen=True)
class Graph:
    """Nodes in an order in which each comes after what it needs; `outputs` names those that are the results."""

    nodes: Mapping[str, Node]
    outputs: tuple[str, ...]

    def __getitem__(self, ref: Ref | str) -> Node:
        return self.nodes[ref.name if isinstance(ref, Ref) else ref]

    def needed(self) -> list[Node]:
        """The nodes that the results depend on."""
        wanted = set(self.outputs)
        for node in reversed(list(self.nodes.values())):
            if node.name in wanted:
                wanted.update(node.refs())
        return [node for node in self.nodes.values() if node.name in wanted]


def once(graph: Graph) -> Graph:
    """The graph with nodes that compute the same made one. Results stay as they are."""
    kept: dict[str, Node] = {}
    known: dict[str, str] = {}
    same: dict[str, str] = {}
    for node in graph.nodes.values():
        merged = renamed(node, same)
        key = repr((node.op, merged.args, sorted(merged.options.items()), node.shape, node.dtype))
        if node.op != "input" and node.name not in graph.outputs and key in known:
            same[node.name] = known[key]
            continue
        kept[node.name] = merged
        known.setdefault(key, node.name)
    return Graph(kept, graph.outputs)


def renamed(node: Node, names: Mapping[str, str]) -> Node:
    """A node that refers to others in place of those that have a new name."""
    args = tuple(_replaced(argument, names) for argument in node.args)
    return replace(node, args=args, options={key: _replaced(value, names) for key, value in node.options.items()})


def _replaced(argument: Any, names: Mapping[str, str]) -> Any:
    if isinstance(argument, Ref):
        return Ref(names.get(argument.name, argument.name))
    return tuple(_replaced(part, names) for part in argument) if isinstance(argument, tuple) else argument


def graph_of(document: Mapping[str, Any]) -> Graph:
    """The graph of a worker's answer to `trace`."""
    nodes = {
        entry["name"]: Node(
            entry["name"],
            entry["op"],
            tuple(_read(argument) for argument in entry["args"]),
            {key: _read(value) for key, value in entry["options"].items()},
            tuple(entry["shape"]),
            entry["dtype"],
        )
        for entry in document["nodes"]
    }
    return Graph(nodes, tuple(document["outputs"]))


def _read(argument: Any) -> Any:
    if isinstance(argument, Mapping):
        return Ref(argument["ref"])
    return (
        tuple(_read(part) for part in argument)
        if isinstance(argument, Sequence) and not isinstance(argument, str)
        else argument
    )


def _refs(arguments: Sequence[Any]) -> Iterator[str]:
    for argument in arguments:
        if isinstance(argument, Ref):
            yield argument.name
        elif isinstance(argument, tuple):
            yield from _refs(argument)
