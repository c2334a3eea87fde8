"""Greedy search: one change at a time, kept if it makes the kernel faster, else reverted."""

from __future__ import annotations

from dataclasses import dataclass

from autocomp.search.candidate import Candidate, History
from autocomp.search.options import Options
from autocomp.search.strategy import Decision, Expand, Stop, Strategy, ended, exhausted

PATIENCE = 12  # changes reverted in a row


@dataclass(frozen=True)
class Greedy(Strategy):
    """Expands the present kernel by one plan; a child replaces it if it is faster, by the factor `gate` if that is
    stricter. A kernel that fails its proof is reverted too."""

    options: Options
    name: str = "greedy"

    def decide(self, history: History) -> Decision:
        stop = ended(history, self.options, PATIENCE)
        if stop is not None:
            return stop
        present = self._present(history)
        if exhausted(history, present.id):
            return Stop("nothing left to try")
        return Expand((present,), 1, self.options.codes_per_plan)

    def _present(self, history: History) -> Candidate:
        """The last change that was kept, and held."""
        factor = min(1.0, self.options.gate or 1.0)
        present = history.root
        for step in history.rounds:
            children = [c for c in step.candidates if c.promising]
            better = [c for c in children if c.beats(present) and c.within(factor, present)]
            present = min(better, key=lambda c: c.rank, default=present)
        return present
