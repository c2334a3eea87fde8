"""Kernels that keep results in memory which outlives a call: fast on inputs that they have seen, and on no others."""

from __future__ import annotations

from collections.abc import Callable

LATER = 1.25  # of its usual time that a run may take on inputs which the kernel has not seen, and
LATER_US = 5.0  # microseconds more: a single run is not timed well
DRAWS = 3  # of inputs, on one of which a kernel must be as fast as it is usually


def faster_on_seen(usual: float, time_unseen: Callable[[], float]) -> str | None:
    """The fault of a kernel whose `usual` time in microseconds holds for inputs alone that it has seen, or None.
    `time_unseen` draws inputs anew and gives the microseconds of one run."""
    shortest = float("inf")
    for _ in range(DRAWS):
        shortest = min(shortest, time_unseen())
        if shortest <= LATER * usual + LATER_US:
            return None
    return f"{usual:.1f} us on inputs that it had seen, {shortest:.1f} us on others: results are kept between calls"
