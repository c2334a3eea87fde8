"""What `autocomp run` shows of one kernel: verdicts, cycles, where they went, and the hottest lines."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from autocomp.report.terminal import cycles_text, percent
from autocomp.targets.simulator.evaluate.model import Evaluation

SHOWN_LINES = 8
SHOWN_CAUSES = 3
MARKS = {"passed": "green", "failed": "red", "skipped": "dim"}


def print_evaluation(console: Console, evaluation: Evaluation) -> None:
    """All views of an evaluation; those after the verdicts only if the kernel ran."""
    console.print(stages_table(evaluation))
    if evaluation.cycles is None:
        return
    bound = evaluation.bound
    console.print(
        f"{cycles_text(evaluation.cycles)} cycles; bound {cycles_text(bound.cycles)} "
        f"(compute {cycles_text(bound.compute_cycles)}, memory {cycles_text(bound.memory_cycles)}), "
        f"{percent(evaluation.ratio)} of it; utilisation {percent(evaluation.utilisation)}"
    )
    console.print(Text(f"bound: {bound.explanation}"))
    read, written = evaluation.dram_bytes
    traffic = f"{evaluation.steps:,} host steps; DRAM {read:,} B read, {written:,} B written; "
    counted = f"{evaluation.commands:,} commands, {traffic if evaluation.steps else ''}"
    console.print(f"{counted}evaluated in {evaluation.seconds:.2f} s")
    for table in (causes_by_unit(evaluation.unit_cycles), memories_table(evaluation), lines_table(evaluation)):
        if table.row_count:
            console.print(table)


def stages_table(evaluation: Evaluation) -> Table:
    table = Table(title="Correct" if evaluation.correct else "NOT correct", title_justify="left")
    table.add_column("stage", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("line", justify="right")
    table.add_column("message", ratio=1)
    for stage in evaluation.stages:
        verdict = Text(stage.status, style=MARKS.get(stage.status, ""))
        table.add_row(stage.stage, verdict, str(stage.line or ""), Text(stage.message))
    return table


def causes_by_unit(unit_cycles: Mapping[str, Mapping[str, int]]) -> Table:
    """Cycles of each unit by cause: a row a cause, busy first, then the most costly."""
    causes: dict[str, int] = {}
    for by_cause in unit_cycles.values():
        for cause, cycles in by_cause.items():
            causes[cause] = causes.get(cause, 0) + cycles
    shown = sorted((c for c in causes if causes[c]), key=lambda c: (c != "Busy", c == "Idle", -causes[c]))
    table = Table(title="Cycles of each unit by cause", title_justify="left")
    table.add_column("cause", no_wrap=True)
    for unit in unit_cycles:
        table.add_column(unit, justify="right", no_wrap=True)
    for cause in shown:
        cells = (_share(by.get(cause, 0), sum(by.values()) or 1) for by in unit_cycles.values())
        table.add_row(cause, *cells)
    return table


def memories_table(evaluation: Evaluation) -> Table:
    table = Table(title="Local memories", title_justify="left")
    table.add_column("memory", no_wrap=True)
    table.add_column("rows touched", justify="right")
    table.add_column("rows", justify="right")
    table.add_column("used", justify="right")
    for name, (touched, rows) in evaluation.memory_rows.items():
        table.add_row(name, f"{touched:,}", f"{rows:,}", percent(touched / rows) if rows else "-")
    return table


def lines_table(evaluation: Evaluation) -> Table:
    """The source lines whose commands waited longest."""
    table = Table(title="Hottest lines", title_justify="left")
    table.add_column("line", justify="right")
    table.add_column("commands", justify="right")
    table.add_column("waited", justify="right")
    table.add_column("for", no_wrap=True)
    table.add_column("source", ratio=1)
    for line in evaluation.lines[:SHOWN_LINES]:
        table.add_row(
            str(line.line),
            f"{line.commands:,}",
            f"{line.wait_cycles:,}",
            _main_causes(line.causes),
            Text(line.text.strip()),
        )
    return table


def _share(cycles: int, total: int) -> str:
    return f"{cycles:,} {f'({100 * cycles / total:.0f} %)':>7}" if cycles else ""


def _main_causes(causes: Mapping[str, int]) -> str:
    ranked = sorted(((cycles, cause) for cause, cycles in causes.items() if cycles), reverse=True)[:SHOWN_CAUSES]
    total = sum(causes.values()) or 1
    return ", ".join(f"{cause} {100 * cycles / total:.0f} %" for cycles, cause in ranked)
