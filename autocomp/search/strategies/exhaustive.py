"""Exhaustive search: every plan for every kernel, breadth first."""

from __future__ import annotations

from dataclasses import dataclass

from autocomp.search.candidate import History
from autocomp.search.options import Options
from autocomp.search.strategy import Decision, Expand, Stop, Strategy, ended


@dataclass(frozen=True)
class Exhaustive(Strategy):
    """Expands all kernels in the order in which they were found, `beam` at a time, by all plans there are. Has no
    patience of its own: it ends when a budget does, or when nothing is left."""

    options: Options
    name: str = "exhaustive"

    def decide(self, history: History) -> Decision:
        stop = ended(history, self.options, None)
        if stop is not None:
            return stop
        expanded = {parent for step in history.steps for parent in step.parents}
        waiting = [c for c in history if c.promising and c.id not in expanded]
        if not waiting:
            return Stop("nothing left to expand")
        return Expand(tuple(waiting[: self.options.beam]), None, self.options.codes_per_plan)
