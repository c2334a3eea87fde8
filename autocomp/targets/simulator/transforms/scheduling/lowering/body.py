"""From a contraction and a schedule to the statements of a kernel."""

from __future__ import annotations

from autocomp.targets.simulator.transforms.scheduling.computation import Contraction
from autocomp.targets.simulator.transforms.scheduling.lowering.leaves import Leaves
from autocomp.targets.simulator.transforms.scheduling.lowering.nest import Nest
from autocomp.targets.simulator.transforms.scheduling.lowering.pipeline import Pipeline
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Tasks
from autocomp.targets.simulator.transforms.scheduling.lowering.text import statements_of
from autocomp.targets.simulator.transforms.scheduling.lowering.whole import WholeNest
from autocomp.targets.simulator.transforms.scheduling.schedule import Schedule
from autocomp.targets.simulator.transforms.syntax.nest import Statements


def body(computation: Contraction, schedule: Schedule, leaves: Leaves | Tasks) -> Statements:
    """The statements that carry out a contraction. Raises NotApplicable where the schedule does not fit."""
    nest: Nest
    if isinstance(leaves, Tasks):
        nest = WholeNest(computation, schedule, leaves)
    else:
        nest = Nest(computation, schedule, leaves)
    loops = Pipeline(nest).lines() if schedule.ahead or schedule.deferred else nest.plain()
    fence = [] if leaves.fence is None else [str(nest.call(*leaves.fence))]
    return statements_of([*nest.configuration(), *loops, *nest.conclusion(), *fence])
