"""Searching for the kernels of a whole model under one budget, in the order of what the model gains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from autocomp.models.costs import Forecast, Prediction, ranked

FEWEST = 6  # evaluations of a search: the first is the naive kernel's, the next those of the nearest schedules' plans


@dataclass(frozen=True)
class Found:
    """The result of a search for one operation: cycles and source of the best kernel, and the evaluations it took."""

    cycles: int
    source: str
    evaluations: int


@dataclass(frozen=True)
class Improvement:
    """The model before and after; `reason` says why the searches ended."""

    before: Forecast
    after: Forecast
    searched: tuple[tuple[Prediction, Found], ...]
    reason: str

    @property
    def evaluations(self) -> int:
        return sum(result.evaluations for _, result in self.searched)


def improve(
    costs: Forecast, evaluations: int, negligible: float, search: Callable[[Prediction, int], Found]
) -> Improvement:
    """Search for every operation that is worth it, once, the one with most to gain first.

    Each gets a share of the evaluations left: its possible gain divided by that of all operations left, but at least
    `FEWEST` evaluations if these are left. The next operation gets the unused rest. It ends when the rest, at their
    bounds, would save no more than the share `negligible` of all cycles, or no evaluation is left.
    """
    before, left = costs, evaluations
    searched: list[tuple[Prediction, Found]] = []
    done: set[object] = set()
    while True:
        worth = [p for p in ranked(costs, negligible)[0] if p.operation not in done]
        if not worth or left < 1:
            reason = "the evaluations are used up" if worth else "the rest cannot matter"
            return Improvement(before, costs, tuple(searched), reason)
        chosen = worth[0]
        share = min(left, max(FEWEST, round(left * chosen.gain / sum(p.gain for p in worth))))
        improved = search(chosen, share)
        left -= max(1, improved.evaluations)
        done.add(chosen.operation)
        searched.append((chosen, improved))
        costs = _with(costs, chosen, improved)


def _with(costs: Forecast, searched: Prediction, improved: Found) -> Forecast:
    if improved.cycles >= searched.best:
        return costs
    better = replace(searched, best=improved.cycles, source=improved.source)
    return replace(costs, predictions=tuple(better if p is searched else p for p in costs.predictions))
