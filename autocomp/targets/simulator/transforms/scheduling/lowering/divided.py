"""The computation that the decisions of a schedule are said of: where it divides a computation first, the division."""

from __future__ import annotations

from dataclasses import replace

from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.computation import Contraction
from autocomp.targets.simulator.transforms.scheduling.lowering.abreast import abreast
from autocomp.targets.simulator.transforms.scheduling.lowering.leaves import Leaves
from autocomp.targets.simulator.transforms.scheduling.lowering.returning import usual_part
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Tasks
from autocomp.targets.simulator.transforms.scheduling.schedule import Schedule


def divided(
    computation: Contraction, leaves: Leaves | Tasks, schedule: Schedule
) -> tuple[Contraction, Leaves | Tasks, Schedule]:
    """The computation, its commands and the decisions that are left: where sums return, those of a part between two
    returns; where tiles come abreast, with the rows shared out. Raises NotApplicable where that cannot be done."""
    if schedule.returns and schedule.abreast:
        raise NotApplicable("tiles come abreast where sums do not return")
    left = replace(schedule, returns=0, abreast=0)
    if schedule.returns:
        return *usual_part(computation, leaves, schedule.returns), left
    if schedule.abreast:
        return abreast(computation, leaves, schedule.abreast), leaves, left
    return computation, leaves, left
