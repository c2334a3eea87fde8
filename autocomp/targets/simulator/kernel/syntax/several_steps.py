"""`for` with several steps by the statements that the rest of the compiler knows: all but one end the body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.walk import rebuilt, walk


def lowered(
    initial: Sequence[ast.Expression] | ast.Declaration,
    condition: ast.Expression | None,
    steps: Sequence[ast.Expression],
    body: ast.Block,
    line: int,
) -> ast.Statement:
    """A loop whose head may have several expressions in its first and in its last part, in the order of execution."""
    step, others = _parted(condition, steps)
    if others:
        last = tuple(ast.ExpressionStatement(other, body.end_line or line) for other in others)
        body = ast.Block((*_before_continue(body, others).statements, *last), body.line, body.end_line)
    if isinstance(initial, ast.Declaration):
        return ast.For(initial, condition, step, body, line)
    start, before = _parted(condition, initial)
    loop = ast.For(None if start is None else ast.ExpressionStatement(start, line), condition, step, body, line)
    return ast.Block((*(ast.ExpressionStatement(one, line) for one in before), loop), line) if before else loop


def _parted(
    condition: ast.Expression | None, expressions: Sequence[ast.Expression]
) -> tuple[ast.Expression | None, Sequence[ast.Expression]]:
    """The expression that the loop's head keeps, and the others, which come before it. It is the last one, or one of
    the condition's variable that has nothing to do with those after it."""
    tested = _names(condition)
    for number, one in enumerate(expressions):
        if isinstance(one, ast.Assignment | ast.Increment) and _names(one.target) & tested:
            later = expressions[number + 1 :]
            if all(_names(one).isdisjoint(_names(other)) for other in later):
                return one, [*expressions[:number], *later]
    return (expressions[-1], expressions[:-1]) if expressions else (None, ())


def _names(node: Any) -> set[str]:
    return {part.name for part in walk(node) if isinstance(part, ast.Name)}


def _before_continue(body: ast.Block, steps: Sequence[ast.Expression]) -> ast.Block:
    """The body with the steps before each `continue` of its own."""

    def change(node: Any) -> Any:
        if isinstance(node, ast.For | ast.While | ast.DoWhile):
            return node
        if not isinstance(node, ast.Continue):
            return None
        return ast.Block((*(ast.ExpressionStatement(step, node.line) for step in steps), node), node.line)

    changed: ast.Block = rebuilt(body, change)
    return changed
