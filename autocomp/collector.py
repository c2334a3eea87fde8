"""Python's garbage collector, for programs whose objects are mostly syntax trees that live on."""

from __future__ import annotations

import gc

THRESHOLDS = (100_000, 20, 10)  # Python's own (700, 10, 10) walk the trees so often that it costs a sixth of the time


def collect_rarely() -> None:
    """Let this process collect garbage less often. Only the owner of a process calls it: a command, a worker, a test
    run."""
    gc.set_threshold(*THRESHOLDS)
