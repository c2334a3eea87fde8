"""Random search: what choosing well adds is measured against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from autocomp.search.candidate import Candidate, History
from autocomp.search.options import Options
from autocomp.search.strategy import Decision, Expand, Stop, Strategy, ended, exhausted
from autocomp.targets.planning import Plan


@dataclass(frozen=True)
class RandomSearch(Strategy):
    """Expands one candidate, drawn with equal chances from all promising ones, by `plans_per_parent` of the planner's
    plans (of all that it has, or of the first `plans`), drawn likewise. Has no patience of its own."""

    options: Options
    plans: int | None = None
    name: str = "random"

    def decide(self, history: History) -> Decision:
        stop = ended(history, self.options, None)
        if stop is not None:
            return stop
        pool = [c for c in history if c.promising and not exhausted(history, c.id)]
        if not pool:
            return Stop("nothing left to expand")
        label = f"{self.options.seed}/{len(history.steps)}"
        parent = Random(f"random/{label}").choice(pool)

        def draw(parent: Candidate, plans: Sequence[Plan]) -> Sequence[Plan]:
            return Random(f"plan/{label}").sample(plans, min(self.options.plans_per_parent, len(plans)))

        return Expand((parent,), self.plans, self.options.codes_per_plan, choose=draw)
