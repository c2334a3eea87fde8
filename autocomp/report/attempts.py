"""What a run tried, in the form in which a language model is shown it."""

from __future__ import annotations

from typing import Any

from autocomp.agents.llm.suggest import Tried
from autocomp.report.run import RunView
from autocomp.search.folder import RunFolder
from autocomp.search.snapshot import Request

MOST = 60  # attempts that are shown


def attempts(view: RunView) -> list[Tried]:
    """The attempts of a run in their order; of many, the best and the latest failures."""
    found = []
    for candidate in view.candidates.values():
        plan, parent = candidate["plan"], view.candidates.get(candidate["parent"] or 0)
        if plan is None or candidate["outcome"] in ("duplicate", "skipped"):
            continue
        ran = parent is not None and parent["cycles"] and candidate["cycles"]
        gain = parent["cycles"] / candidate["cycles"] if parent is not None and ran else None
        found.append(Tried(plan["option"], plan["text"], candidate["outcome"], gain))
    best = sorted((t for t in found if t.gain is not None), key=lambda t: -(t.gain or 0.0))
    failures = [t for t in found if t.gain is None]
    return best[: 2 * MOST // 3] + failures[-MOST // 3 :]


def run_facts(request: Request, folder: RunFolder, view: RunView) -> dict[str, Any]:
    """What a run was about, and where it got."""
    best = view.candidates[view.best_id]
    return {
        "accelerator": request.accelerator,
        "workload": request.workload,
        "naive_cycles": view.naive_cycles or 0,
        "best_cycles": view.best_cycles or 0,
        "bound_cycles": view.bound_cycles or 0,
        "kernel": folder.kernel(best["kernel"]),
    }
