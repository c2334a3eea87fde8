"""Consoles: coloured and live on a terminal, plain text elsewhere. Whatever text they are given does nothing there."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from autocomp.printable import printable
from autocomp.targets.evaluation import Number

SPARKS = " ▁▂▃▄▅▆▇█"
PLAIN_WIDTH = 160  # a pipe has no width of its own


class PlainConsole(Console):
    """A console that takes no text as markup, and shows control characters instead of sending them."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


def make_console(stream: TextIO | None = None, plain: bool = False) -> Console:
    """A console on a stream (standard output by default); plain when asked for or when the stream is no terminal."""
    stream = stream or sys.stdout
    if plain or not stream.isatty():
        return PlainConsole(
            file=stream,
            no_color=True,
            highlight=False,
            markup=False,
            emoji=False,
            force_terminal=False,
            width=PLAIN_WIDTH,
        )
    return PlainConsole(file=stream, highlight=False, markup=False, emoji=False)


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
