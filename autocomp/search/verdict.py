"""What an evaluation makes of a candidate, and how a failure is told to whoever is to mend it."""

from __future__ import annotations

from dataclasses import replace

from autocomp.search.candidate import CORRECT, PLAUSIBLE, Candidate
from autocomp.targets.simulator.evaluate.model import STAGES, Evaluation


def with_verdict(candidate: Candidate, evaluation: Evaluation) -> Candidate:
    """The candidate with its outcome."""
    failure = evaluation.failure
    if failure is None and evaluation.cycles is not None:
        outcome = CORRECT if {stage.stage for stage in evaluation.stages} >= set(STAGES) else PLAUSIBLE
        return replace(candidate, outcome=outcome, evaluation=evaluation)
    stage, message = (failure.stage, failure.message) if failure else ("check", "the kernel did not run to its end")
    return replace(candidate, outcome=f"failed {stage}", message=message, evaluation=evaluation)


def failure_text(candidate: Candidate) -> str:
    """What a repair is told: the stage that failed, the line, and the message."""
    failure = candidate.evaluation.failure if candidate.evaluation else None
    where = f" at line {failure.line}" if failure and failure.line else ""
    return f"{candidate.outcome}{where}: {candidate.message}"
