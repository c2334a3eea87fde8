"""What `autocomp profile` shows: the critical path in words, what would change the cycles, and where they went."""

from __future__ import annotations

from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from autocomp.report.over_time import SPARKS, scale_text
from autocomp.report.terminal import percent, sparkline
from autocomp.targets.profile import Causes, Profile

SHOWN_SEGMENTS = 8
SHOWN_CAUSES = 3


def print_profile(console: Console, profile: Profile) -> None:
    """All views of a profile, the most telling first."""
    drawn = console.is_terminal
    windows = -(-profile.cycles // profile.window)
    scale = f"; over time: {scale_text(profile.cycles, windows)}" if drawn else ""
    console.print(f"{profile.cycles:,} cycles on {profile.accelerator}, workload {profile.workload}{scale}")
    for table in (
        path_table(profile),
        what_if_table(profile),
        units_table(profile, drawn),
        overlap_table(profile),
        memories_table(profile, drawn),
        operands_table(profile),
        regions_table(profile),
        lines_table(profile),
    ):
        if table.row_count:
            console.print(table)


def path_table(profile: Profile) -> Table:
    table = _table("Critical path", "share>", "cycles>", "times>", "what it does")
    for segment in profile.path[:SHOWN_SEGMENTS]:
        table.add_row(percent(segment.share), f"{segment.cycles:,}", f"{segment.count:,}", Text(segment.words))
    rest = profile.path[SHOWN_SEGMENTS:]
    if rest:
        cycles = sum(segment.cycles for segment in rest)
        table.add_row(_share(cycles, profile), f"{cycles:,}", "", Text(f"{len(rest)} more segments"))
    return table


def what_if_table(profile: Profile) -> Table:
    table = _table("What if", "cycles>", "saved>", "change")
    for answer in profile.what_if:
        table.add_row(f"{answer.cycles:,}", percent(answer.saved), Text(answer.words))
    return table


def units_table(profile: Profile, drawn: bool) -> Table:
    table = _table("Units", "unit", "busy>", *(["over time"] if drawn else []), "otherwise")
    for unit in profile.units:
        waits = {cause: cycles for cause, cycles in unit.causes.items() if cause != "Busy"}
        busy = _share(unit.causes.get("Busy", 0), profile)
        shape = [sparkline(unit.occupancy, 1.0, SPARKS)] if drawn else []
        table.add_row(unit.name, busy, *shape, _causes(waits, profile.cycles))
    return table


def overlap_table(profile: Profile) -> Table:
    """Shares of the makespan in which two units were busy together; on the diagonal, each by itself or with others."""
    table = _table("Busy together", "unit", *(f"{unit}>" for unit in profile.overlap))
    for unit, row in profile.overlap.items():
        table.add_row(unit, *(_share(cycles, profile) for cycles in row.values()))
    return table


def memories_table(profile: Profile, drawn: bool) -> Table:
    over_time = ["live over time"] if drawn else []
    table = _table("Local memories", "memory", "rows>", "most live>", *over_time, "bank conflicts cost>")
    for memory in profile.memories:
        shape = [sparkline(memory.live, float(memory.live_peak), SPARKS)] if drawn else []
        conflicts = _share(memory.conflict_cycles, profile)
        table.add_row(memory.name, f"{memory.rows:,}", f"{memory.live_peak:,}", *shape, conflicts)
    return table


def operands_table(profile: Profile) -> Table:
    table = _table("Operands", "tensor", "bytes>", "read>", "written>", "moved>", "used for each move>")
    for operand in profile.operands:
        table.add_row(
            operand.tensor,
            f"{operand.bytes:,}",
            f"{operand.read:,}",
            f"{operand.written:,}",
            f"{operand.transfers:.2f} x",
            f"{operand.reuse:.2f} x",
        )
    return table


def regions_table(profile: Profile) -> Table:
    table = _table("Loops and regions", "lines", "path>", "commands>", "bytes>", "exposed stalls", "name")
    for region in profile.regions:
        cost = region.cost
        table.add_row(
            f"{region.first}-{region.last}",
            _share(cost.path_cycles, profile),
            f"{cost.commands:,}",
            f"{cost.bytes_read + cost.bytes_written:,}",
            _causes(cost.stalls, profile.cycles),
            Text("  " * region.depth + region.name),
        )
    return table


def lines_table(profile: Profile) -> Table:
    table = _table("Lines", "line>", "path>", "commands>", "bytes>", "busy>", "exposed stalls", "source")
    for line in profile.lines:
        cost = line.cost
        table.add_row(
            str(line.line),
            _share(cost.path_cycles, profile),
            f"{cost.commands:,}",
            f"{cost.bytes_read + cost.bytes_written:,}",
            f"{cost.busy:,}",
            _causes(cost.stalls, profile.cycles),
            Text(line.text),
        )
    return table


def _table(title: str, *columns: str) -> Table:
    """A table whose columns named with a `>` behind hold numbers; the last may wrap."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        justify: Literal["left", "right"] = "right" if column.endswith(">") else "left"
        table.add_column(column.rstrip(">"), justify=justify, no_wrap=column is not columns[-1])
    return table


def _share(cycles: int, profile: Profile) -> str:
    return percent(cycles / max(1, profile.cycles))


def _causes(causes: Causes, total: int) -> str:
    ranked = sorted(causes.items(), key=lambda item: (-item[1], item[0]))[:SHOWN_CAUSES]
    return ", ".join(f"{cause} {percent(cycles / max(1, total), 0)}" for cause, cycles in ranked)
