"""What a command is about: a workload and the target that it is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autocomp.targets.protocol import Target
    from autocomp.workload import Workload


def load_problem(
    workload: str,
    paths: tuple[Path, ...],
    overrides: Mapping[str, int | float],
    target: str | None = None,
    *,
    trust: bool = False,
    objective: str | None = None,
) -> tuple[Workload, Target]:
    """The workload by its file or name, and its target, whose description may lie beside it or in one of `paths`. With
    `trust` the user says that its reference may run; `target` takes the place of the target that the file names, and
    `objective` that of the target's usual one.

    Raises ConfigError where neither names one.
    """
    from autocomp.api import load_target, load_workload

    loaded = load_workload(workload, paths=paths, parameters=overrides, trust=trust)
    asked = loaded if target is None else replace(loaded, target=target)
    return loaded, load_target(asked, paths=paths, objective=objective)
