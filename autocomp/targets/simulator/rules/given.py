"""The facts of the kernels that the agents were given last: the planner and the coder look at the same ones in turn."""

from __future__ import annotations

from autocomp.remember import Recent
from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.judged import for_tensors
from autocomp.targets.simulator.transforms import Facts, analyse
from autocomp.workload.model import Workload

_LAST = Recent[Facts](8)  # kernels; a beam's parents come round once for planning and once for coding


def facts_of(text: str, workload: Workload, accelerator: Accelerator, objective: str = "cycles") -> Facts:
    """The facts that the transformations know of a kernel, which is measured by an objective. Raises KernelError if it
    does not parse."""
    constants = workload.constants

    def analysed() -> Facts:
        parsed = kernel.parse(text, names={**accelerator.all_constants, **constants})
        return analyse(for_tensors(parsed, workload.tensors, accelerator), accelerator, constants, objective)

    return _LAST.of((text, accelerator.digest, objective, tuple(sorted(constants.items()))), analysed)
