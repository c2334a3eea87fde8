"""Data that was moved into local memory and overwritten before anything read it: what wrong values often come of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from autocomp.targets.simulator.profile.recording import Recording

MOST_ACCESSES = 200_000  # that are looked at; a kernel that loses data does so early
NOTHING = -1


@dataclass(frozen=True)
class Overwritten:
    """A row whose data from DRAM nothing read: loaded on `line`, overwritten on `by`. The tensors are those that the
    two commands read, "" where one reads none; `count` says how often the pair of lines does it."""

    memory: str
    row: int
    tensor: str
    line: int
    by_tensor: str
    by: int
    count: int

    @property
    def words(self) -> str:
        first = f"loaded{f' from {self.tensor}' if self.tensor else ''} at line {self.line}"
        then = f"overwritten{f' from {self.by_tensor}' if self.by_tensor else ''} at line {self.by}"
        times = f" ({self.count:,} times)" if self.count > 1 else ""
        return f"row {self.row} of {self.memory}, {first}, was {then} before anything read it{times}"


def overwritten(recording: Recording) -> tuple[Overwritten, ...]:
    """The pairs of lines that lose data in this way, in the order of their first loss. Only loads count as what is
    lost: results may be kept for nothing."""
    losses: dict[tuple[int, int], Overwritten] = {}
    for loss in _losses(recording):
        key = (loss.line, loss.by)
        known = losses.get(key)
        losses[key] = loss if known is None else Overwritten(**{**known.__dict__, "count": known.count + 1})
    return tuple(losses.values())


def _losses(recording: Recording) -> Iterator[Overwritten]:
    accesses, lines = recording.accesses, recording.commands.line
    memories = recording.accelerator.memories
    writer = {
        number: np.full(memory.rows, NOTHING, np.int64)
        for number, memory in enumerate(memories)
        if memory.kind == "local" and not memory.shown
    }
    sources = _sources(recording)
    for entry in range(min(len(accesses.command), MOST_ACCESSES)):
        number = int(accesses.memory[entry])
        if number not in writer:
            continue
        command = int(accesses.command[entry])
        rows = writer[number][int(accesses.first[entry]) : int(accesses.last[entry])]
        if not accesses.write[entry]:
            rows[:] = NOTHING
            continue
        solid = len(rows) == int(accesses.points[entry])
        lost = _first_lost(rows, command) if solid else None
        if lost is not None:
            place, older = lost
            yield Overwritten(
                memories[number].name,
                int(accesses.first[entry]) + place,
                _name(recording, sources.get(older, NOTHING)),
                int(lines[older]),
                _name(recording, sources.get(command, NOTHING)),
                int(lines[command]),
                1,
            )
        rows[:] = command if command in sources else NOTHING


def _first_lost(rows: npt.NDArray[np.int64], command: int) -> tuple[int, int] | None:
    """Where the first row lies whose load nobody read, and which command that was."""
    places = np.flatnonzero((rows != NOTHING) & (rows != command))
    return (int(places[0]), int(rows[places[0]])) if len(places) else None


def _sources(recording: Recording) -> dict[int, int]:
    """The tensor that each command reads from DRAM."""
    accesses = recording.accesses
    dram = {n for n, memory in enumerate(recording.accelerator.memories) if memory.kind == "dram"}
    reads = np.isin(accesses.memory, list(dram)) & (accesses.write == 0)
    return dict(zip(accesses.command[reads].tolist(), accesses.tensor[reads].tolist(), strict=True))


def _name(recording: Recording, tensor: int) -> str:
    return recording.tensors[tensor] if 0 <= tensor < len(recording.tensors) else ""
