"""What a command is about: a workload and the machine that it is for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autocomp.targets.simulator.isa import Accelerator
    from autocomp.workload import Workload


def load_problem(
    workload: str, paths: tuple[Path, ...], overrides: Mapping[str, int | float], *, trust: bool = False
) -> tuple[Workload, Accelerator]:
    """The workload by its file or name, and its accelerator, which may lie beside it or in one of `paths`. With `trust`
    the user says that its reference may run."""
    from autocomp import workload as workloads
    from autocomp.targets.simulator import isa

    loaded = workloads.as_trusted(workloads.load(workload, paths, overrides), trust)
    return loaded, isa.load(loaded.accelerator, loaded.overrides, (*paths, Path(loaded.path).parent))
