"""The cause of wrong values and of commands that wait for each other: the check of accesses, and rows that are lost."""

from __future__ import annotations

from contextlib import suppress

from autocomp.errors import CandidateFailure, KernelError
from autocomp.targets.evaluation import PHASES, Evaluation
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.profile import record
from autocomp.targets.simulator.profile.overwritten import overwritten
from autocomp.workload.model import Workload

VALUES = ("smoke", "adversarial", "determinism")  # stages whose messages tell of values alone
EXPLAINS = "discipline"  # the stage that knows accesses
SHOWN = 3


def cause(kernel: str, workload: Workload, accelerator: Accelerator, evaluation: Evaluation) -> str:
    """The cause of a kernel's wrong values, in words for a repair; "" where none is found."""
    failure = evaluation.failure
    if failure is None or failure.stage not in VALUES:
        return ""
    verdict = SimulatorEvaluator(accelerator, workload).evaluate(kernel, PHASES, stages=(EXPLAINS,)).failure
    reasons = [verdict.message] if verdict is not None else []
    with suppress(CandidateFailure, KernelError):
        reasons += [loss.words for loss in overwritten(record(kernel, workload, accelerator, stuck=True))[:SHOWN]]
    return "; ".join(reasons)
