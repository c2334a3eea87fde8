"""The attempts of a run, in the form in which a language model is shown them."""

from __future__ import annotations

from typing import Any

from autocomp.agents.llm.suggest import Tried
from autocomp.report.runs.run import RunView
from autocomp.search.log.folder import RunFolder
from autocomp.search.log.snapshot import Request
from autocomp.targets.protocol import Focus

MOST = 60  # attempts that are shown


def attempts(view: RunView) -> list[Tried]:
    """The attempts of a run in their order; of many, the best and the latest failures."""
    rows = []
    for candidate in view.candidates.values():
        plan = candidate["plan"]
        if plan is None or candidate["outcome"] in ("duplicate", "skipped"):
            continue
        rows.append(Tried(plan["option"], plan["text"], candidate["outcome"], view.gain_of(candidate)))
    best = sorted((t for t in rows if t.gain is not None), key=lambda t: -(t.gain or 0.0))
    failures = [t for t in rows if t.gain is None]
    return best[: 2 * MOST // 3] + failures[-MOST // 3 :]


def run_facts(request: Request, folder: RunFolder, view: RunView) -> dict[str, Any]:
    """The problem of a run, and its result so far."""
    kernel = folder.kernel(view.candidates[view.best_id]["kernel"])
    return {
        "target": request.target,
        "language": request.target.language,
        "knowledge": request.target.knowledge(request.workload, Focus((kernel,))),
        "workload": request.workload,
        "objective": view.objective,
        "naive": view.naive or 0,
        "best_value": view.best or 0,
        "bound": view.bound or 0,
        "kernel": kernel,
    }
