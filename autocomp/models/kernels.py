"""The kernel that runs an operation of a model: its own schedule, or the best one available without a search."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from autocomp.schedules.reuse import precedents_for
from autocomp.search.session import starting_kernel
from autocomp.serving import known, turned
from autocomp.targets.evaluation import SCREEN
from autocomp.targets.protocol import Target
from autocomp.targets.rewriting import replay
from autocomp.workload import Workload

NAIVE = "naive"
TURNED = "as the schedule with the other activation"
PRECEDENTS = 3  # schedules whose plans are tried, nearest first

Choose = Callable[[Workload, Target], tuple[str, str]]


def known_kernel(workload: Workload, target: Target) -> tuple[str, str]:
    """The schedule of exactly this workload, or the naive kernel; and where it is from. A schedule that was made for
    another description of the machine is evaluated before it is used; one that is not right there is warned of."""
    answer = known(workload, target)
    if answer is not None and answer.path is not None:
        return answer.kernel, answer.path.name
    return starting_kernel(workload, target), NAIVE


def adapted_kernel(workload: Workload, target: Target) -> tuple[str, str]:
    """As `known_kernel`, but before the naive kernel the schedule of the other activation, where an operand turns it.
    Else the fastest of what the plans of the nearest schedule make of the naive kernel, where that is right and faster;
    else of the next nearest, up to `PRECEDENTS`. Corrupt schedules are warned of."""
    start, source = known_kernel(workload, target)
    if source != NAIVE:
        return start, source
    other = turned(workload, target)
    if other is not None:
        return other.kernel, TURNED
    evaluator, rank = target.evaluator(workload), target.objective.rank
    naive = evaluator.evaluate(start, SCREEN).value
    for near in precedents_for(workload, target, PRECEDENTS, _warn):
        steps = replay(target, [near], start, workload).steps
        made = [evaluator.evaluate(step.kernel, SCREEN) for step in steps]
        right = [(rank(e.value), n) for n, e in enumerate(made) if e.correct and e.value is not None]
        for number in (n for value, n in sorted(right) if naive is None or value < rank(naive)):
            if evaluator.evaluate(steps[number].kernel).correct:
                return steps[number].kernel, f"as {steps[number].record}"
    return start, NAIVE


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=3)
