"""Any request to its end: by a strategy of the search, or by a model that calls tools."""

from __future__ import annotations

from dataclasses import replace

from autocomp.agents.config import RULES, Agents
from autocomp.errors import ConfigError
from autocomp.search.budget import Budget
from autocomp.search.log.folder import RunFolder
from autocomp.search.log.journal import Listener
from autocomp.search.log.snapshot import Request
from autocomp.search.search import SearchResult
from autocomp.search.session import Means, judge_of, require_true, run_session, strategy_of
from autocomp.search.strategies import CONVERSATION
from autocomp.workbench.session import Session


def check_strategy(request: Request) -> None:
    """Raises ConfigError for an unknown strategy, and for one that does not fit the agents."""
    if request.strategy == CONVERSATION:
        _check_agents(request.agents)
    else:
        strategy_of(request)


def run_request(
    request: Request,
    folder: RunFolder,
    means: Means,
    listener: Listener | None = None,
    grant: Budget | None = None,
    *,
    recheck: bool = False,
    most: Budget | None = None,
) -> SearchResult:
    """Start or continue the run in `folder`; parameters and errors are those of `run_session`."""
    if request.strategy != CONVERSATION:
        return run_session(request, folder, means, listener, grant, recheck=recheck, most=most)
    _check_agents(request.agents)
    from autocomp.agents.factory import make_ensemble
    from autocomp.agents.llm import Ledger
    from autocomp.workbench.conversation import Conversation

    session = Session(request, folder, listener=listener, grant=grant, most=most)
    try:
        if not session.ended:
            options = session.request.options
            ledger = Ledger(options.tokens, options.money)
            ledger.resume(session.journal.usage, session.journal.charge, folder.exchanges.keep)
            reason = Conversation(session, make_ensemble(request.agents, ledger), ledger).run()
            if not session.ended:
                session.submit(reason=reason)
        result = session.result
    finally:
        session.close()
    if recheck:
        require_true(judge_of(request), folder, result.best)
    return replace(result, usage=replace(result.usage, unsent=0))


def _check_agents(agents: Agents) -> None:
    if not agents.models:
        raise ConfigError(
            f"the strategy {CONVERSATION!r} needs a language model, which calls the tools",
            hint="name one: --planner-model openai:MODEL[@BASE_URL]",
        )
    if agents.fallback == RULES:
        raise ConfigError(
            f"the strategy {CONVERSATION!r} has no fallback: the rules agent calls no tools",
            hint="leave `fallback` out; --rules-first lets the rules agent search first",
        )
