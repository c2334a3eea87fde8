"""Runs side by side: what each was asked, how far it came, and by which options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from autocomp.report.run import RunView
from autocomp.report.terminal import cycles_text, percent
from autocomp.search.folder import RunFolder


@dataclass(frozen=True)
class RunSummary:
    """A run folder in figures; cycles and the ratio are None before the first evaluation. `state` is finished,
    interrupted (it resumes), or not started."""

    run: str
    workload: str
    accelerator: str
    strategy: str
    seed: int
    created: str
    state: str
    naive_cycles: int | None
    best_cycles: int | None
    bound_cycles: int | None
    ratio: float | None
    evaluations: int
    cached: int
    seconds: float
    reason: str | None
    options: tuple[str, ...]  # that made the best kernel


def summary_of(folder: RunFolder) -> RunSummary:
    """The summary of a run. Raises RunFolderError if it is none, or its log is damaged."""
    snapshot = folder.snapshot()
    view = RunView.of(folder.events) if folder.events.exists() else RunView()
    return RunSummary(
        run=str(folder.path),
        workload=_text(snapshot, "workload", "name"),
        accelerator=_text(snapshot, "accelerator", "name"),
        strategy=str(snapshot.get("strategy", "")),
        seed=int(snapshot.get("options", {}).get("seed", 0)),
        created=str(snapshot.get("created", "")),
        state="finished" if view.reason else "interrupted" if view.evaluations else "not started",
        naive_cycles=view.naive_cycles,
        best_cycles=view.best_cycles,
        bound_cycles=view.bound_cycles,
        ratio=view.ratio,
        evaluations=view.evaluations,
        cached=view.cached,
        seconds=view.seconds,
        reason=view.reason,
        options=tuple(c["plan"]["option"] or "free" for c in view.lineage() if c["plan"]),
    )


def listing(summaries: Sequence[RunSummary]) -> Table:
    """One line a run."""
    table = Table()
    for heading in ("run", "workload", "accelerator", "strategy", "seed"):
        table.add_column(heading, overflow="fold", justify="right" if heading == "seed" else "left")
    table.add_column("state", no_wrap=True)
    for heading in ("best", "of bound", "evaluations", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    for s in summaries:
        told = [Text(text) for text in (s.run, s.workload, s.accelerator, s.strategy, str(s.seed), s.state)]
        figures = (cycles_text(s.best_cycles), percent(s.ratio), str(s.evaluations), f"{s.seconds:.0f}")
        table.add_row(*told, *figures)
    return table


def comparison(summaries: Sequence[RunSummary]) -> Table:
    """Runs beside each other, the figures that matter and the way to the best kernel of each."""
    table = Table(title="Runs compared", title_justify="left")
    for heading in ("run", "workload", "strategy"):
        table.add_column(heading, overflow="fold")
    for heading in ("naive", "best", "gain", "of bound", "evaluations", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("options", overflow="fold")
    for s in summaries:
        gain = f"{s.naive_cycles / s.best_cycles:.2f}x" if s.naive_cycles and s.best_cycles else ""
        table.add_row(
            Text(s.run),
            Text(s.workload),
            s.strategy,
            cycles_text(s.naive_cycles),
            cycles_text(s.best_cycles),
            gain,
            percent(s.ratio),
            str(s.evaluations),
            f"{s.seconds:.0f}",
            Text(" > ".join(s.options)),
        )
    return table


def _text(snapshot: Any, *keys: str) -> str:
    for key in keys:
        snapshot = snapshot.get(key, {}) if isinstance(snapshot, dict) else {}
    return str(snapshot) if snapshot else ""
