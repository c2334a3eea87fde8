"""The kernel that runs an operation of a model: its own schedule, or the best one available without a search."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from autocomp.schedules.reuse import precedents_for
from autocomp.search.session import starting_kernel
from autocomp.serving import known
from autocomp.targets.evaluation import SCREEN
from autocomp.targets.protocol import Target
from autocomp.targets.rewriting import replay
from autocomp.workload import Workload

NAIVE = "naive"

Choose = Callable[[Workload, Target], tuple[str, str]]


def known_kernel(workload: Workload, target: Target) -> tuple[str, str]:
    """The schedule of exactly this workload, or the naive kernel; and where it is from. A schedule that was made for
    another description of the machine is evaluated before it is used; one that is not right there is warned of."""
    answer = known(workload, target)
    if answer is not None and answer.path is not None:
        return answer.kernel, answer.path.name
    return starting_kernel(workload, target), NAIVE


def adapted_kernel(workload: Workload, target: Target) -> tuple[str, str]:
    """As `known_kernel`, but before the naive kernel the fastest of what the plans of the nearest schedule make of it
    here, where that is right and faster. Corrupt schedules are warned of."""
    start, source = known_kernel(workload, target)
    if source != NAIVE:
        return start, source
    near = precedents_for(workload, target, 1, _warn)
    evaluator = target.evaluator(workload)
    made = [(start, NAIVE)]
    made += [(step.kernel, f"as {step.record}") for step in replay(target, near, start, workload).steps]
    screened = [(evaluator.evaluate(text, SCREEN), text, source) for text, source in made]
    rank = target.objective.rank
    ranked = sorted((rank(e.value), n) for n, (e, _, _) in enumerate(screened) if e.correct and e.value is not None)
    for _, number in ranked:
        _, text, source = screened[number]
        if source == NAIVE or evaluator.evaluate(text).correct:
            return text, source
    return start, NAIVE


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=3)
