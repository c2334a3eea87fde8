"""Facts about a kernel's names: their values, what loops add to them, and where they are assigned."""

from __future__ import annotations

import ast

from autocomp.targets.triton.language.module import parameters
from autocomp.targets.triton.rewrites.syntax.tree import bounds, loops_in, stores_of, text_of


def definitions(function: ast.FunctionDef) -> dict[str, ast.expr]:
    """Values of the names that are assigned once, or everywhere the same."""
    counts = stores_of(function.body)
    values: dict[str, ast.expr] = {}
    texts: dict[str, set[str]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            values[name] = node.value
            texts.setdefault(name, set()).add(text_of(node.value))
    loops = {loop.target.id for loop in loops_in(function) if isinstance(loop.target, ast.Name)}
    augmented = {
        n.target.id for n in ast.walk(function) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
    }
    given = set(parameters(function))
    return {
        name: value
        for name, value in values.items()
        if name not in loops | augmented | given and (counts[name] == 1 or len(texts[name]) == 1)
    }


def carried(function: ast.FunctionDef) -> dict[str, tuple[ast.expr, ast.expr, str]]:
    """Names that a loop adds the same to in each round: what they start as, what is added, and the rounds before the
    present one as text."""
    updates: dict[str, tuple[ast.expr, ast.expr, str]] = {}
    for loop in loops_in(function):
        for node in loop.body:
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
                name = node.target.id
                starts = [
                    n.value for n in ast.walk(function) if isinstance(n, ast.Assign) and text_of(n.targets[0]) == name
                ]
                if len(starts) == 1 and stores_of(function.body)[name] == 2 and not _reads(node.value, loop):
                    updates[name] = (starts[0], node.value, _rounds(loop))
    return updates


def early(function: ast.FunctionDef) -> set[str]:
    """Names that are assigned in front of the first loop alone."""
    loops = loops_in(function)
    first = loops[0].lineno if loops else function.lineno
    stored = [n for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return {n.id for n in stored if n.lineno < first} - {n.id for n in stored if n.lineno >= first}


def _reads(value: ast.expr, loop: ast.For) -> bool:
    """True if the added value depends on what the loop computes."""
    changed = set(stores_of([loop]))
    return any(isinstance(n, ast.Name) and n.id in changed for n in ast.walk(value))


def _rounds(loop: ast.For) -> str:
    start, _, step = bounds(loop)
    index = text_of(loop.target)
    if text_of(start) != "0":
        index = f"{index} - {text_of(start)}"
    return f"(advance){index}" if text_of(step) == "1" else f"(advance)({index} // {text_of(step)})"
