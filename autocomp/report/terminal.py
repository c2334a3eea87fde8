"""Consoles: coloured and live on a terminal, plain text elsewhere. Whatever text they are given does nothing there."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from autocomp.printable import printable
from autocomp.targets.evaluation import Number

PERCENT, NO_BREAK = re.compile(r"(?<=\d) (?=%)"), "\N{NO-BREAK SPACE}"
SPARKS = " ▁▂▃▄▅▆▇█"
PLAIN_WIDTH = 120  # columns where neither a terminal nor COLUMNS states any


class PlainConsole(Console):
    """A console that takes no text as markup, and shows control characters instead of sending them. Lines break between
    words only: a word that is longer than a line, such as a path, stays whole."""

    def print(self, *objects: Any, soft_wrap: bool | None = None, **options: Any) -> None:
        """Print as rich does; with `soft_wrap`, texts are not wrapped at all."""
        if not soft_wrap:
            objects = tuple("\n".join(wrapped(o, self.width)) if isinstance(o, str) else o for o in objects)
        super().print(*objects, **{"overflow": "ignore", "crop": False, **options})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


def make_console(stream: TextIO | None = None, plain: bool = False) -> Console:
    """A console on a stream (standard output by default). It is plain, without colours or a live display, when asked
    for or when the stream is not a terminal. Its width is that of the terminal; COLUMNS overrides it."""
    stream = stream or sys.stdout
    if plain or not stream.isatty():
        return PlainConsole(
            file=stream,
            no_color=True,
            highlight=False,
            markup=False,
            emoji=False,
            force_terminal=False,
            width=plain_width(stream),
        )
    return PlainConsole(file=stream, highlight=False, markup=False, emoji=False)


def _around_carets(lines: Sequence[str], width: int) -> Iterator[str]:
    """The lines, each that has carets below cut to the width, and the carets moved with it."""
    at = 0
    while at < len(lines):
        line, carets = lines[at], lines[at + 1] if at + 1 < len(lines) else ""
        at += 1
        if len(line) <= width or set(carets.strip()) != {"^"}:
            yield line
            continue
        margin = len(line) - len(line.lstrip())
        kept = min(margin, width // 2)
        room = max(2, width - kept)
        body, first = line.strip(), len(carets) - len(carets.lstrip()) - margin
        start = max(0, min(first - room // 2, len(body) - room))
        shown = body[start : start + room]
        shown = ("…" if start else shown[:1]) + shown[1:]
        shown = shown[:-1] + ("…" if start + room < len(body) else shown[-1:])
        yield " " * kept + shown
        yield (" " * max(0, kept + first - start) + carets.strip())[:width]
        at += 1


def wrapped(text: str, width: int, indent: str = "") -> Iterator[str]:
    """Lines of at most `width` characters; a word that is longer stays whole, and a number with its percent sign. Lines
    keep their own indentation. Of a source line that carets point at, the part around them is shown."""
    for line in _around_carets(text.split("\n"), width - len(indent)):
        own = indent + " " * (len(line) - len(line.lstrip()))
        whole, room = PERCENT.sub(NO_BREAK, line.strip()), max(1, width - len(own))
        parts = textwrap.wrap(whole, room, break_long_words=False, break_on_hyphens=False)
        yield from (own + part.replace(NO_BREAK, " ") for part in parts or [""])


def plain_width(stream: TextIO) -> int:
    """Columns of plain output."""
    stated = os.environ.get("COLUMNS", "")
    if stated.isdecimal() and int(stated) > 0:
        return int(stated)
    return (os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0) or PLAIN_WIDTH


def percent(ratio: float | None, digits: int = 1) -> str:
    return "-" if ratio is None else f"{100 * ratio:.{digits}f} %"


def amount_text(value: Number | None) -> str:
    """A value of the objective: integers in full, others with four digits; a dash for none."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def sparkline(values: Sequence[float], highest: float, width: int) -> str:
    """The values, averaged to at most `width` characters whose height is their share of `highest`; only 0 is blank."""
    if not values or highest <= 0:
        return ""
    count = min(width, len(values))
    edges = [number * len(values) // count for number in range(count + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    top = len(SPARKS) - 1
    return "".join(SPARKS[min(top, max(mean > 0, round(top * mean / highest)))] for mean in means)


def counted(count: int, noun: str) -> str:
    """A count with its noun, which takes an s in the plural."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
