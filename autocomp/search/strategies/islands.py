"""Islands: beams that search apart and now and then take over the best of a neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autocomp.search.candidate import Candidate, History
from autocomp.search.options import Options
from autocomp.search.strategy import Decision, Expand, Stop, Strategy, ended, exhausted
from autocomp.targets.planning import Plan

ISLANDS = 3
ROUNDS = 3  # of steps of all islands, between two migrations
PATIENCE = 4 * ISLANDS


@dataclass(frozen=True)
class Islands(Strategy):
    """Each step belongs to the next island, in turn; its candidates live there. An island expands its best kernels, a
    share of `beam`; in every third round the best of the island before it is a parent too. The starting kernel and
    those of earlier schedules live on all islands.

    A planner that lists all its plans lists the same ones for the starting kernel each time: each island takes every
    third of them then, from the first, the second or the third on.
    """

    options: Options
    enumerates: bool = False
    name: str = "islands"

    def decide(self, history: History) -> Decision:
        stop = ended(history, self.options, PATIENCE)
        if stop is not None:
            return stop
        turn = len(history.steps)
        for later in range(ISLANDS):  # an island with nothing left gives its turn away
            island = (turn + later) % ISLANDS
            parents = self._parents(history, island)
            if parents:
                return self._expansion(parents, island)
        return Stop("nothing left to expand")

    def _parents(self, history: History, island: int) -> tuple[Candidate, ...]:
        own = [c for c in self._residents(history, island) if not exhausted(history, c.id)]
        share = max(1, self.options.beam // ISLANDS)
        parents = sorted(own, key=lambda c: c.rank)[:share]
        made = len(history.steps) // ISLANDS
        if made and made % ROUNDS == 0:
            before = [c for c in self._residents(history, (island - 1) % ISLANDS) if not exhausted(history, c.id)]
            migrant = min(before, key=lambda c: c.rank, default=None)
            if migrant is not None and migrant not in parents:
                parents.append(migrant)
        return tuple(parents)

    def _residents(self, history: History, island: int) -> list[Candidate]:
        """Who lives on an island: where it was made, by the step; those made before the first step live everywhere."""
        return [c for c in history if c.promising and (c.step == 0 or (c.step - 1) % ISLANDS == island)]

    def _expansion(self, parents: tuple[Candidate, ...], island: int) -> Expand:
        plans = self.options.plans_per_parent
        if not self.enumerates:
            return Expand(parents, plans, self.options.codes_per_plan)

        def share(parent: Candidate, elites: Sequence[Plan]) -> Sequence[Plan]:
            return (elites[island::ISLANDS] if parent.step == 0 else elites)[:plans]

        return Expand(parents, plans * ISLANDS, self.options.codes_per_plan, choose=share)
