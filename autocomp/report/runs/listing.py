"""Runs side by side: what each was asked, how far it came, and by which options."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from autocomp.report.grid import Grid, figure, name, words
from autocomp.report.runs.run import RunView
from autocomp.report.terminal import amount_text, percent
from autocomp.search.log.folder import RunFolder
from autocomp.targets.evaluation import Number, Objective

T = TypeVar("T")


@dataclass(frozen=True)
class RunSummary:
    """A run folder in figures; values in the objective's unit, and their ratios, are None before the first evaluation.
    `state` is finished, interrupted (it resumes), or not started."""

    run: str
    workload: str
    target: str
    strategy: str
    seed: int
    created: str
    state: str
    objective: Objective
    naive: Number | None
    best: Number | None
    bound: Number | None
    gain: float | None
    ratio: float | None
    evaluations: int
    cached: int
    seconds: float
    reason: str | None
    options: tuple[str, ...]  # that made the best kernel


def summary_of(folder: RunFolder) -> RunSummary:
    """The summary of a run. Raises RunFolderError for another kind of folder, and for a damaged log."""
    snapshot = folder.snapshot()
    view = RunView.of(folder.events) if folder.events.exists() else RunView()
    return RunSummary(
        run=str(folder.path),
        workload=_text(snapshot, "workload", "name"),
        target=_text(snapshot, "target", "name"),
        strategy=str(snapshot.get("strategy", "")),
        seed=_number(snapshot, "options", "seed"),
        created=str(snapshot.get("created", "")),
        state="finished" if view.reason else "interrupted" if view.evaluations else "not started",
        objective=view.objective if view.evaluations else _objective(snapshot),
        naive=view.naive,
        best=view.best,
        bound=view.bound,
        gain=view.gain,
        ratio=view.ratio,
        evaluations=view.evaluations,
        cached=view.cached,
        seconds=view.seconds,
        reason=view.reason,
        options=tuple(c["plan"]["option"] or "free" for c in view.lineage() if c["plan"]),
    )


def _objective(snapshot: Mapping[str, Any]) -> Objective:
    """The objective of a run's target, before anything was measured."""
    target = snapshot.get("target")
    stated = target.get("objective") if isinstance(target, Mapping) else None
    return Objective(str(stated.get("unit", ""))) if isinstance(stated, Mapping) else Objective("")


def summary_document(summary: RunSummary) -> dict[str, Any]:
    """The summary for --json; the names of values end in their unit."""
    document = dataclasses.asdict(summary)
    objective = document.pop("objective")
    values = {name: document.pop(name) for name in ("naive", "best", "bound")}
    return {**document, "objective": objective, **with_units(values, summary.objective)}


def with_units(values: Mapping[str, T], objective: Objective) -> dict[str, T]:
    """Values under names that end in their unit, as in `best_cycles`."""
    unit = re.sub(r"\W+", "_", objective.unit)
    return {"_".join(filter(None, (name, unit))): value for name, value in values.items()}


def _with_unit(value: Number | None, objective: Objective) -> str:
    return amount_text(value) if value is None else f"{amount_text(value)} {objective.unit}"


def listing(summaries: Sequence[RunSummary]) -> Grid:
    """One line a run."""
    about = [name(heading) for heading in ("run", "workload", "target", "strategy")]
    reached = [figure(heading) for heading in ("best", "of bound", "evaluations", "seconds")]
    grid = Grid("", *about, figure("seed"), name("state"), *reached)
    for s in summaries:
        told = (s.run, s.workload, s.target, s.strategy, str(s.seed), s.state)
        grid.add(*told, _with_unit(s.best, s.objective), percent(s.ratio), str(s.evaluations), f"{s.seconds:.0f}")
    return grid


def comparison(summaries: Sequence[RunSummary]) -> Grid:
    """Runs beside each other, the figures that matter and the way to the best kernel of each."""
    about = [name(heading) for heading in ("run", "workload", "strategy")]
    reached = [figure(heading) for heading in ("naive", "best", "gain", "of bound", "evaluations", "seconds")]
    grid = Grid("Runs compared", *about, *reached, words("options"))
    for s in summaries:
        grid.add(
            s.run,
            s.workload,
            s.strategy,
            _with_unit(s.naive, s.objective),
            _with_unit(s.best, s.objective),
            "" if s.gain is None else f"{s.gain:.2f}x",
            percent(s.ratio),
            str(s.evaluations),
            f"{s.seconds:.0f}",
            " > ".join(s.options),
        )
    return grid


def _number(snapshot: Any, *keys: str) -> int:
    text = _text(snapshot, *keys)
    return int(text) if re.fullmatch("-?[0-9]{1,18}", text) else 0


def _text(snapshot: Any, *keys: str) -> str:
    for key in keys:
        snapshot = snapshot.get(key, {}) if isinstance(snapshot, dict) else {}
    return str(snapshot) if snapshot else ""
