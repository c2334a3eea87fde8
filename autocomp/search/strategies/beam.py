"""Beam search: the best kernels so far are expanded side by side."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from autocomp.search.candidate import Candidate, History
from autocomp.search.options import Options
from autocomp.search.strategy import EXHAUSTED_AFTER, Decision, Expand, Stop, Strategy, ended, exhausted
from autocomp.targets.evaluation import Number
from autocomp.targets.planning import GENERATED

PATIENCE = 4
DIVES = 3


@dataclass(frozen=True)
class BeamSearch(Strategy):
    """Expands the best `beam` promising candidates that still lead to new kernels.

    With `keep_parents`, parents compete with their children; without, only the children of the last step that bore
    any are in the beam. A candidate is admitted if it is at most `gate` times worse than its parent; what was in the
    beam before is exempt.

    If it `dives`, the planner's first plan alone is carried out on the starting kernel, then on the result if that is
    faster, until two in a row were not. Then come its next plan for the starting kernel, and one more. Beside a user's
    starting kernel, the generated one has the first turn and the user's the second, with one plan each; the dives go on
    from the fastest, and begin with each start in turn. Only then come the beams. A few evaluations then show what
    comes after the first options. Without, the starting kernel is the second parent of the first step after an opening.
    Either way the search does not keep to what suited another problem.
    """

    options: Options
    dives: bool = False
    name: str = "beam"

    def decide(self, history: History) -> Decision:
        dived, head = _dive(history, self.options.codes_per_plan) if self.dives else (0, None)
        stop = ended(history, self.options, PATIENCE, behind=dived)
        if stop is not None:
            return stop
        if head is not None:
            return Expand((head,), 1, self.options.codes_per_plan, whole_menu=True)
        parents = self._beam(history)
        if history.opening is not None and not history.steps and self.options.beam > 1:
            parents = _with_root(history, parents)[: self.options.beam]
        if not parents:
            return Stop("nothing left to expand")
        return Expand(parents, self.options.plans_per_parent, self.options.codes_per_plan)

    def _beam(self, history: History) -> tuple[Candidate, ...]:
        incumbents = {parent for step in history.steps for parent in step.parents}
        pool = [
            candidate
            for candidate in self._pool(history)
            if not exhausted(history, candidate.id)
            and (candidate.id in incumbents or self._admitted(history, candidate))
        ]
        pool.sort(key=lambda c: c.rank)
        return tuple(self._diverse(history, pool)[: self.options.beam])

    def _pool(self, history: History) -> list[Candidate]:
        if self.options.keep_parents:
            return [c for c in history if c.promising]
        for step in reversed(history.rounds):
            children = [c for c in step.candidates if c.promising]
            if children:
                return children
        return [history.root]

    def _admitted(self, history: History, candidate: Candidate) -> bool:
        """True unless a candidate is too much slower than its parent."""
        gate = self.options.gate
        if gate is None or candidate.parent is None:
            return True
        return candidate.within(gate, history[candidate.parent])

    def _diverse(self, history: History, pool: list[Candidate]) -> list[Candidate]:
        """The pool, reordered: first at most `alike` candidates of each set of options. The rest follows, with those
        that measure the same as their parent or as another candidate of the same options."""
        first: list[Candidate] = []
        rest: list[Candidate] = []
        seen: Counter[frozenset[str]] = Counter()
        known: set[tuple[frozenset[str], Number]] = set()
        for candidate in pool:
            kind = options_of(history, candidate)
            idle = candidate.parent is not None and candidate.value == history[candidate.parent].value
            if idle or (kind, candidate.value) in known or seen[kind] == self.options.alike:
                rest.append(candidate)
                continue
            seen[kind] += 1
            known.add((kind, candidate.value))
            first.append(candidate)
        return first + rest


def _with_root(history: History, parents: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """The parents with the starting kernel second, unless it is the best."""
    if parents and parents[0].id == history.root.id:
        return parents
    others = [parent for parent in parents if parent.id != history.root.id]
    return (*others[:1], history.root, *others[1:])


def _dive(history: History, codes: int) -> tuple[int, Candidate | None]:
    """The number of first steps that were dives from a starting kernel, and the kernel that the present dive has come
    to, or None if all dives are over. Each start has one plan first; the first dive goes on from the fastest. A dive is
    over after EXHAUSTED_AFTER plans in a row without improvement. Each of these steps carried out one plan, in `codes`
    kernels at most."""
    starts = _starts(history)
    head, fruitless, over = starts[0], 0, 0
    reached: list[Candidate] = []
    for number, step in enumerate(history.steps):
        if step.parents != (head.id,) or len(step.candidates) > codes or over == DIVES:
            return number, None
        better = [c for c in step.candidates if c.promising and c.beats(head)]
        head = min(better, key=lambda c: c.rank, default=head)
        if number < len(starts):
            reached.append(head)
            head = starts[number + 1] if number + 1 < len(starts) else min(reached, key=lambda c: c.rank)
        fruitless = 0 if better else fruitless + 1
        if fruitless == EXHAUSTED_AFTER:
            over += 1
            head, fruitless = starts[over % len(starts)], 0
    return len(history.steps), head if over < DIVES else None


def _starts(history: History) -> tuple[Candidate, ...]:
    """The starting kernel and, where that is the user's, the generated one before it."""
    opening = history.opening.candidates if history.opening is not None else ()
    generated = (c for c in opening if c.promising and c.plan is not None and c.plan.option == GENERATED)
    return (*generated, history.root)


def options_of(history: History, candidate: Candidate) -> frozenset[str]:
    """The options, or transformations, that made a candidate."""
    return frozenset(step.plan.option or step.plan.transformation or "" for step in history.lineage(candidate))
