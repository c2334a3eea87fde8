"""The output of `autocomp profile`: the critical path in words, what would change the cycles, and where they went."""

from __future__ import annotations

from rich.console import Console

from autocomp.report.grid import Grid, figure, name, source, words
from autocomp.report.over_time import SPARKS, scale_text
from autocomp.report.terminal import percent, sparkline
from autocomp.targets.profile import Causes, Profile

BUSY = "Busy"  # the cause of cycles with work
SHOWN_SEGMENTS = 8
SHOWN_CAUSES = 3
SHOWN_LINES = 24


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
        console.print(table)


def path_table(profile: Profile) -> Grid:
    grid = Grid("Critical path", figure("share"), figure("cycles"), figure("times"), words("activity"))
    for segment in profile.path[:SHOWN_SEGMENTS]:
        grid.add(percent(segment.share), f"{segment.cycles:,}", f"{segment.count:,}", segment.words)
    rest = profile.path[SHOWN_SEGMENTS:]
    if rest:
        cycles = sum(segment.cycles for segment in rest)
        grid.add(_share(cycles, profile), f"{cycles:,}", "", f"{len(rest)} more segments")
    return grid


def what_if_table(profile: Profile) -> Grid:
    grid = Grid("What if", figure("cycles"), figure("saved"), words("change"))
    for answer in profile.what_if:
        grid.add(f"{answer.cycles:,}", percent(answer.saved), answer.words)
    return grid


def units_table(profile: Profile, drawn: bool) -> Grid:
    used = _used(profile)
    unused = [unit.name for unit in profile.units if unit.name not in used]
    note = f"without work: {', '.join(unused)}" if unused else ""
    shape = [name("over time")] if drawn else []
    grid = Grid("Units", name("unit"), figure("busy"), *shape, words("waits"), note=note)
    for unit in profile.units:
        if unit.name in used:
            busy = _share(unit.causes[BUSY], profile)
            line = [sparkline(unit.occupancy, 1.0, SPARKS)] if drawn else []
            waits = {cause: cycles for cause, cycles in unit.causes.items() if cause != BUSY}
            grid.add(unit.name, busy, *line, _causes(waits, profile.cycles))
    return grid


def overlap_table(profile: Profile) -> Grid:
    """Shares of the makespan in which two units were busy together; on the diagonal, each by itself or with others.
    Empty where the target does not say."""
    units = [unit for unit in _used(profile) if unit in profile.overlap]
    grid = Grid("Busy together", name("unit"), *(figure(unit) for unit in units))
    for unit in units:
        grid.add(unit, *(_share(profile.overlap[unit][other], profile) for other in units))
    return grid


def memories_table(profile: Profile, drawn: bool) -> Grid:
    shape = [name("live over time")] if drawn else []
    grid = Grid(
        "Local memories", name("memory"), figure("rows"), figure("most live"), figure("bank conflicts cost"), *shape
    )
    for memory in profile.memories:
        line = [sparkline(memory.live, float(memory.live_peak), SPARKS)] if drawn else []
        conflicts = _share(memory.conflict_cycles, profile)
        grid.add(memory.name, f"{memory.rows:,}", f"{memory.live_peak:,}", conflicts, *line)
    return grid


def operands_table(profile: Profile) -> Grid:
    figures = [figure(heading) for heading in ("bytes", "read", "written", "moved", "used for each move")]
    grid = Grid("Operands", name("tensor"), *figures)
    for operand in profile.operands:
        grid.add(
            operand.tensor,
            f"{operand.bytes:,}",
            f"{operand.read:,}",
            f"{operand.written:,}",
            f"{operand.transfers:.2f} x",
            f"{operand.reuse:.2f} x",
        )
    return grid


def regions_table(profile: Profile) -> Grid:
    figures = [figure(heading) for heading in ("path", "commands", "bytes")]
    grid = Grid("Loops and regions", name("lines"), *figures, words("exposed stalls"), source("name"))
    for region in profile.regions:
        cost = region.cost
        grid.add(
            f"{region.first}-{region.last}",
            _share(cost.path_cycles, profile),
            f"{cost.commands:,}",
            f"{cost.bytes_read + cost.bytes_written:,}",
            _causes(cost.stalls, profile.cycles),
            "  " * region.depth + region.name,
        )
    return grid


def lines_table(profile: Profile) -> Grid:
    """The lines with most of the critical path, in the order of the source."""
    shown = sorted(profile.lines, key=lambda line: -line.cost.path_cycles)[:SHOWN_LINES]
    left = len(profile.lines) - len(shown)
    rest = sum(line.cost.path_cycles for line in profile.lines if line not in shown)
    note = f"{left} more lines hold {_share(rest, profile)} of the critical path; --json prints all of them"
    figures = [figure(heading) for heading in ("line", "path", "commands", "bytes", "busy")]
    grid = Grid("Lines", *figures, words("exposed stalls"), source("source"), note=note if left else "")
    for line in sorted(shown, key=lambda line: line.line):
        cost = line.cost
        grid.add(
            str(line.line),
            _share(cost.path_cycles, profile),
            f"{cost.commands:,}",
            f"{cost.bytes_read + cost.bytes_written:,}",
            f"{cost.busy:,}",
            _causes(cost.stalls, profile.cycles),
            line.text,
        )
    return grid


def _used(profile: Profile) -> list[str]:
    """The units that did any work, by name."""
    return [unit.name for unit in profile.units if unit.causes.get(BUSY)]


def _share(cycles: int, profile: Profile) -> str:
    return percent(cycles / max(1, profile.cycles))


def _causes(causes: Causes, total: int) -> str:
    """The largest, without those that are 0 % when rounded."""
    ranked = sorted(causes.items(), key=lambda item: (-item[1], item[0]))[:SHOWN_CAUSES]
    return ", ".join(
        f"{cause} {percent(cycles / max(1, total), 0)}" for cause, cycles in ranked if 200 * cycles >= total
    )
