"""`--confirm rtl`: the best kernels of a search, as the hardware sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.table import Table

    from autocomp.search import RunFolder, SearchResult
    from autocomp.search.candidate import Candidate
    from autocomp.search.snapshot import Request
    from autocomp.targets.simulator.isa.model import Accelerator
    from autocomp.targets.simulator.rtl.build import RtlModel
    from autocomp.targets.simulator.rtl.evaluator import Confirmation

CONFIRMED = 3  # kernels, the fastest by the simulator

confirm_option = click.option(
    "--confirm",
    type=click.Choice(("rtl",)),
    default=None,
    help=f"Run the {CONFIRMED} best kernels on the hardware description too, built with `autocomp rtl build`.",
)


@dataclass(frozen=True)
class Confirmed:
    """A candidate of a search, and the hardware's word on it."""

    candidate: Candidate
    confirmation: Confirmation


def checked_model(accelerator: Accelerator) -> RtlModel:
    """The RTL model of an accelerator. Raises ConfigError when there is none, or it does not fit."""
    from autocomp.targets.simulator.rtl.build import model_of
    from autocomp.targets.simulator.rtl.interface import find_interface

    model = model_of(accelerator.full_name)
    find_interface(model.ports, accelerator)
    return model


def confirm(request: Request, folder: RunFolder, result: SearchResult) -> tuple[Confirmed, ...]:
    """The fastest kernels that differ and that the simulator finds right, the best one first."""
    from autocomp.targets.simulator.rtl.evaluator import RtlEvaluator

    evaluator = RtlEvaluator(request.accelerator, request.workload, checked_model(request.accelerator))
    ranked = sorted((c for c in result.history if c.promising), key=lambda c: (c.cycles, c.id))
    distinct: dict[str, Candidate] = {}
    for candidate in ranked:
        distinct.setdefault(candidate.hash, candidate)
    chosen = list(distinct.values())[:CONFIRMED]
    return tuple(Confirmed(c, evaluator.confirm(folder.kernel(c.kernel))) for c in chosen)


def confirmation_table(confirmed: Sequence[Confirmed]) -> Table:
    """A row a kernel: what the simulator said, what the hardware says."""
    from rich.table import Table
    from rich.text import Text

    from autocomp.report.terminal import cycles_text, percent

    table = Table(title="On the hardware description", title_justify="left")
    table.add_column("kernel", no_wrap=True)
    for heading in ("simulated", "measured", "error"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("message", ratio=1)
    for entry in confirmed:
        found = entry.confirmation
        measured = cycles_text(found.cycles) if found.cycles is not None else ""
        error = percent(found.error, digits=2) if found.error is not None else ""
        name = f"candidate {entry.candidate.id}"
        table.add_row(name, cycles_text(entry.candidate.cycles), measured, error, found.status, Text(found.message))
    return table


def conclusion(confirmed: Sequence[Confirmed]) -> str:
    """In words: is the best kernel the best there too?"""
    best = confirmed[0]
    if best.confirmation.status != "passed":
        return f"the best kernel is NOT confirmed: {best.confirmation.message}"
    passed = [entry for entry in confirmed if entry.confirmation.cycles is not None]
    fastest = min(passed, key=lambda entry: entry.confirmation.cycles or 0)
    if (fastest.confirmation.cycles or 0) < (best.confirmation.cycles or 0):
        return (
            f"confirmed, but candidate {fastest.candidate.id} is faster there: {fastest.confirmation.cycles:,} cycles, "
            f"kernel {fastest.candidate.kernel}"
        )
    return "confirmed: the best kernel is right and the fastest there too"


def document(confirmed: Sequence[Confirmed]) -> list[dict[str, Any]]:
    """What --json prints, and the run folder keeps in confirmation.json."""
    return [
        {
            "candidate": entry.candidate.id,
            "kernel": entry.candidate.kernel,
            "simulated_cycles": entry.candidate.cycles,
            "status": entry.confirmation.status,
            "message": entry.confirmation.message,
            "cycles": entry.confirmation.cycles,
            "error": entry.confirmation.error,
            "clock_cycles": entry.confirmation.steps,
            "seconds": entry.confirmation.seconds,
        }
        for entry in confirmed
    ]
