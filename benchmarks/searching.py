"""One search for a benchmark: what is asked for, and what came of it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autocomp import workload as workloads
from autocomp.agents.config import Agents
from autocomp.search import Options, SearchResult
from autocomp.search.candidate import FAILED
from autocomp.search.log.journal import Event, read_events
from autocomp.search.log.snapshot import Request, create
from autocomp.search.session import Means, run_session
from autocomp.targets import menu_file
from autocomp.targets.registry import load_target
from autocomp.workload import Workload

NO_PATIENCE = 10_000  # steps: a search with it stops when its evaluations are spent, or when it has nothing left


def request_for(
    name: str | Workload,
    options: Options,
    *,
    agents: Agents | None = None,
    strategy: str = "beam",
    overrides: Mapping[str, int | float] | None = None,
) -> Request:
    """A search on a workload, or on the one that ships of that name, with the general menu, by the rules unless there
    are `agents`."""
    workload = workloads.load(name, overrides=overrides or {}) if isinstance(name, str) else name
    target = load_target(workload.target, workload.overrides)
    return Request(workload, target, menu_file.load(["general"]), agents or Agents(), options, strategy)


@dataclass(frozen=True)
class Found:
    """The outcome of a search: its result, its log, and the text of the best kernel."""

    result: SearchResult
    events: Sequence[Event]
    kernel: str

    @property
    def wrong(self) -> int:
        """Candidates that failed a stage after they compiled."""
        outcomes = self.result.history.outcomes().items()
        return sum(count for name, count in outcomes if name.startswith(FAILED) and name != f"{FAILED}check")


def search(request: Request, means: Means | None = None) -> Found:
    """A search in a folder of its own, which does not stay."""
    with tempfile.TemporaryDirectory() as place:
        folder = create(Path(place) / "run", request, datetime.now())
        result = run_session(request, folder, means or Means())
        return Found(result, read_events(folder.events)[0], folder.kernel(result.best.kernel))
