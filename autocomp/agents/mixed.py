"""Planners side by side in one search: each plans its share, and what one leaves open falls to the next."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from random import Random

from autocomp.agents import scientist
from autocomp.targets.planning import Context, Plan, Planner, Planning, Selected, Usage


class MixedPlanner:
    """Planners with their weights. The last one is asked for what the others did not come up with."""

    def __init__(self, planners: Sequence[Planner], weights: Sequence[float]) -> None:
        self.planners = tuple(planners)
        self.weights = tuple(weights)
        self.name = ", ".join(planner.name for planner in planners)

    def plan(self, context: Context, count: int) -> Planning:
        chosen: list[tuple[Plan, ...]] = []
        messages: list[str] = []
        usage, missing = Usage(), 0
        shares = apportion(count, self.weights, context.random)
        for number, (planner, share) in enumerate(zip(self.planners, shares, strict=True), start=1):
            wanted = share + (missing if number == len(self.planners) else 0)
            if not wanted:
                continue
            planning = planner.plan(context, wanted)
            chosen.append(planning.plans[:wanted])
            missing += max(0, wanted - len(planning.plans))
            usage += planning.usage
            messages += planning.messages
        turns = itertools.zip_longest(*chosen)  # the best of each first
        plans = tuple(plan for turn in turns for plan in turn if plan is not None)
        return Planning(plans, usage, tuple(messages))

    def select(self, context: Context) -> Selected:
        return scientist.select(self._one(context.random), context)

    def design(self, context: Context, avenues: int, experiments: int) -> Planning:
        """One planner's design, by chance and weight; what it leaves open is the last one's."""
        chosen, last = self._one(context.random), self.planners[-1]
        planning = scientist.design(chosen, context, avenues, experiments)
        missing = experiments - len(planning.plans)
        if missing <= 0 or chosen is last:
            return planning
        more = scientist.design(last, context, avenues, missing)
        return Planning(
            (*planning.plans, *more.plans),
            planning.usage + more.usage,
            (*planning.messages, *more.messages),
            (*planning.avenues, *more.avenues),
        )

    def _one(self, random: Random) -> Planner:
        return random.choices(self.planners, self.weights)[0]


def apportion(count: int, weights: Sequence[float], random: Random) -> list[int]:
    """`count` split by weight: the whole parts, and what is left over by chance in proportion to the fractions."""
    total = sum(weights)
    exact = [count * weight / total for weight in weights]
    shares = [int(share) for share in exact]
    for _ in range(count - sum(shares)):
        left = [max(0.0, share - given) for share, given in zip(exact, shares, strict=True)]
        shares[random.choices(range(len(weights)), left if sum(left) > 0 else list(weights))[0]] += 1
    return shares
