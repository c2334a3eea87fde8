"""The contents of local memories over time, and how often data moved into them are used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from autocomp.targets.profile import Operand
from autocomp.targets.simulator.isa.model import Memory
from autocomp.targets.simulator.profile.recording import Recording

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Uses:
    """Accesses of one memory by granules of rows, sorted by granule and then by program order. `tensor` is that of the
    command's DRAM access, -1 if it has none."""

    granule_rows: int
    granule: Numbers
    command: Numbers
    write: npt.NDArray[np.bool_]
    tensor: Numbers

    @property
    def fresh(self) -> npt.NDArray[np.bool_]:
        """Where another granule begins."""
        return np.append(True, self.granule[1:] != self.granule[:-1])


def live_over_time(recording: Recording, window: int, windows: int) -> dict[str, tuple[int, ...]]:
    """Of each local memory the most rows live in each window."""
    return {
        memory.name: tuple(_live(recording, uses, window, windows).tolist()) if uses is not None else (0,) * windows
        for memory, uses in _uses_by_memory(recording)
    }


def operands(recording: Recording) -> tuple[Operand, ...]:
    """Traffic and reuse of each tensor."""
    accesses = recording.accesses
    count = max(len(recording.tensors), int(accesses.tensor.max(initial=-1)) + 1)  # arrays of the kernel's own as well
    local_uses, moved = np.zeros(count), np.zeros(count)
    for _, uses in _uses_by_memory(recording):
        if uses is not None:
            _add_uses(uses, local_uses, moved)
    operands_of_commands = []
    for number, name in enumerate(recording.tensors):
        tensor = next(t for t in recording.workload.tensors if t.name == name)
        mine = accesses.tensor == number
        read = int(accesses.bytes[mine & (accesses.write == 0)].sum())
        written = int(accesses.bytes[mine & (accesses.write != 0)].sum())
        reuse = float(local_uses[number] / moved[number]) if moved[number] else 0.0
        operands_of_commands.append(Operand(name, tensor.bytes, read, written, reuse))
    return tuple(operands_of_commands)


def live_rows(recording: Recording) -> Iterator[tuple[Memory, Numbers, Numbers]]:
    """Of each local memory that is used: times in cycles, and the rows live from each of them on."""
    for memory, uses in _uses_by_memory(recording):
        if uses is not None:
            times, level = _levels(recording, uses)
            last = np.append(times[1:] != times[:-1], True)[: len(times)]  # none where no row is read
            yield memory, times[last], level[last]


def _uses_by_memory(recording: Recording) -> Iterator[tuple[Memory, _Uses | None]]:
    accesses = recording.accesses
    tensor = np.full(len(recording.commands.line), -1, np.int64)
    in_dram = accesses.tensor >= 0
    tensor[accesses.command[in_dram]] = accesses.tensor[in_dram]
    for number, memory in enumerate(recording.accelerator.memories):
        if memory.kind != "local" or memory.shown:
            continue
        mine = np.flatnonzero(accesses.memory == number)
        yield memory, _granules(recording, mine, tensor) if len(mine) else None


def _granules(recording: Recording, mine: Numbers, tensor: Numbers) -> _Uses:
    """Granules are as large as all accesses allow: every one covers whole granules."""
    accesses = recording.accesses
    first, last = accesses.first[mine], accesses.last[mine]
    rows = int(np.gcd.reduce(np.concatenate([first, last]))) or 1
    counts = (last - first) // rows
    place = np.repeat(np.arange(len(mine)), counts)
    within = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
    granule = first[place] // rows + within
    command, write = accesses.command[mine][place], accesses.write[mine][place] != 0
    order = np.lexsort((write, command, granule))  # a command reads before it writes
    return _Uses(rows, granule[order], command[order], write[order], tensor[command[order]])


def _levels(recording: Recording, uses: _Uses) -> tuple[Numbers, Numbers]:
    """Times at which rows begin or cease to live, and the number of live rows after each; of equal times the last one
    counts."""
    opens = np.flatnonzero(uses.fresh | uses.write)
    starts = recording.commands.started[uses.command[opens]]
    ends = np.where(uses.write, 0, recording.commands.completed[uses.command])
    ends = np.maximum.reduceat(ends, opens)
    same_row = ~uses.fresh[opens[1:]]  # a row that is overwritten while it is read, as a sum is, lives once
    ends[:-1] = np.where(same_row, np.minimum(ends[:-1], starts[1:]), ends[:-1])
    alive = uses.write[opens] & (ends > starts)
    times = np.concatenate([starts[alive], ends[alive]])
    change = np.concatenate([np.ones(alive.sum(), np.int64), -np.ones(alive.sum(), np.int64)]) * uses.granule_rows
    order = np.lexsort((change, times))  # what ends makes room for what begins in the same cycle
    return times[order], np.cumsum(change[order])


def _live(recording: Recording, uses: _Uses, window: int, windows: int) -> Numbers:
    """Most rows live in each window."""
    times, level = _levels(recording, uses)
    most = np.zeros(windows, np.int64)
    np.maximum.at(most, np.minimum(times // window, windows - 1), level)
    carried = np.searchsorted(times, np.arange(windows) * window, side="right") - 1
    before = np.where(carried >= 0, level[np.maximum(carried, 0)] if len(level) else 0, 0)
    live: Numbers = np.maximum(most, before)
    return live


def _add_uses(uses: _Uses, local_uses: npt.NDArray[np.float64], moved: npt.NDArray[np.float64]) -> None:
    """Reads of what was moved in count for its tensor, and writes of what is then moved out for that."""
    begins = np.flatnonzero(uses.fresh | uses.write)
    group = np.cumsum(uses.fresh | uses.write) - 1
    owner = np.where(uses.write[begins], uses.tensor[begins], -1)
    read = ~uses.write & (uses.tensor < 0) & (owner[group] >= 0)
    np.add.at(local_uses, owner[group][read], 1)
    loaded = uses.write & (uses.tensor >= 0)
    np.add.at(moved, uses.tensor[loaded], 1)
    stored = np.flatnonzero(~uses.write & (uses.tensor >= 0))
    np.add.at(moved, uses.tensor[stored], 1)
    writes = np.cumsum(uses.write & (uses.tensor < 0))
    row_start = np.maximum.accumulate(np.where(uses.fresh, np.arange(len(uses.fresh)), 0))
    before_row = np.where(row_start > 0, writes[np.maximum(row_start - 1, 0)], 0)[stored]
    before_store = np.concatenate(([0], writes[stored][:-1])) if len(stored) else before_row
    np.add.at(local_uses, uses.tensor[stored], writes[stored] - np.maximum(before_row, before_store))
