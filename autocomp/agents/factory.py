"""From the words of the command line to a pair of agents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from autocomp.agents.protocol import Coder, Planner
from autocomp.errors import ConfigError

RULES = "rules"
FORMS = "rules, or openai:MODEL[@BASE_URL]"


@dataclass(frozen=True)
class AgentPair:
    """`waits_on` says what a call spends its time with, and so whether threads or processes run calls in parallel."""

    planner: Planner
    coder: Coder
    waits_on: Literal["processor", "network"]


def make_agents(planner: str, coder: str) -> AgentPair:
    """The agents of two specs: `rules` (no key, no network) or `openai:MODEL[@BASE_URL]`.

    Raises ConfigError for another spec, ModelError where an endpoint needs a key and the environment has none.
    """
    waits_on: Literal["processor", "network"] = "processor" if planner == coder == RULES else "network"
    return AgentPair(_planner(planner), _coder(coder), waits_on)


def _planner(spec: str) -> Planner:
    if spec == RULES:
        from autocomp.agents.rules import RulesPlanner

        return RulesPlanner()
    from autocomp.agents.llm import LlmPlanner

    _check_endpoint("--planner", spec)
    return LlmPlanner(spec)


def _coder(spec: str) -> Coder:
    if spec == RULES:
        from autocomp.agents.rules import RulesCoder

        return RulesCoder()
    from autocomp.agents.llm import LlmCoder

    _check_endpoint("--coder", spec)
    return LlmCoder(spec)


def _check_endpoint(option: str, spec: str) -> None:
    """Find a missing key now rather than in the middle of a search."""
    from autocomp.agents.llm.endpoint import api_key, parse_spec

    if ":" not in spec:
        raise ConfigError(f"{option} {spec!r} is no agent", hint=f"give {FORMS}")
    api_key(parse_spec(spec))
