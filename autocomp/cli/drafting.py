"""The report of a draft: what was tested, what a person has to settle, how much it matters."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from autocomp.cli.options import say
from autocomp.drafting.draft import Draft
from autocomp.report import make_console
from autocomp.report.grid import Grid, figure, name, words


def draft_document(outcome: Draft, out: Path) -> dict[str, Any]:
    """The report for --json."""
    checked = outcome.checked
    return {
        "file": str(out),
        "rounds": outcome.rounds,
        "faults": list(checked.faults),
        "to_settle": list(checked.doubts),
        "unknown": [{**asdict(moved), "swing": round(moved.swing, 4)} for moved in checked.moved],
        "tested": dict(checked.tested),
        "cycles": checked.cycles,
        "usage": asdict(outcome.usage),
    }


def print_draft(outcome: Draft, out: Path, plain: bool) -> None:
    checked, console = outcome.checked, make_console(sys.stdout, plain)
    for fault in checked.faults:
        say(f"fault: {fault}")
    if checked.tested:
        grid = Grid("instructions", name("instruction"), words("what ran it"))
        for instruction, how in checked.tested:
            grid.add(instruction, how)
        console.print(grid)
    if checked.moved:
        grid = Grid(
            f"unknown figures: cycles of a naive multiplication, {checked.cycles:,} as drafted",
            name("parameter"),
            words("range"),
            figure("at the low end"),
            figure("at the high end"),
            figure("change at most"),
        )
        for moved in sorted(checked.moved, key=lambda moved: -moved.swing):
            ends = ["fails" if end is None else f"{end:,}" for end in (moved.at_low, moved.at_high)]
            grid.add(moved.name, f"{moved.low} to {moved.high}", *ends, f"{moved.swing:.1%}")
        console.print(grid)
    for doubt in checked.doubts:
        say(f"to settle: {doubt}")
    for moved in checked.moved:
        say(f"to settle: {moved.name} is unknown, {moved.low} to {moved.high}; ask the machine's makers, or measure it")
    if not checked.faults:
        say(f"written to {out}; read it against the manual, then: autocomp search gemm.yaml --target simulator:{out}")
