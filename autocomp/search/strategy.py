"""The protocol of strategies: who is expanded next, decided from the history alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autocomp.search.candidate import Candidate, History, Step
from autocomp.search.options import Options
from autocomp.targets.planning import Plan, Usage

EXHAUSTED_AFTER = 2  # fruitless expansions in a row; one alone may be the dropout's doing

Choice = Callable[[Candidate, Sequence[Plan]], Sequence[Plan]]


def everything(parent: Candidate, plans: Sequence[Plan]) -> Sequence[Plan]:
    """The choice of all plans."""
    return plans


@dataclass(frozen=True)
class Expand:
    """Ask for `plans` plans for each parent (None: all that the planner has, with nothing of the menu withheld), carry
    out those that `choose` takes, and ask for `codes` kernels for each.

    With `whole_menu` nothing of the menu is withheld. `peers` are shown beside each parent (None: the other parents).
    `avenues` other than 0 asks for a design instead: that many directions first, then `plans` experiments, in view of
    the `findings` so far.
    """

    parents: tuple[Candidate, ...]
    plans: int | None
    codes: int
    choose: Choice = everything
    whole_menu: bool = False
    peers: tuple[Candidate, ...] | None = None
    avenues: int = 0
    findings: str = ""


@dataclass(frozen=True)
class Select:
    """Ask which of the population to build on, and which to compare it with; the answer is added to the history."""

    population: tuple[Candidate, ...]
    findings: str = ""


@dataclass(frozen=True)
class Stop:
    reason: str


Decision = Expand | Select | Stop


class Strategy(ABC):
    """Must be a pure function of the history. Resuming a run calls it again on the same history, and so does a parent
    that fails its validation."""

    name: str
    options: Options

    @abstractmethod
    def decide(self, history: History) -> Decision: ...

    def findings(self, history: History) -> str:
        """A document of what was learnt so far, kept in the run folder; empty for none."""
        return ""


def ended(history: History, options: Options, patience: int | None, behind: int = 0) -> Stop | None:
    """The reasons to stop that strategies share; `patience` is how many steps without a better kernel are too many,
    where the options do not say. Those up to `behind` do not count, nor do steps that cost neither an evaluation nor an
    answer of a model: nothing was left to do with their parents, and others are next."""
    best = history.best
    if best.evaluation is not None and (best.evaluation.ratio or 0.0) >= options.ratio:
        return Stop("target ratio reached")
    if len(history.steps) >= options.max_steps:
        return Stop("all steps taken")
    patience = options.patience or patience
    if patience is not None and sum(map(_has_cost, history.steps[max(best.step, behind) :])) >= patience:
        return Stop(f"no better kernel in {patience} steps")
    return None


def _has_cost(step: Step) -> bool:
    return step.evaluations > 0 or step.usage != Usage()


def exhausted(history: History, parent: int) -> bool:
    """True if the latest expansions of a candidate brought nothing new."""
    expansions = [step for step in history.steps if parent in step.parents][-EXHAUSTED_AFTER:]
    return len(expansions) == EXHAUSTED_AFTER and not any(history.fresh_children(s, parent) for s in expansions)
