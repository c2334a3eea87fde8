"""A record by a short search of its own, which begins with what the stores have of similar problems."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from autocomp.agents.config import Agents
from autocomp.schedules.from_run import record_of
from autocomp.schedules.record import ScheduleRecord
from autocomp.schedules.reuse import precedents_for
from autocomp.schedules.store import Warn
from autocomp.search import Options
from autocomp.search.log.snapshot import Request, create
from autocomp.search.session import Means, run_session
from autocomp.targets import menu_file
from autocomp.targets.protocol import Target
from autocomp.workload import Workload

PRECEDENTS = 2
SHORT = Options(beam=2, plans_per_parent=3)  # few kernels, so that plans that build on each other come to an end


def fresh_record(
    workload: Workload,
    target: Target,
    evaluations: int,
    warn: Warn,
    roots: Sequence[Path] | None = None,
    seed: int = 0,
) -> ScheduleRecord:
    """The best kernel of a search by the rules agent with that many evaluations; the naive kernel where nothing is
    faster. `roots` are the stores with precedents, as in `autocomp.schedules.store.all_schedules`.

    Raises AutocompError where the starting kernel fails, or the target has no rules agent.
    """
    request = Request(
        workload,
        target,
        menu_file.for_target((), workload, target),
        Agents(),
        SHORT.replace(evaluations=evaluations, seed=seed),
        precedents=precedents_for(workload, target, PRECEDENTS, warn, roots),
    )
    now = datetime.now().astimezone()
    with tempfile.TemporaryDirectory() as place:
        folder = create(Path(place) / "run", request, now)
        result = run_session(request, folder, Means())
        return record_of(request, result, result.best, folder.kernel(result.best.kernel), now)
