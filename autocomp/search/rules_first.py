"""The rules agent's own search, with as many evaluations, before that of the models: these begin with what it found,
so that a weak model cannot make the result worse than none."""

from __future__ import annotations

from dataclasses import replace

from autocomp.agents.config import Agents
from autocomp.search.log.folder import RunFolder
from autocomp.search.log.journal import Listener
from autocomp.search.log.snapshot import Request
from autocomp.search.session import Means, run_session
from autocomp.targets.planning import Precedent


def without_models(request: Request) -> Request:
    """The same search by the rules alone."""
    options = request.options.replace(tokens=None, money=None)
    return replace(request, agents=Agents(), options=options)


def after_rules(request: Request, folder: RunFolder, means: Means, listener: Listener | None = None) -> Request:
    """The request with the plans of the rules' best kernel as the nearest precedent, after their search in `folder`.
    Raises as `run_session` does."""
    result = run_session(without_models(request), folder, means, listener)
    best = result.best
    lineage = result.history.lineage(best)
    if not lineage:
        return request
    ratio = (best.evaluation.ratio if best.evaluation else None) or 0.0
    precedent = Precedent(
        f"the rules' run {folder.path.name}", best.kernel, f"this very {request.workload.name}", 0.0, ratio, lineage
    )
    return replace(request, precedents=(precedent, *request.precedents))
