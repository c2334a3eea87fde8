"""The cause of wrong values and of commands that wait for each other: the check of accesses, and data that is lost or
missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from autocomp.errors import CandidateFailure, KernelError
from autocomp.simulator import SimulationOptions
from autocomp.targets.evaluation import PHASES, Evaluation, StageVerdict
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.evaluate.simulator import MAX_STEPS
from autocomp.targets.simulator.evaluate.stages import first_difference
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.likeness import alike
from autocomp.targets.simulator.profile import record
from autocomp.targets.simulator.profile.overwritten import overwritten
from autocomp.targets.simulator.profile.recording import EXAMPLE, Unfinished
from autocomp.targets.simulator.profile.unread import unread
from autocomp.workload import Workload, make_case

VALUES = ("smoke", "adversarial", "determinism")  # stages whose messages tell of values alone
EXPLAINS = "discipline"  # the stage that knows accesses
SHOWN = 3
SHOWING = ("random", "extremes", "mixed")  # inputs on which results are looked at, until some are wrong


def cause(kernel: str, workload: Workload, accelerator: Accelerator, evaluation: Evaluation) -> str:
    """The cause of a kernel's wrong values, in words for a repair; "" where none is found."""
    failure = evaluation.failure
    if failure is None or failure.stage not in VALUES:
        return ""
    return "; ".join(_reasons(kernel, workload, accelerator, failure))


def _reasons(kernel: str, workload: Workload, accelerator: Accelerator, failure: StageVerdict) -> Iterator[str]:
    """First what was lost, which is most particular, and last what is missing, which may follow from the others. A
    kernel that stops before its end has no values to explain, and the judge has told where it stops."""
    recording = None
    with suppress(CandidateFailure, KernelError):
        try:
            recording = record(kernel, workload, accelerator, stuck=True)
        except Unfinished:
            return
        yield from (loss.words for loss in overwritten(recording)[:SHOWN])
    verdict = SimulatorEvaluator(accelerator, workload).evaluate(kernel, PHASES, stages=(EXPLAINS,)).failure
    if verdict is not None and _statement(verdict.message) != _statement(failure.message):
        yield verdict.message
    other = _like(kernel, workload, accelerator) if failure.line is None else ""
    if other:
        yield other
    if recording is not None:
        yield from (missing.words for missing in unread(recording))


def _like(kernel: str, workload: Workload, accelerator: Accelerator) -> str:
    """The mistake that wrong values tell, on the first inputs that show it. Inputs are the same each time."""
    with suppress(KernelError):
        compiled = SimulatorEvaluator(accelerator, workload).compile(kernel)
        for kind in SHOWING:
            case = make_case(workload, replace(EXAMPLE, name=kind, kind=kind))
            run = compiled.run(case.arrays, SimulationOptions(timing=False, max_steps=MAX_STEPS))
            if run.error is not None:
                return ""
            if first_difference(workload, case, run.outputs) is not None:
                return alike(workload, case.arrays, run.outputs)
    return ""


def _statement(message: str) -> str:
    """The message without the inputs that showed it."""
    return message.partition(" (input set")[0]
