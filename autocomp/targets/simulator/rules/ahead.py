"""The kernels by plans of earlier schedules that are worth an evaluation: those that the rules do not beat at once."""

from __future__ import annotations

from dataclasses import replace

from autocomp.targets.planning import Replay
from autocomp.targets.simulator.evaluate.objectives import OBJECTIVES
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.rules.given import facts_of
from autocomp.targets.simulator.transforms import Facts, candidates_of, transformation
from autocomp.targets.simulator.transforms.legality import commands, value
from autocomp.workload.model import Workload

_FIRST = "schedule"  # the transformation that the rules begin with
_MOST = 100_000  # commands of a kernel: planning for one of more takes longer than the evaluations that it saves


def ahead_of_rules(
    replayed: Replay, start: str, accelerator: Accelerator, workload: Workload, objective: str
) -> Replay:
    """The replay without kernels that lead to none better than what `schedule` first makes of the starting kernel. A
    search finds that in one evaluation. Kernels of unknown measurements, such as long ones, stay."""
    made = [facts_of(step.kernel, workload, accelerator, objective) for step in replayed.steps]
    short = made and all((commands(one) or 0) <= _MOST for one in made)
    best = _of_schedule(facts_of(start, workload, accelerator, objective)) if short else None
    if best is None:
        return replayed
    values = [value(one) for one in made]
    wanted = {number for number, known in enumerate(values) if known is None or known < best}
    kept = {number: position for position, number in enumerate(_leading(replayed, wanted))}
    steps = [replayed.steps[number] for number in kept]
    steps = [step if step.parent is None else replace(step, parent=kept[step.parent]) for step in steps]
    unit = OBJECTIVES[objective].unit
    left_out = [
        (step.record, f"{step.plan.option or 'free plan'}: {known:,.0f} {unit}; {_FIRST} alone makes {best:,.0f}")
        for number, (step, known) in enumerate(zip(replayed.steps, values, strict=True))
        if number not in kept and known is not None
    ]
    return Replay(tuple(steps), (*replayed.left_out, *left_out))


def _of_schedule(start: Facts) -> float | None:
    """The least measurement of a schedule of a starting kernel that has been run; None where none is short enough."""
    results = (proposal.result for proposal in candidates_of(transformation(_FIRST), start))
    return min((result for result in results if result is not None), default=None)


def _leading(replayed: Replay, wanted: set[int]) -> list[int]:
    """The positions of the wanted steps and of those that led to them, in their order."""
    found: set[int] = set()
    for number in wanted:
        position: int | None = number
        while position is not None:
            found.add(position)
            position = replayed.steps[position].parent
    return sorted(found)
