"""A recorded run as a timeline in the trace event format that Perfetto and Chrome open.

One microsecond of the timeline is one cycle. A process a topic: the host and the queues in front of the units; the
units, what each does from cycle to cycle, and its commands, in as many lanes as overlap; and counters: commands in each
pool, bytes in flight from and to DRAM, commands at each bank; and the regions that the kernel marks, from the first of
their commands that the host has ready to the last that completes. Arrows lead from a command to the ones it released.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.isa.model import Memory
from autocomp.profile.lanes import lanes_of
from autocomp.profile.recording import Recording
from autocomp.profile.regions import parts

Event = dict[str, Any]
Numbers = npt.NDArray[np.int64]
HOST, UNITS, COUNTERS, REGIONS = 1, 2, 3, 4  # processes
_ACTIVITY_LANE = 0


def timeline(recording: Recording) -> dict[str, Any]:
    """The document, ready for JSON."""
    events: list[Event] = []
    for process, name in ((HOST, "host and queues"), (UNITS, "units"), (COUNTERS, "counters"), (REGIONS, "regions")):
        events.append({"ph": "M", "pid": process, "tid": 0, "name": "process_name", "args": {"name": name}})
    events += _host(recording)
    events += _commands(recording)
    events += _activities(recording)
    events += _counters(recording)
    events += _regions(recording)
    about = {
        "kernel": recording.tree.source_name,
        "workload": recording.workload.name,
        "accelerator": recording.accelerator.full_name,
        "cycles": recording.timing.cycles,
        "unit": "1 us is 1 cycle",
    }
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}


def _thread(process: int, thread: int, name: str) -> list[Event]:
    order = {"ph": "M", "pid": process, "tid": thread, "name": "thread_sort_index", "args": {"sort_index": thread}}
    return [{"ph": "M", "pid": process, "tid": thread, "name": "thread_name", "args": {"name": name}}, order]


def _slice(process: int, thread: int, name: str, start: int, end: int, **arguments: Any) -> Event:
    event = {"ph": "X", "pid": process, "tid": thread, "name": name, "ts": start, "dur": end - start}
    return {**event, "args": arguments} if arguments else event


def _names(recording: Recording) -> list[str]:
    """Of each command: its instruction and line."""
    by_number = {number: name for name, number in recording.tables.instructions.items()}
    pairs = zip(recording.commands.instruction.tolist(), recording.commands.line.tolist(), strict=True)
    return [f"{by_number[instruction]} :{line}" for instruction, line in pairs]


def _host(recording: Recording) -> Iterator[Event]:
    """The host blocked on each command, or waiting in a fence; and each command's way from the host to its issue."""
    yield from _thread(HOST, 1, "host")
    commands, names = recording.commands, _names(recording)
    for number, (start, end) in enumerate(zip(commands.offered.tolist(), commands.accepted.tolist(), strict=True)):
        if end > start:
            yield _slice(HOST, 1, names[number], start, end, command=number)
    free = count(2)
    for unit, name in enumerate(recording.units):
        mine = np.flatnonzero((commands.unit == unit) & (commands.issued > commands.accepted))
        lanes = lanes_of(commands.accepted[mine].tolist(), commands.issued[mine].tolist())
        threads = [next(free) for _ in range(max(lanes, default=-1) + 1)]
        for place, thread in enumerate(threads):
            yield from _thread(HOST, thread, f"queue of {name}" + (f" ({place + 1})" if place else ""))
        for number, lane in zip(mine.tolist(), lanes, strict=True):
            start, end = int(commands.accepted[number]), int(commands.issued[number])
            yield _slice(HOST, threads[lane], names[number], start, end, command=number)


def _commands(recording: Recording) -> Iterator[Event]:
    """Commands in their units, and arrows from those that released them."""
    commands, names, causes = recording.commands, _names(recording), recording.timing.cause_names
    moved = np.zeros(len(names), np.int64)
    np.add.at(moved, recording.accesses.command, recording.accesses.bytes)
    ends = np.maximum(commands.completed, commands.started + 1)
    thread_of: dict[int, int] = {}
    for unit, name in enumerate(recording.units):
        mine = np.flatnonzero(commands.unit == unit)
        lanes = lanes_of(commands.started[mine].tolist(), ends[mine].tolist())
        first = _first_thread(unit) + 1
        for lane in range(max(lanes, default=-1) + 1):
            yield from _thread(UNITS, first + lane, f"{name} commands" + (f" ({lane + 1})" if lane else ""))
        for number, lane in zip(mine.tolist(), lanes, strict=True):
            thread_of[number] = first + lane
            start, end = int(commands.started[number]), int(ends[number])
            cause, waited = causes[int(commands.cause[number])], int(commands.wait_cycles[number])
            about = {"command": number, "line": int(commands.line[number]), "waited": waited, "for": cause}
            yield _slice(UNITS, first + lane, names[number], start, end, **about, dram_bytes=int(moved[number]))
    for number in np.flatnonzero(commands.released_by >= 0).tolist():
        source = int(commands.released_by[number])
        if source in thread_of and number in thread_of:
            arrow = {"cat": "dependency", "name": causes[int(commands.release[number])], "id": number, "pid": UNITS}
            yield {**arrow, "ph": "s", "tid": thread_of[source], "ts": int(ends[source]) - 1}
            yield {**arrow, "ph": "f", "bp": "e", "tid": thread_of[number], "ts": int(commands.started[number])}


def _activities(recording: Recording) -> Iterator[Event]:
    """What each unit does from cycle to cycle."""
    spans, causes = recording.spans, recording.timing.cause_names
    for unit, name in enumerate(recording.units):
        thread = _first_thread(unit) + _ACTIVITY_LANE
        yield from _thread(UNITS, thread, name)
        mine = spans.unit == unit
        starts = spans.start[mine].tolist()
        for start, end, cause in zip(
            starts, [*starts[1:], recording.timing.cycles], spans.cause[mine].tolist(), strict=True
        ):
            yield _slice(UNITS, thread, causes[cause], start, end)


def _regions(recording: Recording) -> Iterator[Event]:
    """A slice for each turn of a region; turns that follow each other without a command in between are one."""
    commands = recording.commands
    marked = [part for part in parts(recording.tree) if part.kind == "region"]
    free = count(1)
    for part in marked:
        mine = np.flatnonzero((commands.line >= part.first) & (commands.line <= part.last))
        if not len(mine):
            continue
        begins = np.flatnonzero(np.diff(mine, prepend=-2) > 1)
        starts = np.minimum.reduceat(commands.offered[mine], begins).tolist()
        ends = np.maximum.reduceat(commands.completed[mine], begins).tolist()
        lanes = lanes_of(starts, ends)
        threads = [next(free) for _ in range(max(lanes) + 1)]
        for place, thread in enumerate(threads):
            yield from _thread(REGIONS, thread, part.name + (f" ({place + 1})" if place else ""))
        for start, end, lane in zip(starts, ends, lanes, strict=True):
            yield _slice(REGIONS, threads[lane], part.name, start, end, line=part.first)


def _first_thread(unit: int) -> int:
    return 1 + 100 * unit  # a unit has at most 64 commands in its pool


def _counters(recording: Recording) -> Iterator[Event]:
    commands, accesses = recording.commands, recording.accesses
    for unit, name in enumerate(recording.units):
        mine = commands.unit == unit
        yield from _counter(f"{name}: commands in the pool", commands.allocated[mine], commands.completed[mine])
    starts, ends = commands.started[accesses.command], commands.completed[accesses.command]
    for write, direction in ((0, "read"), (1, "written")):
        mine = (accesses.tensor >= 0) & ((accesses.write != 0) == write)
        yield from _counter(f"DRAM: bytes being {direction}", starts[mine], ends[mine], accesses.bytes[mine])
    for number, memory in enumerate(recording.accelerator.memories):
        if memory.kind != "local":
            continue
        mine = accesses.memory == number
        for bank, inside in _by_bank(memory, accesses.first[mine]):
            yield from _counter(f"{memory.name} bank {bank}: commands at it", starts[mine][inside], ends[mine][inside])


def _by_bank(memory: Memory, rows: Numbers) -> Iterable[tuple[int, npt.NDArray[np.bool_]]]:
    banks = rows // max(1, memory.rows // max(1, memory.banks))
    return ((bank, banks == bank) for bank in np.unique(banks).tolist())


def _counter(name: str, starts: Numbers, ends: Numbers, amounts: Numbers | None = None) -> Iterator[Event]:
    """The sum of the amounts (1 each) under way, at every time that it changes."""
    amounts = np.ones(len(starts), np.int64) if amounts is None else amounts
    times, place = np.unique(np.concatenate([starts, ends]), return_inverse=True)
    change = np.zeros(len(times), np.int64)
    np.add.at(change, place, np.concatenate([amounts, -amounts]))
    for time, value in zip(times.tolist(), np.cumsum(change).tolist(), strict=True):
        yield {"ph": "C", "pid": COUNTERS, "tid": 0, "name": name, "ts": time, "args": {"value": value}}
