"""What `autocomp run` shows of one kernel: verdicts, cycles, where they went, and the hottest lines."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from autocomp.report.terminal import amount_text, percent
from autocomp.targets.evaluation import Evaluation, Number

UTILISATION = "utilisation"
SHOWN_LINES = 8
SHOWN_CAUSES = 3
MARKS = {"passed": "green", "failed": "red", "skipped": "dim"}


def print_evaluation(console: Console, evaluation: Evaluation) -> None:
    """All views of an evaluation; those after the verdicts only if the kernel ran."""
    console.print(stages_table(evaluation))
    if evaluation.measurement is None:
        return
    console.print(measurement_text(evaluation))
    if evaluation.bound is not None and evaluation.bound.explanation:
        console.print(Text(f"bound: {evaluation.bound.explanation}"))
    drawn = "" if evaluation.seed is None else f"; inputs of --judge-seed {evaluation.seed}"
    figures = "".join(f"{text}; " for text in figures_text(evaluation))
    console.print(f"{figures}evaluated in {evaluation.seconds:.2f} s{drawn}")
    parts = causes_by_part(evaluation.evidence.parts, evaluation.evidence.unit or evaluation.objective.unit)
    for table in (parts, resources_table(evaluation), lines_table(evaluation)):
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


def measurement_text(evaluation: Evaluation) -> str:
    """The measurement, the bound with its parts, how much of it is reached, and the utilisation where it is known."""
    assert evaluation.measurement is not None
    spread = f" ± {amount_text(evaluation.measurement.spread)}" if evaluation.measurement.spread else ""
    text = f"{amount_text(evaluation.value)}{spread} {evaluation.objective.unit}"
    if evaluation.bound is not None:
        parts = ", ".join(f"{name} {amount_text(value)}" for name, value in evaluation.bound.parts.items())
        text += f"; bound {amount_text(evaluation.bound.value)}{f' ({parts})' if parts else ''}"
        text += f", {percent(evaluation.ratio)} of it"
    utilisation = evaluation.evidence.figures.get(UTILISATION)
    return text if utilisation is None else f"{text}; utilisation {percent(utilisation)}"


def figures_text(evaluation: Evaluation) -> list[str]:
    """The other figures that are known, and not 0."""
    figures = evaluation.evidence.figures
    shown = {name: value for name, value in figures.items() if value and name != UTILISATION}
    return [f"{amount_text(value)} {name.replace('_', ' ')}" for name, value in shown.items()]


def causes_by_part(parts: Mapping[str, Mapping[str, Number]], unit: str) -> Table:
    """What each part of the machine spent by cause: a row a cause, busy first, then the most costly."""
    causes: dict[str, Number] = {}
    for by_cause in parts.values():
        for cause, value in by_cause.items():
            causes[cause] = causes.get(cause, 0) + value
    shown = sorted((c for c in causes if causes[c]), key=lambda c: (c != "Busy", c == "Idle", -causes[c]))
    table = Table(title=f"{unit[:1].upper()}{unit[1:]} of each unit by cause", title_justify="left")
    table.add_column("cause", no_wrap=True)
    for part in parts:
        table.add_column(part, justify="right", no_wrap=True)
    for cause in shown:
        table.add_row(cause, *(_share(by.get(cause, 0), sum(by.values()) or 1) for by in parts.values()))
    return table


def resources_table(evaluation: Evaluation) -> Table:
    """What the kernel occupies of each memory."""
    table = Table(title="Memories", title_justify="left")
    table.add_column("memory", no_wrap=True)
    table.add_column("touched", justify="right")
    table.add_column("of", justify="right")
    table.add_column("used", justify="right")
    for name, (touched, there) in evaluation.evidence.resources.items():
        table.add_row(name, f"{touched:,}", f"{there:,}", percent(touched / there) if there else "-")
    return table


def lines_table(evaluation: Evaluation) -> Table:
    """The source lines that cost most."""
    table = Table(title="Hottest lines", title_justify="left")
    table.add_column("line", justify="right")
    table.add_column("commands", justify="right")
    table.add_column("waited", justify="right")
    table.add_column("for", no_wrap=True)
    table.add_column("source", ratio=1)
    for line in evaluation.evidence.lines[:SHOWN_LINES]:
        table.add_row(
            str(line.line),
            f"{line.count:,}",
            amount_text(line.cost),
            _main_causes(line.causes),
            Text(line.text.strip()),
        )
    return table


def _share(value: Number, total: Number) -> str:
    return f"{amount_text(value)} {f'({100 * value / total:.0f} %)':>7}" if value else ""


def _main_causes(causes: Mapping[str, Number]) -> str:
    ranked = sorted(((value, cause) for cause, value in causes.items() if value), reverse=True)[:SHOWN_CAUSES]
    total = sum(causes.values()) or 1
    return ", ".join(f"{cause} {100 * value / total:.0f} %" for value, cause in ranked)
