"""The candidate that an evaluation makes, and the text of a failure for whoever is to mend it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autocomp.errors import CandidateFailure, DeviceError, KernelError
from autocomp.search.candidate import CORRECT, FAILED, PLAUSIBLE, Candidate
from autocomp.targets.evaluation import Evaluation, Stage
from autocomp.targets.protocol import Target
from autocomp.workload.model import Workload

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


def require_correct_start(
    root: Candidate, kernel: str, target: Target, workload: Workload, look: str | None = None
) -> None:
    """Raise KernelError or CandidateFailure if the starting kernel is not correct. The message has the cause where one
    is found, the hint the target's advice or `look`. DeviceError if it passed and the target has no device to measure
    it on."""
    if root.correct:
        return
    if root.message == UNMEASURED:
        raise DeviceError(
            f"the starting kernel passed all stages, and {target.name} does not measure it",
            hint="a search needs a device that measures; `autocomp run KERNEL --workload ...` judges without one",
        )
    error = KernelError if root.outcome == "failed check" else CandidateFailure
    message = f"the starting kernel is not correct ({root.outcome}): {root.message}"
    remedy = target.remedy(workload)
    if remedy is None and root.evaluation is not None:
        cause = target.cause(kernel, workload, root.evaluation)
        message += f"\ncause: {cause}" if cause else ""
    raise error(message, hint=remedy or look)


def failure_text(candidate: Candidate) -> str:
    """The failure in words, for a repair: the stage that failed, the line, and the message."""
    failure = candidate.evaluation.failure if candidate.evaluation else None
    where = f" at line {failure.line}" if failure and failure.line else ""
    return f"{candidate.outcome}{where}: {candidate.message}"
