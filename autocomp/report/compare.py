"""What `autocomp compare` shows: the difference of two kernels in words, by cause, by loop or region, and by line."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from autocomp.targets.simulator.profile.compare import Comparison

SHOWN = 12  # rows of each table


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Words first, then the tables; causes and lines each add up to the difference."""
    for sentence in comparison.words:
        console.print(Text(sentence))
    for table in (causes_table(comparison), parts_table(comparison), lines_table(comparison)):
        if table.row_count:
            console.print(table)


def causes_table(comparison: Comparison) -> Table:
    table = _table("Critical path by cause", "unit", "cause")
    for change in comparison.causes[:SHOWN]:
        table.add_row(*_figures(change.before, change.after), change.unit, change.cause)
    _rest(table, [(change.before, change.after) for change in comparison.causes[SHOWN:]])
    return table


def parts_table(comparison: Comparison) -> Table:
    """Loops and regions hold what is inside of them, so that a row may repeat what another says."""
    table = _table("Critical path by loop and region", "first", "second", "name")
    for change in comparison.parts[:SHOWN]:
        places = ("-" if part is None else f"{part[0]}-{part[1]}" for part in (change.first, change.second))
        table.add_row(*_figures(change.before, change.after), *places, Text(change.name))
    return table


def lines_table(comparison: Comparison) -> Table:
    table = _table("Critical path by line", "first", "second", "source")
    for change in comparison.lines[:SHOWN]:
        places = ("-" if line is None else str(line) for line in (change.first, change.second))
        table.add_row(*_figures(change.before, change.after), *places, Text(change.text))
    _rest(table, [(change.before, change.after) for change in comparison.lines[SHOWN:]])
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in ("change", "before", "after"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in columns:
        table.add_column(heading, overflow="fold")
    return table


def _figures(before: int, after: int) -> tuple[str, str, str]:
    return f"{after - before:+,}", f"{before:,}", f"{after:,}"


def _rest(table: Table, pairs: list[tuple[int, int]]) -> None:
    if pairs:
        before, after = (sum(pair[side] for pair in pairs) for side in (0, 1))
        table.add_row(*_figures(before, after), f"{len(pairs)} more")
