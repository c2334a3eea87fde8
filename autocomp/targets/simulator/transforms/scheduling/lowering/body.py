"""From a contraction and a schedule to the statements of a kernel."""

from __future__ import annotations

from dataclasses import replace

from autocomp.targets.simulator.transforms.scheduling.computation import Contraction
from autocomp.targets.simulator.transforms.scheduling.lowering.divided import divided
from autocomp.targets.simulator.transforms.scheduling.lowering.leaves import Leaves
from autocomp.targets.simulator.transforms.scheduling.lowering.nest import Nest
from autocomp.targets.simulator.transforms.scheduling.lowering.on_cores import NestOnCores, WholeNestOnCores
from autocomp.targets.simulator.transforms.scheduling.lowering.pipeline import Pipeline
from autocomp.targets.simulator.transforms.scheduling.lowering.returning import declaration, part
from autocomp.targets.simulator.transforms.scheduling.lowering.spelling import spelled
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Tasks
from autocomp.targets.simulator.transforms.scheduling.lowering.text import Lines, statements_of
from autocomp.targets.simulator.transforms.scheduling.lowering.whole import WholeNest
from autocomp.targets.simulator.transforms.scheduling.schedule import Schedule
from autocomp.targets.simulator.transforms.syntax.nest import Statements


def body(computation: Contraction, schedule: Schedule, leaves: Leaves | Tasks) -> Statements:
    """The statements that carry out a contraction. Raises NotApplicable where the schedule does not fit."""
    whole = divided(computation, leaves, schedule)
    if not schedule.returns:
        return statements_of([*_loops(*whole), *_fence(leaves)])
    lines = [declaration(computation, leaves)]
    for number in range(schedule.returns + 1):
        one = part(computation, leaves, schedule.returns, number)
        lines += ["{", *_loops(*one, replace(schedule, returns=0)), "}", *_fence(leaves)]
    return statements_of(lines)


def _loops(computation: Contraction, leaves: Leaves | Tasks, schedule: Schedule) -> Lines:
    nest: Nest
    if isinstance(leaves, Tasks):
        nest = (WholeNestOnCores if schedule.cores else WholeNest)(computation, schedule, leaves)
    else:
        nest = (NestOnCores if schedule.cores else Nest)(computation, schedule, leaves)
    loops = Pipeline(nest).lines() if schedule.ahead or schedule.deferred else nest.plain()
    return [*nest.configuration(), *loops, *nest.conclusion()]


def _fence(leaves: Leaves | Tasks) -> Lines:
    return [] if leaves.fence is None else [str(spelled(leaves.accelerator, *leaves.fence))]
