"""The pieces of C's preprocessor: words, numbers, strings, marks, blanks and comments, with their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<COMMENT>//(?:\\[^\S\n]*\n|[^\n])*|/\*(?s:.*?)\*/)
    |(?P<STRING>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<WORD>[A-Za-z_]\w*)
    |(?P<NUMBER>\.?[0-9][\w.]*)
    |(?P<NEWLINE>\n)
    |(?P<BLANK>(?:[^\S\n]|\\[^\S\n]*(?=\n))+)
    |(?P<MARK>\#\#|<<=|>>=|<<|>>|[-+*/%&|^=!<>]=|&&|\|\||\+\+|--|->|.)""",
    re.VERBOSE,
)


class Piece(NamedTuple):
    kind: str
    text: str
    line: int


@dataclass(frozen=True)
class Macro:
    body: tuple[Piece, ...]
    parameters: tuple[str, ...] | None = None  # None: not written as a function


def pieces_of(text: str) -> Iterator[Piece]:
    """All of a text, in its order."""
    line = 1
    for match in _TOKEN.finditer(text):
        piece = match.group()
        yield Piece(match.lastgroup or "MARK", piece, line)
        line += piece.count("\n")


def placed(pieces: Sequence[Piece], line: int) -> list[Piece]:
    """The pieces as if they stood in another line."""
    return [Piece(p.kind, p.text, line) for p in pieces]


def stripped(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces without blanks at both ends."""
    start, end = 0, len(pieces)
    while start < end and pieces[start].kind == "BLANK":
        start += 1
    while end > start and pieces[end - 1].kind == "BLANK":
        end -= 1
    return list(pieces[start:end])


def spaced(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces with a blank between two of them."""
    return [part for n, piece in enumerate(pieces) for part in ([Piece("BLANK", " ", piece.line)] * (n > 0) + [piece])]


def split(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """The parts between commas outside of brackets."""
    parts: list[list[Piece]] = [[]]
    depth = 0
    for piece in pieces:
        depth += 1 if piece.text in ("(", "[", "{") else -1 if piece.text in (")", "]", "}") else 0
        if piece.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(piece)
    return parts


def joined(parts: Sequence[Sequence[Piece]]) -> list[Piece]:
    """The parts with commas between them."""
    result: list[Piece] = []
    for part in parts:
        comma = [Piece("MARK", ",", part[0].line if part else 0)] if part is not parts[0] else []
        result += [*comma, *part]
    return result


def closed(pieces: Sequence[Piece], start: int, end: int) -> bool:
    """True if as many braces open as close from `start` to `end`."""
    texts = [p.text for p in pieces[start:end]]
    return texts.count("{") == texts.count("}")
