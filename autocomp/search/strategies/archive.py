"""A MAP-Elites archive (Mouret and Clune, 2015): the best kernel of each kind is kept, and all kinds are built on.

A kind is what costs a kernel most, and how much of the local memories it uses: both from its evidence, which every
target has in words of its own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from autocomp.search.candidate import Candidate, History
from autocomp.search.options import Options
from autocomp.search.strategy import Decision, Expand, Stop, Strategy, ended, exhausted

PATIENCE = 8
FULLEST = 4  # of the classes of use: below an eighth, a quarter, a half, and more

Kind = tuple[str, str, int]  # the part of the machine and the cause that cost most, the class of memory use


@dataclass(frozen=True)
class Archive(Strategy):
    """Expands the best kernel and, drawn by chance, elites of other kinds, those that were expanded least first;
    `beam` of them. In each step half of the plans go to the best."""

    options: Options
    name: str = "archive"

    def decide(self, history: History) -> Decision:
        stop = ended(history, self.options, PATIENCE)
        if stop is not None:
            return stop
        elites = [c for c in elites_of(history).values() if not exhausted(history, c.id)]
        if not elites:
            return Stop("nothing left to expand")
        best = min(elites, key=lambda c: c.rank)
        expanded = Counter(parent for step in history.steps for parent in step.parents)
        chance = Random(f"archive/{self.options.seed}/{len(history.steps)}")
        others = sorted((c for c in elites if c is not best), key=lambda c: (expanded[c.id], chance.random()))
        parents = (best, *others[: self.options.beam - 1])
        each = max(1, -(-2 * self.options.plans_per_parent // (1 + len(parents))))
        return Expand(parents, each, self.options.codes_per_plan)


def elites_of(history: History) -> Mapping[Kind, Candidate]:
    """The best kernel of each kind that was found."""
    elites: dict[Kind, Candidate] = {}
    for candidate in history:
        if candidate.promising:
            kind = kind_of(candidate)
            if kind not in elites or candidate.rank < elites[kind].rank:
                elites[kind] = candidate
    return elites


def kind_of(candidate: Candidate) -> Kind:
    """The largest cost of a promising kernel, and its class of memory use."""
    if candidate.evaluation is None:
        raise ValueError(f"candidate {candidate.id} was not evaluated and is of no kind")
    evidence = candidate.evaluation.evidence
    costs = [(amount, part, cause) for part, causes in evidence.parts.items() for cause, amount in causes.items()]
    _, part, cause = max(costs, default=(0, "", ""))
    used, size = (sum(pair[n] for pair in evidence.resources.values()) for n in (0, 1))
    share = used / size if size else 0.0
    return part, cause, 0 if share <= 0 else min(FULLEST, max(1, FULLEST + math.ceil(math.log2(share))))
