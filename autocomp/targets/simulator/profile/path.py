"""The critical path by line, unit and cause, and in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from autocomp.targets.profile import PathSegment
from autocomp.targets.simulator.profile.recording import Recording
from autocomp.targets.simulator.profile.walk import FRONT, HOST, PathLink
from autocomp.targets.simulator.stalls import STALLS, activity

STAYS = -1  # the path stays on the line, or in the unit
OWN = frozenset({"Busy", "Bus", "MemoryLatency", "BankConflict", "Drain", "Pipeline"})  # what a unit's work consists of
BEFORE_WORK = OWN | {"ReadAfterWrite", "WriteAfterRead", "WriteAfterWrite", "Semaphore", "Pairing"}


def causes_of(recording: Recording, steps: Sequence[PathLink]) -> npt.NDArray[np.int64]:
    """Cycles of each step by cause, [step, cause]: those of its unit in that time; the host's are Host, the front's
    QueueFull where it waits for room and Host else.

    The unit may also wait for its next command, or for what holds that up, while results of the step's command are
    still on their way. The path is with those results, hence in the Pipeline.
    """
    names = list(recording.timing.cause_names)
    start = np.array([step.start for step in steps], np.int64)
    place = np.array([step.place for step in steps], np.int64)
    table = _unit_cycles(recording, steps, place)
    works = start >= recording.commands.started[[step.command for step in steps]]
    for number, cause in enumerate(names):
        passing = (place >= 0) & (cause not in OWN) & (works | (cause not in BEFORE_WORK))
        table[passing, names.index("Pipeline")] += table[passing, number]
        table[passing, number] = 0
    for number in np.flatnonzero(place < 0).tolist():
        step = steps[number]
        full = step.place == FRONT and step.link == "QueueFull"
        fence = step.place == HOST and step.link == "Fence"
        cause = "QueueFull" if full else "Fence" if fence else "Host"
        table[number, names.index(cause)] = step.end - step.start
    return table


def _unit_cycles(
    recording: Recording, steps: Sequence[PathLink], place: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The cycles of each step's unit in that time, by cause; zeros for steps elsewhere."""
    table = np.zeros((len(steps), len(recording.timing.cause_names)), np.int64)
    start = np.array([step.start for step in steps], np.int64)
    end = np.array([step.end for step in steps], np.int64)
    for unit in range(len(recording.units)):
        mine = np.flatnonzero(place == unit)
        for number, cause in enumerate(recording.timing.cause_names):
            times, before = recording.busy_time(unit, cause)
            if before[-1]:
                spent = np.interp(end[mine], times, before) - np.interp(start[mine], times, before)
                table[mine, number] = np.rint(spent).astype(np.int64)
    return table


def path_segments(
    recording: Recording, steps: Sequence[PathLink], causes: npt.NDArray[np.int64]
) -> tuple[PathSegment, ...]:
    """The path added up over all turns of loops, most cycles first."""
    names = recording.timing.cause_names
    links = sorted({step.link for step in steps})
    number = {link: place for place, link in enumerate(links)}
    line = recording.commands.line[[step.command for step in steps]].astype(np.int64)
    place = np.array([step.place for step in steps], np.int64)
    link = np.array([number[step.link] for step in steps], np.int64)
    consequent = np.array([name in STALLS and bool(STALLS[name].consequence) for name in links])
    behind = np.append(line[1:], line[-1:])
    behind[(behind == line) | ~consequent[link]] = STAYS
    step, cause = np.nonzero(causes)
    released = np.where(behind == STAYS, STAYS, link)
    key = [line[step], place[step], cause, behind[step], released[step]]
    radix = [int(part.max(initial=0)) + 3 for part in key]  # parts are -2 or more
    flat = np.ravel_multi_index([part + 2 for part in key], radix)
    kinds, kind, count = np.unique(flat, return_inverse=True, return_counts=True)
    cycles = np.bincount(kind, weights=causes[step, cause], minlength=len(kinds)).astype(np.int64)
    total = max(1, recording.timing.cycles)
    places = {HOST: "host", FRONT: "front", **dict(enumerate(recording.units))}
    segments = []
    parts = (np.stack(np.unravel_index(kinds, radix), axis=1) - 2).tolist()
    for (at, unit, why, after, by), spent, times in zip(parts, cycles.tolist(), count.tolist(), strict=True):
        following, because = (None, "") if after == STAYS else (after, links[by])
        words = _words(at, places[unit], names[why], following, because)
        segments.append(
            PathSegment(at, places[unit], names[why], following, because, spent, times, spent / total, words)
        )
    return tuple(sorted(segments, key=lambda segment: (-segment.cycles, segment.line, segment.unit, segment.cause)))


def _words(line: int, unit: str, cause: str, following: int | None, link: str) -> str:
    what = f"line {line}: {unit} {activity(cause)}"
    if following is not None:
        what += f", and {STALLS[link].consequence.format(next=following)}"
    stall = STALLS.get(link or cause)
    return f"{what}; {stall.remedy}" if stall is not None and stall.remedy else what
