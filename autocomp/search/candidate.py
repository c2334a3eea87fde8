"""Candidates, and the history that a strategy decides from."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from autocomp.targets.evaluation import Evaluation, Measurement, Number, Objective
from autocomp.targets.planning import Attempt, LineageStep, Plan, Usage

CORRECT = "correct"
PLAUSIBLE = "screened"  # has a measurement, and is validated in full when it is about to matter
DUPLICATE = "duplicate"
NO_PLAN = "no plan"
NOT_IMPLEMENTED = "not implemented"
SKIPPED = "skipped"
WORKER_LOST = "worker lost"
DEVICE_FAILED = "device failed"
ERROR = "error"
PENDING = "pending"  # on the way; no candidate of a finished step is
ASSUMED = 3  # plans of an author that are assumed to be as good as all together
TELLING = 0.02  # change of the objective by which an attempt teaches something
FAILED = "failed "  # a stage, which is named after it
OUTCOMES = (CORRECT, PLAUSIBLE, DUPLICATE, NO_PLAN, NOT_IMPLEMENTED, FAILED, WORKER_LOST, DEVICE_FAILED, ERROR, SKIPPED)


@dataclass(frozen=True)
class Candidate:
    """One kernel that the search considered; id 0 is the naive kernel. Ids count in proposal order, so that they do
    not depend on which worker finished first. `kernel` is the digest of the text in the run folder, `hash` the
    canonical hash; both are "" where there is no kernel."""

    id: int
    step: int
    parent: int | None
    plan: Plan | None
    kernel: str
    hash: str
    outcome: str
    message: str = ""
    repaired: bool = False
    evaluation: Evaluation | None = field(default=None, repr=False)

    @property
    def correct(self) -> bool:
        return self.outcome == CORRECT

    @property
    def promising(self) -> bool:
        """True if no stage has refused the candidate so far."""
        return self.outcome in (CORRECT, PLAUSIBLE)

    @property
    def measurement(self) -> Measurement:
        """That of a promising candidate."""
        if self.evaluation is None or self.evaluation.measurement is None:
            raise ValueError(f"candidate {self.id} ({self.outcome}) was not measured")
        return self.evaluation.measurement

    @property
    def objective(self) -> Objective:
        if self.evaluation is None:
            raise ValueError(f"candidate {self.id} ({self.outcome}) was not evaluated")
        return self.evaluation.objective

    @property
    def value(self) -> Number:
        """The measured value, in the objective's unit."""
        return self.measurement.value

    @property
    def rank(self) -> tuple[Number, int]:
        """A key to sort promising candidates by: the best first, of equals the one found first."""
        return self.objective.rank(self.value), self.id

    def beats(self, other: Candidate) -> bool:
        """True if the candidate is better than another, beyond the noise of both measurements."""
        return self.objective.better(self.measurement, other.measurement)

    def within(self, factor: float, other: Candidate) -> bool:
        """True if the candidate is at most `factor` times worse than another."""
        return self.objective.within(self.value, other.value, factor)


@dataclass(frozen=True)
class Step:
    """One round of the search: who was expanded, what came of it, and how many evaluations that took."""

    number: int
    parents: tuple[int, ...]
    candidates: tuple[Candidate, ...]
    evaluations: int = 0
    usage: Usage = field(default_factory=Usage)  # what the agents' answers cost


@dataclass(frozen=True)
class Selection:
    """Whom a selector chose to build on in a step, and whom to compare it with."""

    step: int
    base: int
    reference: int | None
    reason: str
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class History:
    """All that happened so far; a step is added when it is complete. `opening` holds the candidates that plans of
    earlier schedules led to, before the first step; its number is 0. `compared` are the candidates that were measured
    again beside each other, by their ids, a set for each time."""

    root: Candidate
    steps: tuple[Step, ...] = ()
    selections: tuple[Selection, ...] = ()
    opening: Step | None = None
    compared: tuple[frozenset[int], ...] = ()

    @property
    def rounds(self) -> tuple[Step, ...]:
        """The opening, if there is one, and the steps."""
        return self.steps if self.opening is None else (self.opening, *self.steps)

    def extended(self, step: Step) -> History:
        return replace(self, steps=(*self.steps, step))

    def selected(self, selection: Selection) -> History:
        return replace(self, selections=(*self.selections, selection))

    def updated(self, changed: Mapping[int, Candidate], evaluations: int = 0, usage: Usage | None = None) -> History:
        """The history with later verdicts on some candidates, the evaluations these took, and what repairs cost."""
        rounds = [replace(s, candidates=tuple(changed.get(c.id, c) for c in s.candidates)) for s in self.rounds]
        rounds[-1] = replace(
            rounds[-1],
            evaluations=rounds[-1].evaluations + evaluations,
            usage=rounds[-1].usage + (usage or Usage()),
        )
        opening = None if self.opening is None else rounds.pop(0)
        return replace(self, opening=opening, steps=tuple(rounds))

    def measured_again(self, measurements: Mapping[int, Measurement | None]) -> History:
        """The history with new measurements of some candidates; None leaves one as it was."""

        def changed(candidate: Candidate) -> Candidate:
            new = measurements.get(candidate.id)
            if new is None or candidate.evaluation is None:
                return candidate
            return replace(candidate, evaluation=replace(candidate.evaluation, measurement=new))

        rounds = [replace(step, candidates=tuple(map(changed, step.candidates))) for step in self.rounds]
        opening = None if self.opening is None else rounds.pop(0)
        compared = (*self.compared, frozenset(measurements))
        return replace(self, root=changed(self.root), opening=opening, steps=tuple(rounds), compared=compared)

    def __iter__(self) -> Iterator[Candidate]:
        yield self.root
        for step in self.rounds:
            yield from step.candidates

    def __getitem__(self, candidate_id: int) -> Candidate:
        return self._by_id[candidate_id]

    @cached_property
    def _by_id(self) -> Mapping[int, Candidate]:
        return {c.id: c for c in self}

    @property
    def best(self) -> Candidate:
        """The best promising candidate; correct when the search has ended."""
        return min((c for c in self if c.promising), key=lambda c: c.rank)

    @property
    def hashes(self) -> frozenset[str]:
        return frozenset(c.hash for c in self if c.hash)

    @property
    def evaluations(self) -> int:
        return 1 + sum(step.evaluations for step in self.rounds)

    @property
    def usage(self) -> Usage:
        """The cost of all answers of agents."""
        costs = [step.usage for step in self.rounds] + [selection.usage for selection in self.selections]
        return sum(costs, Usage())

    def ancestry(self, candidate: Candidate) -> tuple[Candidate, ...]:
        """From the naive kernel to the candidate, both included."""
        chain = [candidate]
        while chain[-1].parent is not None:
            chain.append(self[chain[-1].parent])
        return tuple(reversed(chain))

    def lineage(self, candidate: Candidate) -> tuple[LineageStep, ...]:
        """The plans that led from the naive kernel to the candidate."""
        chain = self.ancestry(candidate)
        return tuple(
            LineageStep(child.plan, child.value, self.gain(child))
            for parent, child in itertools.pairwise(chain)
            if child.plan is not None
        )

    def attempts(self, parent: Candidate | None = None) -> tuple[Attempt, ...]:
        """The outcomes of the plans for a kernel, or of all plans of the run."""
        made = (c for step in self.rounds for c in step.candidates if parent is None or c.parent == parent.id)
        return tuple(Attempt(c.plan, c.outcome, self.gain(c), c.message) for c in made if c.plan is not None)

    def lessons(self, parent: Candidate) -> tuple[Attempt, ...]:
        """Telling plans for other kernels than `parent`: those that failed, and those that changed much."""
        made = (c for step in self.steps for c in step.candidates if c.parent != parent.id and c.plan is not None)
        told = ((c, self.gain(c)) for c in made if c.evaluation is not None)
        return tuple(
            Attempt(c.plan, c.outcome, gain, c.message)
            for c, gain in told
            if c.plan is not None and (gain is None or abs(gain - 1.0) >= TELLING)
        )

    def gain(self, candidate: Candidate) -> float | None:
        """The speed-up of a promising candidate over its parent."""
        if candidate.parent is None or not candidate.promising or not self[candidate.parent].promising:
            return None
        return candidate.objective.gain(self[candidate.parent].value, candidate.value)

    def credit(self) -> Mapping[str, float]:
        """The average gain of each author's plans: the logarithm of the speed-up, nothing where there was none.
        Few plans count as if there were some more, as good as all together."""
        gained: dict[str, list[float]] = {}
        for candidate in self:
            if candidate.plan is not None and candidate.parent is not None:
                gain = self.gain(candidate)
                gained.setdefault(candidate.plan.author, []).append(math.log(max(1.0, gain or 1.0)))
        every = [gain for gains in gained.values() for gain in gains]
        mean = sum(every) / len(every) if every else 0.0
        return {who: (ASSUMED * mean + sum(gains)) / (ASSUMED + len(gains)) for who, gains in gained.items()}

    def outcomes(self) -> Mapping[str, int]:
        """Candidates by outcome, in a fixed order, without zeros; the naive kernel is not counted."""
        return in_order(Counter(c.outcome for step in self.rounds for c in step.candidates))

    def fresh_children(self, step: Step, parent: int) -> int:
        """The number of new kernels, not seen before, that a parent led to in a step."""
        return sum(1 for c in step.candidates if c.parent == parent and c.evaluation is not None)


def in_order(counted: Mapping[str, int]) -> Mapping[str, int]:
    """Outcomes with their counts in the order of OUTCOMES, without zeros; failed stages by name."""

    def place(outcome: str) -> tuple[int, str]:
        return OUTCOMES.index(FAILED if outcome.startswith(FAILED) else outcome), outcome

    return {outcome: counted[outcome] for outcome in sorted(counted, key=place) if counted[outcome]}
