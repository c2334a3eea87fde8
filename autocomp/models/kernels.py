"""Which kernel runs an operation of a model: the schedule of exactly this one, or what can be had without a search."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from autocomp.evaluate import SimulatorEvaluator
from autocomp.isa.model import Accelerator
from autocomp.schedules import lookup
from autocomp.schedules.reuse import precedents_for
from autocomp.search.replay import replay
from autocomp.workload import Workload
from autocomp.workload.naive import starting_kernel

NAIVE = "naive"

Choose = Callable[[Workload, Accelerator], tuple[str, str]]


def known_kernel(workload: Workload, accelerator: Accelerator) -> tuple[str, str]:
    """The schedule of exactly this workload, or the naive kernel; and where it is from."""
    match = lookup(
        workload.operation,
        workload.dims,
        accelerator.full_name,
        options=workload.options,
        parameters=accelerator.parameters,
    )
    if match is not None and match.exact:
        return match.stored.kernel(), match.stored.path.name
    return starting_kernel(workload, accelerator), NAIVE


def adapted_kernel(workload: Workload, accelerator: Accelerator) -> tuple[str, str]:
    """As `known_kernel`, but before the naive kernel what the plans of the nearest schedule make of it here, where that
    is right and faster: evaluated, and chosen by its cycles. Corrupt schedules are warned of."""
    start, source = known_kernel(workload, accelerator)
    if source != NAIVE:
        return start, source
    near = precedents_for(workload, accelerator, 1, lambda message: warnings.warn(message, stacklevel=2))
    evaluator = SimulatorEvaluator(accelerator, workload)
    naive = evaluator.evaluate(start).cycles
    for step in reversed(replay(near, start, accelerator, workload).steps):  # the last one is the plans' end
        evaluation = evaluator.evaluate(step.kernel)
        if evaluation.correct and evaluation.cycles is not None:
            faster = naive is None or evaluation.cycles < naive
            return (step.kernel, f"as {step.record}") if faster else (start, NAIVE)
    return start, NAIVE
