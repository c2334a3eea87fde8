"""Where a kernel's time goes, by source line."""

from __future__ import annotations

import numpy as np

from autocomp.simulator.results import Timing
from autocomp.targets.evaluation import LineCost


def line_cycles(timing: Timing, source: str) -> tuple[LineCost, ...]:
    """For each line that issued commands: how many, and the cycles they waited by cause, most waiting first.

    Waits of different commands overlap in time, so the sum over lines may exceed the makespan.
    """
    commands = timing.commands
    if commands is None or not len(commands.line):
        return ()
    causes = len(timing.cause_names)
    lines, where = np.unique(commands.line, return_inverse=True)
    counts = np.bincount(where, minlength=len(lines))
    cell = where * causes + commands.cause
    waits = np.bincount(cell, weights=commands.wait_cycles, minlength=len(lines) * causes).astype(np.int64)
    table = waits.reshape(len(lines), causes)
    text = source.splitlines()
    hottest = [
        LineCost(
            line=int(line),
            text=text[line - 1].strip() if 0 < line <= len(text) else "",
            count=int(count),
            cost=int(row.sum()),
            causes={timing.cause_names[c]: int(row[c]) for c in np.argsort(-row, kind="stable") if row[c] > 0},
        )
        for line, count, row in zip(lines.tolist(), counts, table, strict=True)
    ]
    return tuple(sorted(hottest, key=lambda entry: (-entry.cost, entry.line)))
