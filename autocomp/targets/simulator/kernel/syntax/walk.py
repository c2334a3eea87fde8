"""Walking a syntax tree, and building one anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from autocomp.targets.simulator.kernel.syntax import ast

_CHILDREN: dict[type, tuple[str, ...]] = {
    ast.Kernel: ("globals", "functions"),
    ast.Function: ("return_type", "parameters", "body"),
    ast.KernelParameter: ("type",),
    ast.Type: ("extents", "fields"),
    ast.Block: ("statements",),
    ast.Declaration: ("declarators",),
    ast.Declarator: ("type", "initializer"),
    ast.ExpressionStatement: ("expression",),
    ast.If: ("condition", "then", "otherwise"),
    ast.For: ("initial", "condition", "step", "body"),
    ast.While: ("condition", "body"),
    ast.DoWhile: ("body", "condition"),
    ast.Return: ("value",),
    ast.Index: ("base", "index"),
    ast.Member: ("base",),
    ast.Unary: ("operand",),
    ast.Binary: ("left", "right"),
    ast.Conditional: ("condition", "then", "otherwise"),
    ast.Cast: ("type", "operand"),
    ast.SizeOf: ("operand",),
    ast.Call: ("arguments",),
    ast.CallThrough: ("target", "arguments"),
    ast.Assignment: ("target", "value"),
    ast.Increment: ("target",),
    ast.InitializerList: ("values",),
    ast.Designated: ("value",),
}


def children(node: Any) -> Iterator[Any]:
    """The syntax tree nodes directly below one, in source order."""
    for name in _CHILDREN.get(type(node), ()):
        child = getattr(node, name)
        if type(child) is tuple:
            yield from child
        elif child is not None:
            yield child


def walk(node: Any) -> Iterator[Any]:
    """Every node of a tree, parents before children, in source order."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        if type(node) in _CHILDREN:
            stack.extend(reversed(list(children(node))))


def rebuilt(node: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with every node replaced for which `change` returns a node instead of None, outer nodes first. Returned
    nodes are not searched."""
    if type(node) is tuple:
        return tuple(rebuilt(part, change) for part in node)
    names = _CHILDREN.get(type(node))
    new = change(node) if node is not None else None
    if new is not None or names is None:
        return node if new is None else new
    return replace(node, **{name: rebuilt(getattr(node, name), change) for name in names})


def depth_exceeds(node: Any, limit: int) -> int | None:
    """The line of some node that lies more than `limit` levels below `node`, or None."""
    level, depth = [node], 0
    while level:
        depth += 1
        if depth > limit:
            return max((getattr(node, "line", 0) for node in level), default=0)
        below: list[Any] = []
        for node in level:
            for name in _CHILDREN.get(type(node), ()):
                child = getattr(node, name)
                if type(child) is tuple:
                    below.extend(child)
                elif child is not None:
                    below.append(child)
        level = below
    return None
