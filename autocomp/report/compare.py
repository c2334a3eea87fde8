"""The output of `autocomp compare`: the difference of two kernels in words, by cause, loop or region, and line."""

from __future__ import annotations

from rich.console import Console

from autocomp.report.grid import Column, Grid, figure, name, source
from autocomp.targets.simulator.profile.compare import Comparison

SHOWN = 12  # rows of each table


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Words first, then the tables; causes and lines each add up to the difference."""
    for sentence in comparison.words:
        console.print(sentence)
    for table in (causes_table(comparison), parts_table(comparison), lines_table(comparison)):
        console.print(table)


def causes_table(comparison: Comparison) -> Grid:
    table = _table("Critical path by cause", name("unit"), name("cause"))
    for change in comparison.causes[:SHOWN]:
        table.add(*_figures(change.before, change.after), change.unit, change.cause)
    _rest(table, [(change.before, change.after) for change in comparison.causes[SHOWN:]])
    return table


def parts_table(comparison: Comparison) -> Grid:
    """Loops and regions hold what is inside of them, so that a row may repeat what another says."""
    table = _table("Critical path by loop and region", name("first"), name("second"), source("name"))
    for change in comparison.parts[:SHOWN]:
        places = ("-" if part is None else f"{part[0]}-{part[1]}" for part in (change.first, change.second))
        table.add(*_figures(change.before, change.after), *places, change.name)
    return table


def lines_table(comparison: Comparison) -> Grid:
    table = _table("Critical path by line", figure("first"), figure("second"), source("source"))
    for change in comparison.lines[:SHOWN]:
        places = ("-" if line is None else str(line) for line in (change.first, change.second))
        table.add(*_figures(change.before, change.after), *places, change.text)
    _rest(table, [(change.before, change.after) for change in comparison.lines[SHOWN:]])
    return table


def _table(title: str, *columns: Column) -> Grid:
    return Grid(title, *(figure(heading) for heading in ("change", "before", "after")), *columns)


def _figures(before: int, after: int) -> tuple[str, str, str]:
    return f"{after - before:+,}", f"{before:,}", f"{after:,}"


def _rest(table: Grid, pairs: list[tuple[int, int]]) -> None:
    if pairs:
        before, after = (sum(pair[side] for pair in pairs) for side in (0, 1))
        table.add(*_figures(before, after), f"{len(pairs)} more")
