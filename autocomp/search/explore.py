"""Exploring machines: a search at every point of a sweep over an accelerator's parameters, and the Pareto front."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from autocomp.errors import AutocompError, CandidateFailure, ConfigError, IsaError, KernelError, RunFolderError
from autocomp.search.log.folder import RunFolder
from autocomp.search.log.snapshot import Request, create, restore
from autocomp.search.search import SearchResult
from autocomp.search.session import Means, run_session
from autocomp.targets.distance import octaves
from autocomp.targets.planning import Precedent

Parameters = Mapping[str, int | float]
CANNOT_RUN = (ConfigError, IsaError, KernelError, CandidateFailure)  # what a point may be refused for


@dataclass(frozen=True)
class Point:
    """One machine of a sweep, and what became of it.

    `area` is in the units of the machine's description; `cycles` are those of the best kernel by workload, `energy`
    what that costs in nJ, where the machine states energies, and `evaluations` what finding them took. A point that
    cannot run has a `reason`, and figures only of what ran before. `objective` names what the kernels are best by, ""
    for the target's usual one. `schedules` has by workload what other points can begin with.
    """

    parameters: Parameters
    area: int | float | None = None
    cycles: Mapping[str, int] = field(default_factory=dict)
    energy: Mapping[str, float] = field(default_factory=dict)
    evaluations: int = 0
    reason: str | None = None
    objective: str = ""
    schedules: Mapping[str, Precedent] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        return point_name(self.parameters, self.objective)

    @property
    def total(self) -> int | None:
        """Cycles of all workloads, one after the other; None where the point cannot run."""
        return sum(self.cycles.values()) if self.reason is None else None

    @property
    def total_energy(self) -> float | None:
        """nJ of all workloads; None where the point cannot run, or not all energies are known."""
        known = self.reason is None and self.energy.keys() == self.cycles.keys()
        return sum(self.energy.values()) if known and self.energy else None


def point_name(parameters: Parameters, objective: str = "") -> str:
    """The parameters as text, which also names the point's folder, with the objective if one was asked for."""
    name = ",".join(f"{name}={value}" for name, value in parameters.items())
    return f"{name},{objective}" if objective else name


def grid(sweep: Mapping[str, Sequence[int | float]]) -> tuple[Parameters, ...]:
    """All combinations of the values, the last parameter changing fastest."""
    return tuple(dict(zip(sweep, values, strict=True)) for values in itertools.product(*sweep.values()))


def pareto_front(points: Sequence[Point]) -> tuple[Point, ...]:
    """The points than which no other is better in one of area, total cycles and total energy, and as good in the rest,
    by area. Energy counts where it is known of all points."""
    ran = [(point.area, point.total, point) for point in points if point.area is not None and point.total is not None]
    weighed = all(point.total_energy is not None for _, _, point in ran)
    figures = [((area, total, (point.total_energy or 0.0) if weighed else 0.0), point) for area, total, point in ran]
    kept = [
        (own, point)
        for own, point in figures
        if not any(other != own and all(map(operator.le, other, own)) for other, _ in figures)
    ]
    return tuple(point for _, point in sorted(kept, key=lambda entry: entry[0]))


def nearest_first(points: Sequence[Point], parameters: Parameters) -> list[Point]:
    """Points by their distance from these parameters, the sum of the octaves between them."""
    return sorted(
        points, key=lambda point: sum(octaves(point.parameters[name], parameters[name]) for name in parameters)
    )


def explore_point(
    parameters: Parameters, requests: Iterator[Request], folder: Path, means: Means, objective: str = ""
) -> Point:
    """Search for the best kernel of each request, in a run folder of its own below `folder`; what is there is
    continued, and what is finished not repeated.

    The requests are made one by one as they are needed, since making one may already show that the machine is invalid.
    Raises RunFolderError where a folder holds another search.
    """
    area: int | float | None = None
    cycles: dict[str, int] = {}
    energy: dict[str, float] = {}
    evaluations = 0
    reason: str | None = None
    schedules: dict[str, Precedent] = {}
    try:
        for request in requests:
            name = request.workload.name
            area = request.target.area
            run, begun = _run(folder / name, request)
            result = run_session(begun, run, means)
            figures = result.best.evaluation.evidence.figures if result.best.evaluation is not None else {}
            cycles[name] = int(figures.get("cycles", result.best.value))
            if "nJ" in figures:
                energy[name] = round(figures["nJ"], 3)
            evaluations += result.evaluations
            schedules[name] = _precedent(f"{point_name(parameters)}/{name}", parameters, result)
    except CANNOT_RUN as error:
        reason = _reason(error)
    return Point(parameters, area, cycles, energy, evaluations, reason, objective, schedules)


def _precedent(name: str, parameters: Parameters, result: SearchResult) -> Precedent:
    best = result.best
    problem = f"the same with {', '.join(f'{key} = {value}' for key, value in parameters.items())}"
    ratio = (best.evaluation.ratio if best.evaluation is not None else None) or 0.0
    return Precedent(name, best.kernel, problem, 0.0, ratio, tuple(result.history.lineage(best)))


def _run(path: Path, request: Request) -> tuple[RunFolder, Request]:
    """The run at a path, which must be that of the request, or a new one. It has the request as it was begun, since
    what a search begins with depends on which points were there before it."""
    if not (path / "config.json").exists():
        return create(path, request, datetime.now().astimezone()), request
    folder = RunFolder.open(path)
    present = restore(folder)
    differs = [
        what
        for what, before, now in (
            ("workload", present.workload.digest, request.workload.digest),
            ("target", present.target.digest, request.target.digest),
            ("menu", present.menu, request.menu),
            ("agents", present.agents, request.agents),
            ("options", present.options, request.options),
            ("strategy", present.strategy, request.strategy),
        )
        if before != now
    ]
    if differs:
        raise RunFolderError(
            f"{path} holds a search with other {' and '.join(differs)}",
            hint="repeat the command that it was made with, or choose another --folder",
        )
    return folder, replace(request, precedents=present.precedents)


def _reason(error: AutocompError) -> str:
    """The message on one line."""
    return " ".join(error.message.split())
