"""The selector and the designer of the strategy `evolve`: a planner's own, or mechanical ones on top of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from autocomp.targets.evaluation import Evaluation, Number
from autocomp.targets.planning import Attempt, Context, Peer, Plan, Planner, Planning, Scientist, Selected


def select(planner: Planner, context: Context) -> Selected:
    """Whom to build on and whom to compare with, from `context.peers`."""
    return planner.select(context) if isinstance(planner, Scientist) else by_speed(context.peers)


def fastest_first(population: Sequence[Peer]) -> list[Peer]:
    """The kernels from the best value of the objective to the worst; of equal ones the older first."""
    return sorted(population, key=lambda peer: (_rank(peer.evaluation), peer.id))


def _rank(evaluation: Evaluation) -> Number:
    return math.inf if evaluation.value is None else evaluation.objective.rank(evaluation.value)


def by_speed(population: Sequence[Peer]) -> Selected:
    """The fastest kernel, and of those whose options have least in common with its own the fastest."""
    base, *others = fastest_first(population)
    if not others:
        return Selected(base.id, None, "the only kernel there is")
    own = _options(base)
    reference = min(others, key=lambda peer: _likeness(own, _options(peer)))
    return Selected(
        base.id, reference.id, "the fastest kernel, beside the fastest of those that are made most otherwise"
    )


def design(planner: Planner, context: Context, avenues: int, experiments: int) -> Planning:
    """Up to `experiments` plans; each has its innovation and its expected gain, from what came of the same option
    before where the planner does not say."""
    if isinstance(planner, Scientist):
        planning = planner.design(context, avenues, experiments)
    else:
        planning = varied(planner, context, avenues, experiments)
    uses = Counter(attempt.plan.option for attempt in context.attempts)
    plans = tuple(
        replace(
            plan,
            innovation=100.0 / (1 + uses[plan.option]) if plan.innovation is None else plan.innovation,
            gain=plan.gain or _experience(context.attempts, plan.option),
        )
        for plan in planning.plans
    )
    return replace(planning, plans=plans)


def varied(planner: Planner, context: Context, avenues: int, experiments: int) -> Planning:
    """`avenues` plans of the planner are the directions; `experiments` of them are written out: those by different
    options first."""
    planning = planner.plan(context, avenues)
    plans = tuple(_varied(planning.plans)[:experiments])
    return replace(planning, plans=plans, avenues=tuple(plan.text for plan in planning.plans))


def _varied(plans: Sequence[Plan]) -> list[Plan]:
    """The first plan of each option, then the others, otherwise in their order."""
    seen: set[str] = set()
    first: list[Plan] = []
    rest: list[Plan] = []
    for plan in plans:
        (rest if plan.option in seen else first).append(plan)
        seen.add(plan.option)
    return first + rest


def _experience(attempts: Sequence[Attempt], option: str) -> tuple[float, float] | None:
    gains = [attempt.gain for attempt in attempts if attempt.plan.option == option and attempt.gain is not None]
    return (min(gains), max(gains)) if gains else None


def _options(peer: Peer) -> frozenset[str]:
    return frozenset(step.plan.option for step in peer.lineage)


def _likeness(own: frozenset[str], other: frozenset[str]) -> float:
    """The share of the options of both that they have in common."""
    return len(own & other) / len(own | other) if own | other else 1.0
