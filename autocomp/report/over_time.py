"""The activity of units and the content of local memories over time: in figures, and as sparks on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from autocomp.report.grid import Grid, figure, name
from autocomp.report.terminal import percent, sparkline

if TYPE_CHECKING:
    from autocomp.targets.profile import OverTime

SPARKS = 48  # characters of a line over time


def print_over_time(console: Console, shape: OverTime) -> None:
    """A row for each unit and local memory that is used; lines over time only on a terminal."""
    drawn = console.is_terminal
    scale = scale_text(shape.cycles, -(-shape.cycles // shape.window)) if drawn else ""
    grid = Grid("Busy units, and most rows live in local memories", name(""), figure(""), name(""), note=scale)
    for unit in shape.units:
        if any(unit.occupancy):
            line = [sparkline(unit.occupancy, 1.0, SPARKS)] if drawn else []
            grid.add(unit.name, percent(unit.causes.get("Busy", 0) / max(1, shape.cycles)), *line)
    for memory, live in shape.live.items():
        most = max(live, default=0)
        if most:
            line = [sparkline(live, float(most), SPARKS)] if drawn else []
            grid.add(memory, f"{most:,} rows", *line)
    console.print(grid)


def scale_text(cycles: int, windows: int) -> str:
    """The cycles that a character of a line over time represents, where that many windows are drawn."""
    return f"one character is about {max(1, cycles // max(1, min(SPARKS, windows))):,} cycles"
