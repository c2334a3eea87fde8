"""Strategies: who is expanded next, decided from the history alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from autocomp.search.candidate import Candidate, History
from autocomp.search.options import Options

EXHAUSTED_AFTER = 2  # fruitless expansions in a row; one alone may be the dropout's doing


@dataclass(frozen=True)
class Expand:
    """Ask for `plans` plans for each parent, and `codes` kernels for each plan."""

    parents: tuple[Candidate, ...]
    plans: int
    codes: int


@dataclass(frozen=True)
class Stop:
    reason: str


class Strategy(Protocol):
    """Must be a pure function of the history: resuming a run calls it again on the same history, and so does a parent
    that turns out to be wrong when it is proven."""

    @property
    def name(self) -> str: ...

    def decide(self, history: History) -> Expand | Stop: ...


@dataclass(frozen=True)
class BeamSearch:
    """Expands the best `beam` promising candidates that still lead to new kernels.

    With `keep_parents`, parents compete with their children; without, only the children of the last step that bore
    any are in the beam.
    """

    options: Options
    name: str = "beam"

    def decide(self, history: History) -> Expand | Stop:
        options = self.options
        best = history.best
        if best.evaluation is not None and best.evaluation.ratio >= options.target:
            return Stop("target ratio reached")
        if len(history.steps) >= options.max_steps:
            return Stop("all steps taken")
        if len(history.steps) - best.step >= options.patience:
            return Stop(f"no better kernel in {options.patience} steps")
        parents = self._beam(history)
        if not parents:
            return Stop("nothing left to expand")
        return Expand(parents, options.plans_per_parent, options.codes_per_plan)

    def _beam(self, history: History) -> tuple[Candidate, ...]:
        pool = [c for c in self._pool(history) if not exhausted(history, c.id)]
        pool.sort(key=lambda c: (c.cycles, c.id))
        return tuple(pool[: self.options.beam])

    def _pool(self, history: History) -> list[Candidate]:
        if self.options.keep_parents:
            return [c for c in history if c.promising]
        for step in reversed(history.steps):
            children = [c for c in step.candidates if c.promising]
            if children:
                return children
        return [history.root]


def exhausted(history: History, parent: int) -> bool:
    """Whether the latest expansions of a candidate brought nothing new."""
    expansions = [step for step in history.steps if parent in step.parents][-EXHAUSTED_AFTER:]
    return len(expansions) == EXHAUSTED_AFTER and not any(history.fresh_children(s, parent) for s in expansions)
