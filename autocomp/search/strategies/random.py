"""Random search: what choosing well adds is measured against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from autocomp.agents.protocol import Plan
from autocomp.search.candidate import Candidate, History
from autocomp.search.options import Options
from autocomp.search.strategy import Decision, Expand, Stop, Strategy, ended, exhausted


@dataclass(frozen=True)
class RandomSearch(Strategy):
    """Expands `beam` candidates, drawn with equal chances from all promising ones, each by one of the planner's plans
    (all that it has, or the first `plans`), drawn likewise. Has no patience of its own."""

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
        parents = Random(f"random/{label}").sample(pool, min(self.options.beam, len(pool)))

        def draw(parent: Candidate, plans: Sequence[Plan]) -> Sequence[Plan]:
            return (Random(f"plan/{label}/{parent.id}").choice(plans),) if plans else ()

        return Expand(tuple(parents), self.plans, self.options.codes_per_plan, choose=draw)
