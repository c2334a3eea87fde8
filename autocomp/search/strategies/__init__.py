"""The strategies that ship, by name."""

from __future__ import annotations

from collections.abc import Mapping

from autocomp.data import closest
from autocomp.errors import ConfigError
from autocomp.search.options import Options
from autocomp.search.strategies.archive import Archive
from autocomp.search.strategies.beam import BeamSearch
from autocomp.search.strategies.evolve import Evolve
from autocomp.search.strategies.exhaustive import Exhaustive
from autocomp.search.strategies.greedy import Greedy
from autocomp.search.strategies.islands import Islands
from autocomp.search.strategies.random import RandomSearch
from autocomp.search.strategy import Strategy

STRATEGIES: Mapping[str, type[Strategy]] = {
    item.name: item for item in (BeamSearch, Evolve, Islands, Archive, Greedy, RandomSearch, Exhaustive)
}

OUTSIDE = "mcp"  # of runs whose next step an agent decides, from outside
CONVERSATION = "tools"  # of runs in which a model decides, by calling tools over several turns

__all__ = [
    "CONVERSATION",
    "OUTSIDE",
    "STRATEGIES",
    "BeamSearch",
    "Evolve",
    "Exhaustive",
    "Greedy",
    "RandomSearch",
    "make_strategy",
]


def make_strategy(name: str, options: Options, enumerates: bool = False, dives: bool = True) -> Strategy:
    """A strategy by name. `enumerates` says whether the planner can list all plans that it has for a kernel, `dives`
    whether it pays to follow single ones first.

    Raises ConfigError for an unknown name, and for a strategy that needs such a planner and has none.
    """
    if name == OUTSIDE:
        raise ConfigError(
            "an agent made this run over the Model Context Protocol; it cannot continue without an agent",
            hint="continue it with: autocomp mcp --run-dir FOLDER",
        )
    if name not in STRATEGIES:
        known = [*STRATEGIES, CONVERSATION]
        near = closest(name, known)
        hint = (f"did you mean {near!r}? " if near else "") + f"known: {', '.join(known)}"
        raise ConfigError(f"unknown search strategy {name!r}", hint=hint)
    if name == Exhaustive.name and not enumerates:
        raise ConfigError(
            "the strategy 'exhaustive' needs a planner that lists all its plans, and a language model does not",
            hint="use the rules agent, or another strategy",
        )
    if name == BeamSearch.name:
        # A model is asked for many plans at once, and each question costs.
        return BeamSearch(options, dives=enumerates and dives)
    if name == Islands.name:
        return Islands(options, enumerates)
    if name == RandomSearch.name:
        return RandomSearch(options, plans=None if enumerates else options.plans_per_parent)
    return STRATEGIES[name](options)  # type: ignore[call-arg]
