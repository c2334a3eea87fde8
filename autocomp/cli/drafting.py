"""The report of a draft: what ran, what a search makes of it, what a person has to settle, and how much it matters."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from autocomp import api
from autocomp.cli.explanation import explanation_document, print_explanation
from autocomp.cli.options import say
from autocomp.drafting.check import Moved, multiplication, weighed
from autocomp.drafting.draft import Draft
from autocomp.report import make_console
from autocomp.report.grid import Grid, figure, name, words
from autocomp.search.options import Options
from autocomp.targets.simulator.isa.derived.explain import explain


@dataclass(frozen=True)
class Searched:
    """A search on a draft, and what unknown figures do to the kernel that it found."""

    result: api.Result
    moved: tuple[Moved, ...]


def search_draft(outcome: Draft, out: Path, evaluations: int) -> Searched | None:
    """Search by rules for a fast multiplication on a draft. None if the draft has faults, or without evaluations."""
    if outcome.checked.faults or not evaluations:
        return None
    workload = api.load_workload(multiplication(outcome.text, str(out.resolve())))
    result = api.search(workload, options=Options(evaluations=evaluations))
    return Searched(result, weighed(outcome.checked.ends, workload, result.kernel, result.best))


def draft_document(outcome: Draft, out: Path, searched: Searched | None) -> dict[str, Any]:
    """The report for --json."""
    checked = outcome.checked
    explanation = None if checked.machine is None else explanation_document(explain(checked.machine))
    found: dict[str, Any] | None = None
    if searched is not None:
        result = searched.result
        found = {
            "cycles": result.best,
            "bound": result.bound,
            "evaluations": result.evaluations,
            "run": str(result.run),
        }
        found["unknown"] = _moved_document(searched.moved)
    return {
        "file": str(out),
        "rounds": outcome.rounds,
        "faults": list(checked.faults),
        "to_settle": list(checked.doubts),
        "unknown": _moved_document(checked.moved),
        "tested": dict(checked.tested),
        "cycles": checked.cycles,
        "explanation": explanation,
        "searched": found,
        "usage": asdict(outcome.usage),
    }


def _moved_document(moved: Sequence[Moved]) -> list[dict[str, Any]]:
    return [{**asdict(figure), "swing": round(figure.swing, 4)} for figure in moved]


def print_draft(outcome: Draft, out: Path, searched: Searched | None, plain: bool) -> None:
    checked, console = outcome.checked, make_console(sys.stdout, plain)
    for fault in checked.faults:
        say(f"fault: {fault}")
    if checked.machine is not None and not checked.faults:
        print_explanation(explain(checked.machine), plain)
    if checked.tested:
        grid = Grid("instructions", name("instruction"), words("what ran it"))
        for instruction, how in checked.tested:
            grid.add(instruction, how)
        console.print(grid)
    _print_moved(console, "a naive multiplication", checked.moved)
    if searched is not None:
        result = searched.result
        _print_moved(console, "the fastest multiplication that was found", searched.moved)
        bound = (
            "no bound" if result.bound is None else f"bound {result.bound:,}, {result.bound / result.best:.1%} of it"
        )
        say(
            f"{result.naive:,} -> {result.best:,} cycles in {result.evaluations} evaluations; {bound}; run {result.run}"
        )
    for doubt in checked.doubts:
        say(f"to settle: {doubt}")
    for moved in checked.moved:
        say(f"to settle: {moved.name} is unknown, {moved.low} to {moved.high}; ask the machine's makers, or measure it")
    if not checked.faults:
        say(
            f"written to {out}; read it against the manual, then: autocomp search gemm.yaml --target simulator:{out}",
            whole=True,
        )


def _print_moved(console: Console, of: str, figures: Sequence[Moved]) -> None:
    """The unknown figures by how much they matter to a kernel."""
    if not figures:
        return
    grid = Grid(
        f"unknown figures: cycles of {of}, {figures[0].drafted:,} as drafted",
        name("parameter"),
        words("range"),
        figure("at the low end"),
        figure("at the high end"),
        figure("change at most"),
    )
    for moved in sorted(figures, key=lambda moved: (None not in (moved.at_low, moved.at_high), -moved.swing)):
        ends = ["fails" if end is None else f"{end:,}" for end in (moved.at_low, moved.at_high)]
        grid.add(moved.name, f"{moved.low} to {moved.high}", *ends, f"{moved.swing:.1%}")
    console.print(grid)
