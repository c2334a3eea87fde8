"""Evolution by designed experiments, after GPU Kernel Scientist (Andrews and Witteveen, 2025).

In each step a selector picks a base and a reference from the whole population. A designer names ten avenues and writes
five experiments on the base, each with how new it is and an interval of expected gain; three of them are run. A
document records their results for later steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autocomp.search.candidate import Candidate, History, Selection
from autocomp.search.findings import findings
from autocomp.search.options import Options
from autocomp.search.strategy import Decision, Expand, Select, Stop, Strategy, ended, exhausted
from autocomp.targets.planning import Plan

PATIENCE = 8
AVENUES = 10
EXPERIMENTS = 5


@dataclass(frozen=True)
class Evolve(Strategy):
    options: Options
    name: str = "evolve"

    def decide(self, history: History) -> Decision:
        stop = ended(history, self.options, PATIENCE)
        if stop is not None:
            return stop
        population = tuple(c for c in history if c.promising and not exhausted(history, c.id))
        if not population:
            return Stop("nothing left to expand")
        if len(population) == 1:
            return self._experiments(history, population[0], ())
        selection = _present_selection(history)
        if selection is None:
            return Select(population, self.findings(history))
        peers = () if selection.reference is None else (history[selection.reference],)
        return self._experiments(history, history[selection.base], tuple(c for c in peers if c.promising))

    def findings(self, history: History) -> str:
        return findings(history)

    def _experiments(self, history: History, base: Candidate, peers: tuple[Candidate, ...]) -> Expand:
        return Expand(
            (base,),
            EXPERIMENTS,
            self.options.codes_per_plan,
            choose=three_of,
            peers=peers,
            avenues=AVENUES,
            findings=self.findings(history),
        )


def three_of(base: Candidate, plans: Sequence[Plan]) -> Sequence[Plan]:
    """The most innovative plan, the one with the highest maximum of expected gain, and that with the highest minimum;
    each of those that are left, so that they are three different ones. Equal ones in the order of the design."""
    left = list(plans)
    chosen: list[Plan] = []
    for merit in (_innovation, _most, _least):
        if left:
            best = max(left, key=merit)  # the first of equals
            left.remove(best)
            chosen.append(best)
    return chosen


def _innovation(plan: Plan) -> float:
    return plan.innovation or 0.0


def _most(plan: Plan) -> float:
    return plan.gain[1] if plan.gain else 1.0


def _least(plan: Plan) -> float:
    return plan.gain[0] if plan.gain else 1.0


def _present_selection(history: History) -> Selection | None:
    """The selection made for the next step, if its base still holds."""
    made = [s for s in history.selections if s.step == len(history.steps) + 1]
    return made[-1] if made and history[made[-1].base].promising else None
