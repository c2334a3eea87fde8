"""The facts of the kernels that the agents were given last: the planner and the coder look at the same ones in turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.transforms import Facts, analyse
from autocomp.workload.model import Workload

_REMEMBERED = 8  # kernels; a beam's parents come round once for planning and once for coding


@dataclass(frozen=True)
class _Given:
    text: str
    machine: str  # digest of the accelerator
    operation: tuple[tuple[str, int | float], ...]  # constants of the workload
    accelerator: Accelerator = field(compare=False)
    constants: Mapping[str, int | float] = field(compare=False)


def facts_of(text: str, workload: Workload, accelerator: Accelerator) -> Facts:
    """The facts that the transformations know of a kernel. Raises KernelError if it does not parse."""
    constants = workload.constants
    return _facts(_Given(text, accelerator.digest, tuple(sorted(constants.items())), accelerator, constants))


@lru_cache(maxsize=_REMEMBERED)
def _facts(given: _Given) -> Facts:
    return analyse(
        kernel.parse(given.text, names={**given.accelerator.all_constants, **given.constants}),
        given.accelerator,
        given.constants,
    )
