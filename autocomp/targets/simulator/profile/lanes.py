"""Intervals side by side: what overlaps in time is drawn apart."""

from __future__ import annotations

import heapq


def lanes_of(starts: list[int], ends: list[int]) -> list[int]:
    """A lane for each interval, in which no other overlaps it: the lowest that is free."""
    lanes = [0] * len(starts)
    free: list[int] = []
    taken: list[tuple[int, int]] = []  # (end, lane)
    used = 0
    for number in sorted(range(len(starts)), key=starts.__getitem__):
        while taken and taken[0][0] <= starts[number]:
            heapq.heappush(free, heapq.heappop(taken)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, used = used, used + 1
        lanes[number] = lane
        heapq.heappush(taken, (ends[number], lane))
    return lanes
