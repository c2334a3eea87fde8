"""The output of `autocomp run` for one kernel: verdicts, the measurement, its causes, and the hottest lines."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console

from autocomp.report.grid import Grid, figure, name, source, words
from autocomp.report.terminal import amount_text, percent
from autocomp.targets.evaluation import Bound, Evaluation, Evidence, Number

UTILISATION = "utilisation"
SHOWN_LINES = 8
SHOWN_CAUSES = 3
MARKS = {"passed": "green", "failed": "red", "skipped": "dim"}


def print_evaluation(console: Console, evaluation: Evaluation, kinds: Mapping[str, Bound] | None = None) -> None:
    """All views of an evaluation, with the bounds of `kinds` of kernels; those after the verdicts for a correct kernel
    only. A wrong one's mislead."""
    console.print(stages_table(evaluation))
    if evaluation.measurement is None or not evaluation.correct:
        return
    console.print(measurement_text(evaluation))
    if evaluation.bound is not None and evaluation.bound.explanation:
        console.print(f"bound: {evaluation.bound.explanation}")
    for text in kinds_text(evaluation, kinds or {}):
        console.print(text)
    drawn = "" if evaluation.seed is None else f"; inputs of --judge-seed {evaluation.seed}"
    figures = "".join(f"{text}; " for text in figures_text(evaluation))
    console.print(f"{figures}evaluated in {evaluation.seconds:.2f} s{drawn}")
    parts = causes_by_part(evaluation.evidence, evaluation.evidence.unit or evaluation.objective.unit)
    for table in (parts, resources_table(evaluation), lines_table(evaluation)):
        console.print(table)


def kinds_text(evaluation: Evaluation, bounds: Mapping[str, Bound]) -> list[str]:
    """The share of the bounds of kinds of kernels that a correct kernel reaches, where they say more than the bound."""
    texts: list[str] = []
    if evaluation.value is None or evaluation.bound is None:
        return texts
    for kind, bound in bounds.items():
        if evaluation.objective.rank(bound.value) > evaluation.objective.rank(evaluation.bound.value):
            share = percent(evaluation.objective.ratio(bound.value, evaluation.value))
            parts = ", ".join(f"{name} {amount_text(value)}" for name, value in bound.parts.items())
            texts.append(f"bound of {kind}: {amount_text(bound.value)} ({parts}), {share} of it")
    return texts


def stages_table(evaluation: Evaluation) -> Grid:
    title = "Correct" if evaluation.correct else "NOT correct"
    grid = Grid(title, name("stage"), name("verdict"), figure("line"), words("message"))
    for stage in evaluation.stages:
        grid.add(stage.stage, stage.status, str(stage.line or ""), stage.message, style=MARKS.get(stage.status, ""))
    return grid


def measurement_text(evaluation: Evaluation) -> str:
    """The measurement, the bound with its parts and how much of it is reached; the utilisation of products."""
    assert evaluation.measurement is not None
    spread = f" ± {amount_text(evaluation.measurement.spread)}" if evaluation.measurement.spread else ""
    text = f"{amount_text(evaluation.value)}{spread} {evaluation.objective.unit}"
    if evaluation.bound is not None:
        parts = ", ".join(f"{name} {amount_text(value)}" for name, value in evaluation.bound.parts.items())
        text += f"; bound {amount_text(evaluation.bound.value)}{f' ({parts})' if parts else ''}"
        text += f", {percent(evaluation.ratio)} of it"
    utilisation = evaluation.evidence.figures.get(UTILISATION)
    return f"{text}; utilisation {percent(utilisation)}" if utilisation else text


def figures_text(evaluation: Evaluation) -> list[str]:
    """The other figures that are known, and not 0."""
    figures = evaluation.evidence.figures
    shown = {name: value for name, value in figures.items() if value and name != UTILISATION}
    return [f"{amount_text(value)} {name.replace('_', ' ')}" for name, value in shown.items()]


def causes_by_part(evidence: Evidence, unit: str) -> Grid:
    """The time of each part of the machine by cause: a row a cause, busy first, then the most costly. Parts without
    work have no cause of their own; a note names them."""
    used = evidence.working
    causes: dict[str, Number] = {}
    for by_cause in used.values():
        for cause, value in by_cause.items():
            causes[cause] = causes.get(cause, 0) + value
    shown = sorted((c for c in causes if causes[c]), key=lambda c: (c != "Busy", c == "Idle", -causes[c]))
    unused = [part for part in evidence.parts if part not in used]
    note = f"without work: {', '.join(unused)}" if unused else ""
    title = f"{unit[:1].upper()}{unit[1:]} of each unit by cause"
    grid = Grid(title, name("cause"), *(figure(part) for part in used), note=note)
    for cause in shown:
        grid.add(cause, *(_share(by.get(cause, 0), sum(by.values()) or 1) for by in used.values()))
    return grid


def resources_table(evaluation: Evaluation) -> Grid:
    """The use of each memory, in rows."""
    grid = Grid("Memories", name("memory"), figure("touched"), figure("of"), figure("used"))
    for memory, (touched, there) in evaluation.evidence.resources.items():
        grid.add(memory, f"{touched:,}", f"{there:,}", percent(touched / there) if there else "-")
    return grid


def lines_table(evaluation: Evaluation) -> Grid:
    """The source lines that cost most."""
    unit = evaluation.objective.unit
    grid = Grid(
        "Hottest lines",
        figure("line"),
        figure("commands"),
        figure("waited"),
        name("for"),
        source("source"),
        note=f"commands wait at the same time: these waits overlap, and add up to more than the kernel's {unit}",
    )
    for line in evaluation.evidence.lines[:SHOWN_LINES]:
        grid.add(str(line.line), f"{line.count:,}", amount_text(line.cost), _main_causes(line.causes), line.text)
    return grid


def _share(value: Number, total: Number) -> str:
    return f"{amount_text(value)} {f'({100 * value / total:.0f} %)':>7}" if value else ""


def _main_causes(causes: Mapping[str, Number]) -> str:
    ranked = sorted(((value, cause) for cause, value in causes.items() if value), reverse=True)[:SHOWN_CAUSES]
    total = sum(causes.values()) or 1
    return ", ".join(f"{cause} {100 * value / total:.0f} %" for value, cause in ranked)
