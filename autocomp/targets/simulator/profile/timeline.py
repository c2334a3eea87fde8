"""A recorded run as a timeline in the trace event format that Perfetto and Chrome open.

One microsecond of the timeline is one cycle. Viewers draw the processes of a trace one below the other, and the tracks
of each by their numbers; so a process is a topic, and tracks are numbered as a reader wants them:

- *host and units*: the regions that the kernel marks, from the first of their commands that the host has ready to the
  last that completes. Then the host, where a command or a fence holds it up. Of each unit with commands the cycles that
  it is busy, what it waits for in all others, and its commands, in as many tracks as overlap. Arrows lead from a
  command to those that it released.
- *queues*: commands between the host and their issue, and how many each unit's pool holds.
- *memories*: bytes in flight from and to DRAM, rows of the local memories that are live, commands at each bank.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.targets.simulator.profile.lanes import lanes_of
from autocomp.targets.simulator.profile.memory import live_rows
from autocomp.targets.simulator.profile.recording import Recording
from autocomp.targets.simulator.profile.regions import parts

Event = dict[str, Any]
Numbers = npt.NDArray[np.int64]
UNITS, QUEUES, MEMORIES = 1, 2, 3  # processes
_PROCESSES = {UNITS: "host and units", QUEUES: "queues", MEMORIES: "memories"}
_FIRST_TRACK = 10  # a track with the number of its process would be drawn first, as the process's main thread


def timeline(recording: Recording) -> dict[str, Any]:
    """The document, ready for JSON."""
    tracks = _Tracks()
    drawn = [*_regions(recording, tracks), *_host(recording, tracks), *_units(recording, tracks)]
    drawn += [*_queues(recording, tracks), *_memories(recording)]
    about = {
        "kernel": recording.tree.source_name,
        "workload": recording.workload.name,
        "accelerator": recording.accelerator.full_name,
        "cycles": recording.timing.cycles,
        "unit": "1 us is 1 cycle",
    }
    return {"traceEvents": [*tracks.described, *drawn], "displayTimeUnit": "ns", "otherData": about}


class _Tracks:
    """Numbers tracks in the order in which they are asked for, and describes them and the processes."""

    def __init__(self) -> None:
        self._numbers = count(_FIRST_TRACK)
        self.described: list[Event] = []
        for process, name in _PROCESSES.items():
            self._describe(process, 0, "process_name", name=name)
            self._describe(process, 0, "process_sort_index", sort_index=process)

    def track(self, process: int, name: str) -> int:
        number = next(self._numbers)
        self._describe(process, number, "thread_name", name=name)
        self._describe(process, number, "thread_sort_index", sort_index=number)
        return number

    def side_by_side(self, process: int, name: str, starts: Numbers, ends: Numbers) -> list[int]:
        """A track for each interval, in as many of the same name as overlap."""
        lanes = lanes_of(starts.tolist(), ends.tolist())
        tracks = [self.track(process, name) for _ in range(max(lanes, default=-1) + 1)]
        return [tracks[lane] for lane in lanes]

    def _describe(self, process: int, track: int, what: str, **arguments: str | int) -> None:
        self.described.append({"ph": "M", "pid": process, "tid": track, "name": what, "args": arguments})


def _slice(process: int, track: int, name: str, start: int, end: int, **arguments: Any) -> Event:
    event = {"ph": "X", "pid": process, "tid": track, "name": name, "ts": start, "dur": end - start}
    return {**event, "args": arguments} if arguments else event


def _names(recording: Recording) -> list[str]:
    """Of each command: its instruction and line."""
    by_number = {number: name for name, number in recording.tables.instructions.items()}
    pairs = zip(recording.commands.instruction.tolist(), recording.commands.line.tolist(), strict=True)
    return [f"{by_number[instruction]} :{line}" for instruction, line in pairs]


def _regions(recording: Recording, tracks: _Tracks) -> Iterator[Event]:
    """A slice for each turn of a region; turns that follow each other without a command in between are one."""
    commands = recording.commands
    for part in parts(recording.tree):
        mine = np.flatnonzero((commands.line >= part.first) & (commands.line <= part.last))
        if part.kind != "region" or not len(mine):
            continue
        begins = np.flatnonzero(np.diff(mine, prepend=-2) > 1)
        starts = np.minimum.reduceat(commands.offered[mine], begins)
        ends = np.maximum.reduceat(commands.completed[mine], begins)
        lanes = tracks.side_by_side(UNITS, f"region {part.name}", starts, ends)
        for start, end, track in zip(starts.tolist(), ends.tolist(), lanes, strict=True):
            yield _slice(UNITS, track, part.name, start, end, line=part.first)


def _host(recording: Recording, tracks: _Tracks) -> Iterator[Event]:
    """The host blocked on each command, or waiting in a fence."""
    track = tracks.track(UNITS, "host blocked")
    commands, names = recording.commands, _names(recording)
    for number in np.flatnonzero(commands.accepted > commands.offered).tolist():
        start, end = int(commands.offered[number]), int(commands.accepted[number])
        yield _slice(UNITS, track, names[number], start, end, command=number)


def _units(recording: Recording, tracks: _Tracks) -> Iterator[Event]:
    """Events for each unit's activity and for its commands, and arrows from those that released them."""
    commands, names, causes = recording.commands, _names(recording), recording.timing.cause_names
    source = recording.tree.source.splitlines()
    moved = np.zeros(len(names), np.int64)
    np.add.at(moved, recording.accesses.command, recording.accesses.bytes)
    ends = np.maximum(commands.completed, commands.started + 1)
    track_of: dict[int, int] = {}
    for unit, name in enumerate(recording.units):
        mine = np.flatnonzero(commands.unit == unit)
        if not len(mine):
            continue
        yield from _activity(recording, unit, tracks)
        lanes = tracks.side_by_side(UNITS, f"{name} commands", commands.started[mine], ends[mine])
        for number, track in zip(mine.tolist(), lanes, strict=True):
            track_of[number] = track
            line, waited = int(commands.line[number]), int(commands.wait_cycles[number])
            about = {"command": number, "line": line, "source": source[line - 1].strip() if line else ""}
            about |= {"waited": waited, "for": causes[int(commands.cause[number])], "dram_bytes": int(moved[number])}
            yield _slice(UNITS, track, names[number], int(commands.started[number]), int(ends[number]), **about)
    for number in np.flatnonzero(commands.released_by >= 0).tolist():
        origin = int(commands.released_by[number])
        if origin in track_of and number in track_of:
            arrow = {"cat": "dependency", "name": causes[int(commands.release[number])], "id": number, "pid": UNITS}
            yield {**arrow, "ph": "s", "tid": track_of[origin], "ts": int(ends[origin]) - 1}
            yield {**arrow, "ph": "f", "bp": "e", "tid": track_of[number], "ts": int(commands.started[number])}


def _activity(recording: Recording, unit: int, tracks: _Tracks) -> Iterator[Event]:
    """The cycles that the unit is busy, and on a track of their own all others by their cause."""
    spans, name = recording.spans, recording.units[unit]
    busy, waits = tracks.track(UNITS, f"{name} busy"), tracks.track(UNITS, f"{name} waits")
    mine = spans.unit == unit
    starts, causes = spans.start[mine], spans.cause[mine]
    changes = np.flatnonzero(np.diff(causes, prepend=-1))
    starts, causes = starts[changes], causes[changes]
    ends = np.append(starts[1:], recording.timing.cycles)
    for start, end, number in zip(starts.tolist(), ends.tolist(), causes.tolist(), strict=True):
        cause = recording.timing.cause_names[number]
        yield _slice(UNITS, busy if cause == "Busy" else waits, cause, start, end)


def _queues(recording: Recording, tracks: _Tracks) -> Iterator[Event]:
    """Each command's way from the host to its issue, and the commands in each unit's pool."""
    commands, names = recording.commands, _names(recording)
    for unit, name in enumerate(recording.units):
        mine = np.flatnonzero((commands.unit == unit) & (commands.issued > commands.accepted))
        starts, ends = commands.accepted[mine], commands.issued[mine]
        lanes = tracks.side_by_side(QUEUES, f"queue of {name}", starts, ends)
        for number, track, start, end in zip(mine.tolist(), lanes, starts.tolist(), ends.tolist(), strict=True):
            yield _slice(QUEUES, track, names[number], start, end, command=number)
        pooled = commands.unit == unit
        yield from _under_way(
            QUEUES, f"{name} pool", "commands", commands.allocated[pooled], commands.completed[pooled]
        )


def _memories(recording: Recording) -> Iterator[Event]:
    commands, accesses = recording.commands, recording.accesses
    starts, ends = commands.started[accesses.command], commands.completed[accesses.command]
    for write, name in ((0, "DRAM read"), (1, "DRAM write")):
        mine = (accesses.tensor >= 0) & ((accesses.write != 0) == write)
        yield from _under_way(MEMORIES, name, "bytes in flight", starts[mine], ends[mine], accesses.bytes[mine])
    for memory, times, rows in live_rows(recording):
        yield from _counter(MEMORIES, memory.name, "live rows", times, rows)
        mine = accesses.memory == recording.accelerator.memories.index(memory)
        bank_rows = memory.rows // memory.banks
        for bank in range(memory.banks):
            here = mine & (accesses.first < (bank + 1) * bank_rows) & (accesses.last > bank * bank_rows)
            yield from _under_way(MEMORIES, f"{memory.name} bank {bank}", "commands", starts[here], ends[here])


def _under_way(
    process: int, name: str, what: str, starts: Numbers, ends: Numbers, amounts: Numbers | None = None
) -> Iterator[Event]:
    """The sum of the amounts (1 each) between their starts and ends, at every time that it changes."""
    amounts = np.ones(len(starts), np.int64) if amounts is None else amounts
    times, place = np.unique(np.concatenate([starts, ends]), return_inverse=True)
    change = np.zeros(len(times), np.int64)
    np.add.at(change, place, np.concatenate([amounts, -amounts]))
    return _counter(process, name, what, times, np.cumsum(change))


def _counter(process: int, name: str, what: str, times: Numbers, values: Numbers) -> Iterator[Event]:
    """Viewers show the name and what is counted side by side."""
    for time, value in zip(times.tolist(), values.tolist(), strict=True):
        yield {"ph": "C", "pid": process, "tid": 0, "name": name, "ts": time, "args": {what: value}}
