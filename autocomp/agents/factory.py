"""From a configuration to the agents that a search asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from autocomp.agents.config import RULES, Agents, Member, unknown_model
from autocomp.agents.mixed import MixedPlanner
from autocomp.errors import ConfigError
from autocomp.targets.planning import Coder, Planner
from autocomp.targets.protocol import Rules, Target
from autocomp.targets.rewriting import RewritingCoder, rules_of

if TYPE_CHECKING:
    from autocomp.agents.llm import Ensemble, Ledger
    from autocomp.agents.llm.endpoints.gate import Gate


@dataclass(frozen=True)
class AgentPair:
    """`waits_on` says what a call spends its time with, and so whether threads or processes run calls in parallel;
    `ledger` keeps the budgets of the models, None where none is asked."""

    planner: Planner
    coder: Coder
    waits_on: Literal["processor", "network"]
    ledger: Ledger | None = None


def make_agents(agents: Agents, target: Target, tokens: int | None = None, money: float | None = None) -> AgentPair:
    """The agents of a configuration for a target, with budgets that they keep together.

    Raises ConfigError for an unknown agent, for rules that the target does not have, and for a budget of money without
    the price of each model. Raises ModelError for an endpoint whose key is missing.
    """
    if not agents.models:
        _check_rules(agents)
        rules = _required_rules(target)
        return AgentPair(rules.planner, rules.coder, "processor")
    _check_models(agents.models, money)
    if agents.fallback == RULES:
        _required_rules(target)
    from autocomp.agents.llm import Ledger, LlmCoder, LlmPlanner, OpenPlanner

    ledger = Ledger(tokens, money)
    gates: dict[str, Gate] = {}  # the planner and the coder share the limits of an endpoint
    models = [member for member in agents.coders if not member.is_rules]
    coder: Coder = LlmCoder(_ensemble(models, ledger, gates), agents) if models else RewritingCoder()
    planners: list[tuple[Planner, float]] = []
    asked = [member for member in agents.planner if not member.is_rules]
    if asked:
        planner = LlmPlanner(_ensemble(asked, ledger, gates), agents) if agents.phases == 2 else OpenPlanner(coder.name)
        planners.append((planner, sum(member.weight for member in asked)))
    if len(asked) < len(agents.planner):
        planners.append(
            (_required_rules(target).planner, sum(member.weight for member in agents.planner if member.is_rules))
        )
    mixed = planners[0][0] if len(planners) == 1 else MixedPlanner(*zip(*planners, strict=True))
    return AgentPair(mixed, coder, "network", ledger)


def make_ensemble(agents: Agents, ledger: Ledger | None = None) -> Ensemble:
    """The planner's models alone, with the budgets that a ledger keeps. Raises as `make_agents` does."""
    from autocomp.agents.llm import Ledger

    budgets = ledger or Ledger()
    _check_models(agents.models, budgets.money)
    return _ensemble([member for member in agents.planner if not member.is_rules] or agents.models, budgets, {})


def _ensemble(members: Sequence[Member], ledger: Ledger, gates: dict[str, Gate]) -> Ensemble:
    from autocomp.agents.llm import Client, Ensemble
    from autocomp.agents.llm.endpoints.gate import Gate

    def gate(member: Member) -> Gate:
        return gates.setdefault(member.model, Gate(member.concurrency, member.requests_per_minute))

    return Ensemble([Client(member, ledger, gate(member)) for member in members])


def _required_rules(target: Target) -> Rules:
    rules = rules_of(target)
    if rules is None:
        raise ConfigError(
            f"the target {target.kind}:{target.name} has no rules agent",
            hint="name a model: --planner-model openai:MODEL[@BASE_URL]",
        )
    return rules


def _check_rules(agents: Agents) -> None:
    if agents.plans != "words" or agents.phases == 1:
        raise ConfigError(
            "the agents file sets 'plans' or 'phases', which are for models, but names no model",
            hint="name one under 'planner', or leave these keys out",
        )


def _check_models(models: Sequence[Member], money: float | None) -> None:
    """Find what cannot work now rather than in the middle of a search."""
    from autocomp.agents.llm.endpoints.endpoint import api_key, parse_spec

    for member in models:
        if ":" not in member.model:
            raise unknown_model(member.model)
        api_key(parse_spec(member.model), member.key)
        if money is not None and member.price is None:
            raise ConfigError(
                f"a budget of money needs the price of {member.model}",
                hint="state it in an agents file (--agents): `price: {prompt: 0.5, completion: 2.0}`, for a million "
                "tokens each; or give a budget of --tokens",
            )
