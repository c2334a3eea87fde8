"""The parts of a kernel's source that a profile adds up: its loops, and those that its author has marked.

A comment `// region NAME` on a line of its own begins a part, `// end` ends the one begun last; parts nest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from autocomp.errors import KernelError, Place
from autocomp.kernel import ast

_BEGIN = re.compile(r"^\s*//\s*region\s+(\S.*?)\s*$")
_END = re.compile(r"^\s*//\s*end\s*$")


@dataclass(frozen=True)
class Part:
    """Lines `first` to `last` of the source. `kind` is loop or region."""

    kind: str
    name: str
    first: int
    last: int


def parts(tree: ast.Kernel) -> tuple[Part, ...]:
    """Loops and regions in the order of their first lines, outer ones first. Raises KernelError as `regions` does."""
    found = [*_loops(tree), *regions(tree.source, tree.source_name)]
    return tuple(sorted(found, key=lambda part: (part.first, -part.last)))


def regions(source: str, name: str = "kernel.c") -> tuple[Part, ...]:
    """The parts marked in comments. Raises KernelError for one that does not end, or an end too many."""
    found: list[Part] = []
    open_: list[tuple[str, int, str]] = []
    for number, line in enumerate(source.splitlines(), 1):
        if begin := _BEGIN.match(line):
            open_.append((begin.group(1), number, line))
        elif _END.match(line):
            if not open_:
                raise KernelError("`// end` without a `// region NAME` before it", place=Place(name, number, 1, line))
            title, first, _ = open_.pop()
            found.append(Part("region", title, first, number))
    if open_:
        title, first, line = open_[-1]
        raise KernelError(f"the region {title!r} does not end: expected `// end`", place=Place(name, first, 1, line))
    return tuple(found)


def _loops(tree: ast.Kernel) -> Iterator[Part]:
    lines = tree.source.splitlines()
    for function in tree.functions:
        for statement in _statements(function.body):
            if isinstance(statement, ast.For | ast.While | ast.DoWhile):
                header = lines[statement.line - 1].strip().rstrip("{").strip()
                yield Part("loop", header, statement.line, max(statement.line, _last(statement.body)))


def _statements(block: ast.Block) -> Iterator[Any]:
    for statement in block.statements:
        yield statement
        for inner in ("body", "then", "otherwise"):
            if isinstance(getattr(statement, inner, None), ast.Block):
                yield from _statements(getattr(statement, inner))
        if isinstance(statement, ast.Block):
            yield from _statements(statement)


def _last(block: ast.Block) -> int:
    return max([block.end_line, block.line, *(_end(statement) for statement in block.statements)])


def _end(statement: Any) -> int:
    blocks = [getattr(statement, inner, None) for inner in ("body", "then", "otherwise")]
    inside = [_last(block) for block in blocks if isinstance(block, ast.Block)]
    own = _last(statement) if isinstance(statement, ast.Block) else int(statement.line)
    return max([own, *inside])
