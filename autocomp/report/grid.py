"""Tables that stay readable at any width: figures and names are printed whole, everything else gives way.

A row is one line of columns. A column that finds no room goes below its row, under its heading. Where figures find
none, the first name gets a line of its own above its row. Text and lines of source wrap between words only. Without box
drawing, the same lines serve a terminal, a pipe and a bug report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from autocomp.printable import printable
from autocomp.report.terminal import wrapped

Kind = Literal["figure", "name", "words", "source"]
GAP = 2  # between columns
INDENT = 6  # of what stands below a row
FEWEST_WORDS = 28  # characters of a column of text beside others


@dataclass(frozen=True)
class Column:
    """Figures and names are never cut; text wraps between words, and so do lines of source below their row."""

    heading: str
    kind: Kind


def figure(heading: str) -> Column:
    return Column(heading, "figure")


def name(heading: str) -> Column:
    return Column(heading, "name")


def words(heading: str) -> Column:
    return Column(heading, "words")


def source(heading: str) -> Column:
    return Column(heading, "source")


class Grid:
    """A titled table for a console; without rows, it prints nothing. `note` explains below the title how to read it."""

    def __init__(self, title: str, *columns: Column, note: str = "") -> None:
        self._title = title
        self._columns = columns
        self._note = note
        self._rows: list[tuple[str, ...]] = []
        self._styles: list[str] = []

    def add(self, *cells: str, style: str = "") -> None:
        """A row with one cell for each column; those left out are empty."""
        missing = len(self._columns) - len(cells)
        assert missing >= 0
        self._rows.append(tuple(printable(cell) for cell in cells) + ("",) * missing)
        self._styles.append(style)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not self._rows:
            return
        if self._title:
            yield Text(f"\n{self._title}", style="bold")
        for line in wrapped(self._note, options.max_width) if self._note else ():
            yield Text(line, style="italic")
        widths, below = self._layout(options.max_width)
        beside = sorted(widths)
        headings = [column.heading for column in self._columns]
        above = 0 not in widths and 0 not in below
        if above:
            yield Text(headings[0], style="underline")
        if any(headings[number] for number in beside):
            yield Text(self._line(headings, beside, widths), style="underline")
        for row, style in zip(self._rows, self._styles, strict=True):
            lines = self._row(row, beside, below, widths, options.max_width)
            yield from (Text(line, style=style) for line in ((row[0], *lines) if above else lines))

    def _layout(self, width: int) -> tuple[dict[int, int], list[int]]:
        """The width of each column beside the others, and the columns that go below their row. The first column is in
        neither where it goes above."""
        natural = {number: self._natural(number) for number in range(len(self._columns))}
        whole = [number for number, column in enumerate(self._columns) if column.kind in ("figure", "name")]
        beside = self._fitting(whole, natural, width)
        figures = {number for number in whole if self._columns[number].kind == "figure"}
        if not figures <= {*beside} and self._columns[0].kind == "name":
            beside = self._fitting(whole[1:], natural, width)
            del natural[0]
        widths = {number: natural[number] for number in beside}
        for number, column in enumerate(self._columns):
            left = width - _total([*widths.values()]) - GAP
            if column.kind == "words" and left >= min(natural[number], FEWEST_WORDS):
                widths[number] = min(left, natural[number])
            elif column.kind == "source" and left >= natural[number]:
                widths[number] = natural[number]
        return widths, [number for number in natural if number not in widths]

    def _fitting(self, numbers: Sequence[int], natural: Mapping[int, int], width: int) -> list[int]:
        """Those columns that fit beside each other: names give way, the longest first, then the last figures."""
        kept = list(numbers)
        while len(kept) > 1 and _total([natural[number] for number in kept]) > width:
            names = [number for number in kept if self._columns[number].kind == "name" and number > 0]
            kept.remove(max(names, key=lambda number: natural[number]) if names else kept[-1])
        return kept

    def _natural(self, number: int) -> int:
        cells = (line for row in self._rows for line in row[number].split("\n"))
        return max(cell_len(self._columns[number].heading), *map(cell_len, cells), 0)

    def _row(
        self, row: Sequence[str], beside: Sequence[int], below: Sequence[int], widths: dict[int, int], width: int
    ) -> Iterator[str]:
        lines = {number: self._lines(row[number], number, widths[number]) for number in beside}
        for turn in range(max((len(cell) for cell in lines.values()), default=1)):
            cells = [""] * len(row)
            for number in beside:
                cells[number] = lines[number][turn] if turn < len(lines[number]) else ""
            yield self._line(cells, beside, widths)
        for number in below:
            if not row[number].strip():
                continue
            column = self._columns[number]
            if column.kind == "source":
                first, *rest = wrapped(row[number].strip(), width - GAP, " " * INDENT)
                yield first
                yield from (" " * GAP + line for line in rest)
            else:
                label = f"{column.heading}: " if column.heading else ""
                yield from wrapped(f"{label}{row[number]}", width, " " * INDENT)

    def _lines(self, cell: str, number: int, width: int) -> list[str]:
        if self._columns[number].kind == "words":
            return list(wrapped(cell, width)) or [""]
        return [cell.replace("\n", " ")]

    def _line(self, cells: Sequence[str], beside: Sequence[int], widths: dict[int, int]) -> str:
        padded = []
        for number in beside:
            space = " " * max(0, widths[number] - cell_len(cells[number]))
            right = self._columns[number].kind == "figure"
            padded.append(space + cells[number] if right else cells[number] + space)
        return (" " * GAP).join(padded).rstrip()


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * max(0, len(widths) - 1)
