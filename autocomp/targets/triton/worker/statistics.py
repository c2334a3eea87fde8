"""Medians of noisy times, with how far to trust them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Summary:
    """The median of some samples and the half-width of its 95 % confidence interval, both in the samples' unit."""

    median: float
    spread: float


def summarise(samples: Sequence[float]) -> Summary:
    """The median, with the distribution-free interval between two order statistics (Conover, Practical Nonparametric
    Statistics, 3.2). Raises ValueError where there are no samples."""
    if not samples:
        raise ValueError("no samples")
    ordered = sorted(samples)
    count = len(ordered)
    middle = ordered[count // 2] if count % 2 else (ordered[count // 2 - 1] + ordered[count // 2]) / 2
    rank = _rank(count)
    low, high = ordered[rank], ordered[count - 1 - rank]
    return Summary(middle, max(high - middle, middle - low))


def measured(samples: Sequence[float]) -> dict[str, Any]:
    """A measurement as a message has it."""
    summary = summarise(samples)
    return {"value": summary.median, "spread": summary.spread, "samples": [round(sample, 3) for sample in samples]}


def stable(batches: Sequence[float], within: float) -> bool:
    """True if the last two batches of a warm-up took the same time, within a share of it."""
    return len(batches) >= 2 and abs(batches[-1] - batches[-2]) <= within * batches[-1]


def _rank(count: int) -> int:
    """The largest rank r for which the order statistics r and count-1-r hold the median with the confidence asked."""
    tail, rank = 0.0, 0
    for position in range(count // 2):
        tail += comb(count, position) * 0.5**count
        if 2 * tail > 1 - CONFIDENCE:
            break
        rank = position
    return rank
