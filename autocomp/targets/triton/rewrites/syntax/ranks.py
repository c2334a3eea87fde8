"""The numbers of dimensions of the values in a Triton function."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from autocomp.targets.triton.language.module import parameters
from autocomp.targets.triton.rewrites.syntax.tree import argument, called

_REDUCTIONS = ("sum", "max", "min", "argmax", "argmin", "reduce", "xor_sum")
ROUNDS = 8  # of propagation; names depend on each other through few loops


def ranks_of(function: ast.FunctionDef) -> dict[str, int]:
    """The rank of each parameter and variable: 0 a scalar, 1 a vector, 2 a tile."""
    ranks = dict.fromkeys(parameters(function), 0)
    for _ in range(ROUNDS):
        before = dict(ranks)
        for node in ast.walk(function):
            if isinstance(node, ast.Assign):
                _assign(node, ranks)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                name = node.target.id
                ranks[name] = max(ranks.get(name, 0), rank(node.value, ranks))
            elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
                ranks.setdefault(node.target.id, 0)
        if ranks == before:
            break
    return ranks


def _assign(node: ast.Assign, ranks: dict[str, int]) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            ranks[target.id] = max(ranks.get(target.id, 0), rank(node.value, ranks))
        elif isinstance(target, ast.Tuple) and called(node.value, "split") and isinstance(node.value, ast.Call):
            for part in target.elts:
                if isinstance(part, ast.Name):
                    ranks[part.id] = max(0, rank(node.value.args[0], ranks) - 1)


def rank(node: ast.expr, ranks: Mapping[str, int]) -> int:
    """The rank of an expression."""
    if isinstance(node, ast.Name):
        return ranks.get(node.id, 0)
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return len(parts)
    if isinstance(node, ast.Attribute):
        return rank(node.value, ranks) if node.attr == "T" else 0
    if isinstance(node, ast.Call):
        return _call(node, ranks)
    inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    return max((rank(child, ranks) for child in inner), default=0)


def _call(node: ast.Call, ranks: Mapping[str, int]) -> int:
    if called(node, "arange"):
        return 1
    if called(node, "zeros", "full"):
        return _length(argument(node, 0, "shape"))
    if called(node, "dot"):
        return 2
    if called(node, "reshape"):
        return _length(argument(node, 1, "shape"))
    if called(node, "join"):
        return rank(node.args[0], ranks) + 1
    if called(node, *_REDUCTIONS):
        axis = argument(node, 1, "axis")
        return max(0, rank(node.args[0], ranks) - 1) if axis is not None else 0
    if isinstance(node.func, ast.Attribute) and not called(node, node.func.attr):
        return _method(node, node.func, ranks)
    return max((rank(child, ranks) for child in [*node.args, *(k.value for k in node.keywords)]), default=0)


def _method(node: ast.Call, method: ast.Attribute, ranks: Mapping[str, int]) -> int:
    if method.attr == "load":
        return _length(node.args[0])
    if method.attr == "reshape":
        return len(node.args)
    if method.attr in _REDUCTIONS:
        return max(0, rank(method.value, ranks) - 1)
    return rank(method.value, ranks)


def _length(shape: ast.expr | None) -> int:
    return len(shape.elts) if isinstance(shape, (ast.Tuple, ast.List)) else 0
