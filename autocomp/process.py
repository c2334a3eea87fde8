"""Settings of a process of ours: a command, a worker, a test run."""

from __future__ import annotations

import gc
import os

THRESHOLDS = (100_000, 20, 10)  # Python's own (700, 10, 10) walk the trees so often that it costs a sixth of the time


def prepare() -> None:
    """Collect garbage less often, as objects are mostly syntax trees that live on. Let NumPy multiply in one thread,
    unless the user says otherwise: on busy cores, threads that wait for one another make small products 200 times
    slower. Only the owner of a process calls it, before NumPy is loaded."""
    gc.set_threshold(*THRESHOLDS)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
