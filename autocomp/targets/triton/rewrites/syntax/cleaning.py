"""Removing what a rewrite left without use."""

from __future__ import annotations

import ast

from autocomp.targets.triton.language.module import parameters
from autocomp.targets.triton.rewrites.syntax.tree import blocks, calls_in, drop_keyword, launches_of, loads_of


def drop_unused(function: ast.FunctionDef) -> None:
    """Remove assignments in a Triton function to names that nothing reads, in place."""
    while _drop_once(function):
        pass


def _drop_once(function: ast.FunctionDef) -> bool:
    read = loads_of(function.body)
    own: dict[str, int] = {}  # reads of a name by statements that assign it
    for node in ast.walk(function):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            own[node.target.id] = own.get(node.target.id, 0) + loads_of([node.value])[node.target.id]
    dropped = False
    for block in blocks(function):
        for node in list(block):
            name = _assigned(node)
            if (
                name is None
                or read[name] > own.get(name, 0)
                or any(True for _ in calls_in([node], "store", "atomic_add"))
            ):
                continue
            block.remove(node)
            dropped = True
        if not block:
            block.append(ast.Pass())
    return dropped


def _assigned(node: ast.stmt) -> str | None:
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return None


def drop_unused_parameters(tree: ast.Module, function: ast.FunctionDef) -> None:
    """Remove parameters that a Triton function does not read, and the arguments that its launches give by name."""
    read = loads_of(function.body)
    unused = {name for name in parameters(function) if not read[name]}
    launches = launches_of(tree, function.name, main=False)
    if any(launch.node.args for launch in launches):
        return
    function.args.args = [a for a in function.args.args if a.arg not in unused]
    for launch in launches:
        for name in unused:
            drop_keyword(launch.node, name)
