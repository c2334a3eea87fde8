"""Constructs of hand-written kernels that the normal form does not have, and that cannot be brought into it."""

from __future__ import annotations

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.syntax.loops import progression
from autocomp.targets.simulator.transforms.syntax.rewrite import walk


def unraised(kernel: ast.Kernel) -> tuple[str, ...]:
    """The constructs of a kernel in normal form that the transformations do not see through, in source order."""
    helpers = {function.name for function in kernel.functions}
    constructs = (_named(node, helpers) for node in walk(kernel.entry.body))
    return tuple(dict.fromkeys(text for text in constructs if text is not None))


def _named(node: object, helpers: set[str]) -> str | None:
    if isinstance(node, ast.While | ast.DoWhile):
        return f"a `while` loop that does not simply count{_at(node.line)}"
    if isinstance(node, ast.For) and progression(node) is None:
        return f"a `for` loop whose number of iterations is not constant{_at(node.line)}"
    if isinstance(node, ast.Call) and node.function in helpers:
        return f"the helper function `{node.function}`{_at(node.line)}"
    if isinstance(node, ast.ExpressionStatement) and isinstance(node.expression, ast.Assignment):
        target = node.expression.target
        return f"the variable `{target.name}`, which changes{_at(node.line)}" if isinstance(target, ast.Name) else None
    return None


def _at(line: int) -> str:
    return f" in line {line}" if line else ""
