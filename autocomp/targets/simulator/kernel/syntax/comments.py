"""Comments on lines of their own: found in the text, and put into the block that surrounds them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from autocomp.targets.simulator.kernel.syntax import ast

_COMMENT = re.compile(r"//((?:\\[^\S\n]*\n|[^\n])*)|/\*(.*?)\*/[^\S\n]*", re.DOTALL)

_SPLICE = re.compile(r"(?:\s|\\|\?\?/)+\Z")


def attach_comments(kernel: ast.Kernel) -> ast.Kernel:
    """The kernel with its own-line comments as statements; a comment of several lines becomes several."""
    comments = _own_line_comments(kernel.source)
    if not comments:
        return kernel
    return replace(kernel, functions=tuple(replace(f, body=_in_block(f.body, comments)) for f in kernel.functions))


def closed(line: str) -> str:
    """A comment's line without what would make the next one part of it, in a C compiler with trigraphs too."""
    return _SPLICE.sub("", line.strip())


def _own_line_comments(text: str) -> list[ast.Comment]:
    """Comments with only blanks before and after them on their line, in reverse order of lines."""
    comments = []
    line, seen, end = 1, 0, 0
    for match in _COMMENT.finditer(text):
        line += text.count("\n", seen, match.start())
        seen = match.start()
        gap = text[end : match.start()]
        same_line = end > 0 and "\n" not in gap  # as the comment before it
        end = match.end()
        last = text[end : end + 1] in ("", "\n")  # on its line
        if same_line or gap[gap.rfind("\n") + 1 :].strip() or not last:
            continue
        body = match.group(1) if match.group(1) is not None else match.group(2)
        lines = [closed(part) for part in body.split("\n")]
        if match.group(1) is None:
            lines = [part.lstrip("*").strip() for part in lines]
        kept = [part for part in lines if part] or [""]
        comments += [ast.Comment(part, line) for part in kept]
    return comments[::-1]


def _in_block(block: ast.Block, comments: list[ast.Comment]) -> ast.Block:
    """Takes from the end of `comments` those that lie before the end of the block."""
    statements: list[ast.Statement] = []
    while block.line and comments and comments[-1].line <= block.line:
        comments.pop()  # before the block's opening brace: in no block
    for statement in block.statements:
        while block.line and comments and comments[-1].line < statement.line:
            statements.append(comments.pop())
        statements.append(_in_statement(statement, comments))
    while block.line and comments and comments[-1].line < block.end_line:
        statements.append(comments.pop())
    return replace(block, statements=tuple(statements))


def _in_statement(statement: Any, comments: list[ast.Comment]) -> Any:
    kind = type(statement)
    if kind is ast.Block:
        return _in_block(statement, comments)
    if kind in (ast.For, ast.While, ast.DoWhile):
        return replace(statement, body=_in_block(statement.body, comments))
    if kind is ast.If:
        then = _in_block(statement.then, comments)
        otherwise = statement.otherwise and _in_block(statement.otherwise, comments)
        return replace(statement, then=then, otherwise=otherwise)
    return statement
