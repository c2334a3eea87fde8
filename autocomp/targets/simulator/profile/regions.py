"""The parts of a kernel's source that a profile adds up: its loops, and those that its author has marked.

A part is marked as a statement, `region("NAME") { … }`, or by comments on lines of their own: `// region: NAME` to
`// end region`, shorter `// region NAME` to `// end`. Parts nest. The short form may be prose: where the one comment is
without the other, both are ordinary comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from autocomp.errors import KernelError, Place
from autocomp.targets.simulator.kernel.syntax import ast

_BEGIN = re.compile(r"^\s*//\s*region(?P<colon>\s*:|\s)\s*(?P<name>\S.*?)\s*$")
_END = re.compile(r"^\s*//\s*end(?P<region>\s+region)?\s*$")


@dataclass(frozen=True)
class Part:
    """Lines `first` to `last` of the source. `kind` is loop or region."""

    kind: str
    name: str
    first: int
    last: int


def parts(tree: ast.Kernel) -> tuple[Part, ...]:
    """Loops and regions in the order of their first lines, outer ones first. Raises KernelError as `commented` does."""
    all_parts = [*_statement_parts(tree), *commented(tree.source, tree.source_name)]
    return tuple(sorted(all_parts, key=lambda part: (part.first, -part.last)))


@dataclass(frozen=True)
class _Opened:
    name: str
    line: int
    text: str
    long: bool  # the form that is not prose


def commented(source: str, name: str = "kernel.c") -> tuple[Part, ...]:
    """The parts marked in comments. Raises KernelError for `// region: NAME` or `// end region` without the other."""
    parts: list[Part] = []
    opened: list[_Opened] = []
    for number, line in enumerate(source.splitlines(), 1):
        if begin := _BEGIN.match(line):
            opened.append(_Opened(begin["name"], number, line, bool(begin["colon"].strip())))
        elif end := _END.match(line):
            inner = _innermost(opened, long=end["region"] is not None)
            if inner is not None:
                parts.append(Part("region", opened[inner].name, opened[inner].line, number))
                del opened[inner:]
            elif end["region"] is not None:
                place = Place(name, number, 1, line)
                raise KernelError("`// end region` without a `// region: NAME` before it", place=place)
    for part in opened:
        if part.long:
            place = Place(name, part.line, 1, part.text)
            raise KernelError(f"the region {part.name!r} does not end: expected `// end region`", place=place)
    return tuple(parts)


def _innermost(opened: list[_Opened], *, long: bool) -> int | None:
    """The position of the open part that a comment of this form ends. A long end skips short parts, which are then
    prose; a short end does not reach beyond a long beginning."""
    for place in range(len(opened) - 1, -1, -1):
        if opened[place].long == long:
            return place
        if not long:
            return None
    return None


def _statement_parts(tree: ast.Kernel) -> Iterator[Part]:
    lines = tree.source.splitlines()
    for function in tree.functions:
        for statement in _statements(function.body):
            if isinstance(statement, ast.For | ast.While | ast.DoWhile):
                header = lines[statement.line - 1].strip().rstrip("{").strip()
                yield Part("loop", header, statement.line, max(statement.line, _last(statement.body)))
            elif isinstance(statement, ast.Block) and statement.region:
                yield Part("region", statement.region, statement.line, statement.end_line)


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
