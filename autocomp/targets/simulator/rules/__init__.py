"""The embedded planner: transformations chosen by where the cycles go; no key, no network."""

from autocomp.targets.simulator.rules.planner import RulesPlanner

__all__ = ["RulesPlanner"]
