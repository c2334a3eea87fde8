"""`--confirm rtl`: the best kernels of a search, as the hardware sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from autocomp.report.grid import Grid
    from autocomp.search import RunFolder, SearchResult
    from autocomp.search.candidate import Candidate
    from autocomp.search.log.snapshot import Request
    from autocomp.targets.protocol import Target
    from autocomp.targets.simulator.rtl.evaluator import Confirmation
    from autocomp.targets.simulator.rtl.model.build import RtlModel

CONFIRMED = 3  # kernels, the fastest by the simulator

confirm_option = click.option(
    "--confirm",
    type=click.Choice(("rtl",)),
    default=None,
    help=f"Run the {CONFIRMED} best kernels on the hardware description too, built with `autocomp rtl build`.",
)


@dataclass(frozen=True)
class Confirmed:
    """A candidate of a search that passed all stages on the simulator, and the hardware's word on it."""

    candidate: Candidate
    confirmation: Confirmation


def checked_model(target: Target) -> RtlModel:
    """The RTL model of a simulated accelerator. Raises ConfigError if the model is missing, or does not fit."""
    from autocomp.targets.simulator.rtl.model.build import model_of
    from autocomp.targets.simulator.rtl.model.interface import find_interface
    from autocomp.targets.simulator.target import accelerator_of

    accelerator = accelerator_of(target, "--confirm rtl")
    model = model_of(accelerator.full_name)
    find_interface(model.ports, accelerator)
    return model


def confirm(request: Request, folder: RunFolder, result: SearchResult) -> tuple[Confirmed, ...]:
    """The fastest kernels that differ and that the simulator finds right, the best one first.

    A search validates its best kernel only, so the others go through the stages that they have not seen.
    """
    from autocomp.search.verdict import with_verdict
    from autocomp.targets.simulator.rtl.evaluator import RtlEvaluator
    from autocomp.targets.simulator.target import accelerator_of

    accelerator = accelerator_of(request.target, "--confirm rtl")
    evaluator = RtlEvaluator(accelerator, request.workload, checked_model(request.target))
    ranked = sorted((c for c in result.history if c.promising), key=lambda c: c.rank)
    distinct: dict[str, Candidate] = {}
    for candidate in ranked:
        distinct.setdefault(candidate.hash, candidate)
    confirmed: list[Confirmed] = []
    for candidate in distinct.values():
        if len(confirmed) == CONFIRMED:
            break
        text = folder.kernel(candidate.kernel)
        if not candidate.correct:
            candidate = with_verdict(candidate, evaluator.simulator.evaluate(text), evaluator.simulator.stages)
        if candidate.correct:
            confirmed.append(Confirmed(candidate, evaluator.confirm(text)))
    return tuple(confirmed)


def kept(confirmed: Sequence[Confirmed]) -> Candidate | None:
    """The kernel that a search keeps: of those that the hardware confirms, the fastest there. The simulator's best
    where the hardware cannot judge it, and none where it refutes that one and confirms no other."""
    best = confirmed[0]
    passed = [entry for entry in confirmed if entry.confirmation.status == "passed"]
    if best.confirmation.status == "skipped":
        return best.candidate
    return min(passed, key=lambda entry: entry.confirmation.cycles or 0).candidate if passed else None


def confirmation_table(confirmed: Sequence[Confirmed]) -> Grid:
    """A row a kernel: what the simulator said, what the hardware says."""
    from autocomp.report.grid import Grid, figure, name, words
    from autocomp.report.terminal import amount_text, percent

    figures = [figure(heading) for heading in ("simulated", "measured", "error")]
    grid = Grid("On the hardware description", name("kernel"), *figures, name("verdict"), words("message"))
    for entry in confirmed:
        confirmation = entry.confirmation
        measured = amount_text(confirmation.cycles) if confirmation.cycles is not None else ""
        error = percent(confirmation.error, digits=2) if confirmation.error is not None else ""
        label = f"candidate {entry.candidate.id}"
        grid.add(label, amount_text(entry.candidate.value), measured, error, confirmation.status, confirmation.message)
    return grid


def conclusion(confirmed: Sequence[Confirmed]) -> str:
    """In words: which kernel is kept, and why."""
    best, chosen = confirmed[0], kept(confirmed)
    if best.confirmation.status == "skipped":
        return f"the best kernel is NOT confirmed: {best.confirmation.message}"
    if chosen is None:
        return f"no kernel is kept; the hardware refutes the best one: {best.confirmation.message}"
    if chosen == best.candidate:
        return "confirmed: the best kernel is right and the fastest there too"
    measured = next(entry.confirmation.cycles for entry in confirmed if entry.candidate == chosen)
    if best.confirmation.status == "failed":
        reason = f"the hardware refutes the simulator's best: {best.confirmation.message}"
    else:
        reason = f"the simulator's best needs {best.confirmation.cycles:,} there"
    return f"candidate {chosen.id} is kept, with {measured:,} cycles on the hardware; {reason}"


def document(confirmed: Sequence[Confirmed]) -> list[dict[str, Any]]:
    """The entries of --json, one for each kernel."""
    chosen = kept(confirmed)
    return [
        {
            "candidate": entry.candidate.id,
            "kernel": entry.candidate.kernel,
            "kept": entry.candidate == chosen,
            "simulated_cycles": entry.candidate.value,
            "status": entry.confirmation.status,
            "message": entry.confirmation.message,
            "cycles": entry.confirmation.cycles,
            "error": entry.confirmation.error,
            "clock_cycles": entry.confirmation.steps,
            "seconds": entry.confirmation.seconds,
        }
        for entry in confirmed
    ]
