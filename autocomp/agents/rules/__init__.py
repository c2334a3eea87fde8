"""The embedded agents: transformations chosen by the profile and applied mechanically; no key, no network."""

from autocomp.agents.rules.coder import RulesCoder
from autocomp.agents.rules.planner import RulesPlanner

__all__ = ["RulesCoder", "RulesPlanner"]
