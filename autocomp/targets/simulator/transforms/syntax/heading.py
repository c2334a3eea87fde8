"""The comments in a kernel that say which schedules its parts were lowered from, each at the head of its part."""

from __future__ import annotations

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.syntax.rewrite import with_body

_MARK = "schedule "


def heading(statements: tuple[ast.Statement, ...]) -> str:
    """The text of the comment at the head of some statements; empty without one."""
    first = statements[:1]
    text = first[0].text.removeprefix("//").strip() if first and isinstance(first[0], ast.Comment) else ""
    return text.removeprefix(_MARK) if text.startswith(_MARK) else ""


def with_heading(statements: tuple[ast.Statement, ...], text: str) -> tuple[ast.Statement, ...]:
    """The statements with such a comment."""
    return (ast.Comment(f"{_MARK}{text}"), *statements)


def is_lowered(kernel: ast.Kernel) -> bool:
    """True if some part of a kernel says which schedule it was lowered from."""
    return any(heading((statement,)) for statement in kernel.entry.body.statements)


def without_headings(kernel: ast.Kernel) -> ast.Kernel:
    """The kernel without these comments."""
    kept = [statement for statement in kernel.entry.body.statements if not heading((statement,))]
    return with_body(kernel, ast.Block(tuple(kept))) if is_lowered(kernel) else kernel
