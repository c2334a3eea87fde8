"""The subject of a command: a workload and the target that it is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from autocomp.cli.folding import folded
from autocomp.cli.options import define_option, objective_option, path_option, set_option, target_option, trust_option
from autocomp.errors import ConfigError

if TYPE_CHECKING:
    from autocomp.targets.protocol import Target
    from autocomp.workload import Workload


@dataclass(frozen=True)
class ProblemOptions:
    """The options for any workload that a command is given: with `trust` its reference may run, and programs that a
    file of its target names. `target_spec` takes the
    place of the target that its file names, and `objective` that of the target's usual one. `definitions` are constants
    for its kernels."""

    trust: bool
    target_spec: str | None
    objective: str | None
    overrides: Mapping[str, int | float]
    paths: tuple[Path, ...]
    definitions: Mapping[str, int | float] = field(default_factory=dict)

    def load(self, workload: str) -> tuple[Workload, Target]:
        """The workload by its file or name, and its target, whose description may lie beside it or in one of `paths`.

        Raises ConfigError where neither file nor options name a target.
        """
        from autocomp.api import load_target, load_workload
        from autocomp.workload import with_constants

        loaded = load_workload(workload, paths=self.paths, parameters=self.overrides, trust=self.trust)
        if self.definitions:
            loaded = with_constants(loaded, _whole(self.definitions))
        asked = loaded if self.target_spec is None else replace(loaded, target=self.target_spec)
        return loaded, load_target(asked, paths=self.paths, objective=self.objective, trust=self.trust)


def _whole(definitions: Mapping[str, int | float]) -> dict[str, int]:
    """Constants of a workload, which are integers. Raises ConfigError."""
    whole = {name: value for name, value in definitions.items() if isinstance(value, int)}
    for name in definitions:
        if name not in whole:
            raise ConfigError(f"-D {name}: constants of a workload are integers")
    return whole


problem_options = folded(
    "problem", ProblemOptions, trust_option, target_option, objective_option, set_option, path_option, define_option
)


def load_problem(
    workload: str,
    paths: tuple[Path, ...],
    overrides: Mapping[str, int | float],
    target: str | None = None,
    *,
    trust: bool = False,
    objective: str | None = None,
    definitions: Mapping[str, int | float] | None = None,
) -> tuple[Workload, Target]:
    """The same for a command that has some of these options."""
    return ProblemOptions(trust, target, objective, overrides, paths, definitions or {}).load(workload)


def require_different(workloads: Sequence[Workload]) -> list[str]:
    """The names of the workloads. Raises ConfigError where two have the same."""
    names = [workload.name for workload in workloads]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise ConfigError(
            f"workload {repeated[0]} is given twice",
            hint="give each workload once: its name is the name of its run's folder",
        )
    return names
