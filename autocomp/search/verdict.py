"""The candidate that an evaluation makes, and the text of a failure for whoever is to mend it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autocomp.search.candidate import CORRECT, FAILED, PLAUSIBLE, Candidate
from autocomp.targets.evaluation import Evaluation, Stage

UNMEASURED = "the kernel passed and was not measured"


def with_verdict(candidate: Candidate, evaluation: Evaluation, stages: Sequence[Stage]) -> Candidate:
    """The candidate with its outcome; it is correct if it passed all of `stages`."""
    failure = evaluation.failure
    if failure is None and evaluation.measurement is not None:
        passed = {verdict.stage for verdict in evaluation.stages if verdict.status == "passed"}
        outcome = CORRECT if passed >= {stage.name for stage in stages} else PLAUSIBLE
        return replace(candidate, outcome=outcome, evaluation=evaluation)
    stage, message = (failure.stage, failure.message) if failure else (stages[0].name, UNMEASURED)
    return replace(candidate, outcome=f"{FAILED}{stage}", message=message, evaluation=evaluation)


def failure_text(candidate: Candidate) -> str:
    """The failure in words, for a repair: the stage that failed, the line, and the message."""
    failure = candidate.evaluation.failure if candidate.evaluation else None
    where = f" at line {failure.line}" if failure and failure.line else ""
    return f"{candidate.outcome}{where}: {candidate.message}"
