"""The comment at the head of a kernel that says which schedule it was lowered from."""

from __future__ import annotations

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.syntax.rewrite import with_body

_MARK = "schedule "


def heading(kernel: ast.Kernel) -> str:
    """The text of the comment; empty without one."""
    first = kernel.entry.body.statements[:1]
    text = first[0].text.removeprefix("//").strip() if first and isinstance(first[0], ast.Comment) else ""
    return text.removeprefix(_MARK) if text.startswith(_MARK) else ""


def with_heading(kernel: ast.Kernel, text: str) -> ast.Kernel:
    """The kernel with such a comment."""
    return with_body(kernel, ast.Block((ast.Comment(f"{_MARK}{text}"), *kernel.entry.body.statements)))


def without_heading(kernel: ast.Kernel) -> ast.Kernel:
    """The kernel without it."""
    return with_body(kernel, ast.Block(kernel.entry.body.statements[1:])) if heading(kernel) else kernel
