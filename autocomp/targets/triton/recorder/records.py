"""Reading what marks left in memory, and replaying it: which phase every warp was in, and for how long.

The layout is that of Triton's profiler Proton (3.6). For each block there are a magic number, its number, its
multiprocessor and the size of its buffer, and three times in nanoseconds. Then come one count of words for each warp,
and an equal part of the buffer for each warp. A record has two words: a flag of the end, 8 bits of the mark, 11 + 32
bits of the clock. Buffers are circular: they keep the last records.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from autocomp.targets.triton.recorder.marks import Mark

MAGIC = 0xDEADBEEF
HEADER = struct.Struct("<4I3Q")
RECORD = struct.Struct("<2I")
CLOCK_BITS = 43
SCOPE_SHIFT, SCOPE_BITS = 23, 8
FAR_APART = 5_000  # nanoseconds between two begins that tell the clock


@dataclass(frozen=True)
class Warp:
    """The records of one warp in the order of their making, (scope, end, clock) each; `lost` were overwritten."""

    records: tuple[tuple[int, bool, int], ...]
    lost: int


@dataclass(frozen=True)
class Block:
    """One block: its multiprocessor, and the nanoseconds between its begin and its last instruction."""

    number: int
    processor: int
    begun: int
    ended: int
    warps: tuple[Warp, ...]


@dataclass
class Stay:
    """The stays of warps in the phase of a mark: cycles of each visit."""

    mark: Mark
    cycles: list[int] = field(default_factory=list)


def blocks_of(data: bytes, size: int, warps: int) -> Iterator[Block]:
    """The blocks of a buffer, `size` bytes each. Other data, such as the room of blocks that did not run, is left
    out."""
    for start in range(0, len(data) - size + 1, size):
        block = _block(data[start : start + size], warps)
        if block is not None:
            yield block


def _block(data: bytes, warps: int) -> Block | None:
    magic, number, processor, size, begun, ended, _ = HEADER.unpack_from(data)
    first = HEADER.size + 4 * warps
    if magic != MAGIC or first + size > len(data) or size % (RECORD.size * warps):
        return None
    counts = struct.unpack_from(f"<{warps}I", data, HEADER.size)
    part = size // warps
    records = [_warp(data[first + w * part : first + (w + 1) * part], count) for w, count in enumerate(counts)]
    return Block(number, processor, begun, ended, tuple(records))


def _warp(data: bytes, words: int) -> Warp:
    made, room = words // 2, len(data) // RECORD.size
    kept = [RECORD.unpack_from(data, RECORD.size * i) for i in range(min(made, room))]
    turn = made % room if made > room else 0  # where the oldest record is
    decoded = [_decoded(tag, low) for tag, low in (*kept[turn:], *kept[:turn])]
    return Warp(tuple(decoded), made - len(kept))


def _decoded(tag: int, low: int) -> tuple[int, bool, int]:
    scope = (tag >> SCOPE_SHIFT) & ((1 << SCOPE_BITS) - 1)
    return scope, bool(tag >> 31), ((tag & 0x7FF) << 32) | low


def stays(blocks: Sequence[Block], marks: Sequence[Mark], scopes: Mapping[int, int], cost: float) -> list[Stay]:
    """The time in the phase of each mark, without the `cost` in cycles of making a record. `scopes` gives the number of
    the mark at which a scope starts. Records that do not follow each other in a body, as where some were lost or a body
    ends, give no stay."""
    stay_of = {mark.number: Stay(mark) for mark in marks if mark.kind}
    following = {mark.number: mark.number + 1 for mark in marks}
    for block in blocks:
        for warp in block.warps:
            trail = [(scopes[s] + end, clock) for s, end, clock in warp.records if s in scopes]
            for (number, before), (next_, after) in pairwise(trail):
                if next_ == following.get(number) and number in stay_of:
                    cycles = (after - before) % (1 << CLOCK_BITS)
                    stay_of[number].cycles.append(max(0, round(cycles - cost)))
    return [stay for _, stay in sorted(stay_of.items()) if stay.cycles]


def rounds(blocks: Sequence[Block], marks: Sequence[Mark], scopes: Mapping[int, int]) -> dict[int, list[int]]:
    """Cycles between two visits of the first mark of each loop, costs of records included."""
    firsts = {mark.number: mark.loop for mark in reversed(marks) if mark.kind and mark.loop >= 0}
    first_of = {loop: min(n for n, of in firsts.items() if of == loop) for loop in set(firsts.values())}
    starts: dict[int, list[int]] = {loop: [] for loop in first_of}
    for block in blocks:
        for warp in block.warps:
            for loop, first in first_of.items():
                visits = [clock for s, end, clock in warp.records if scopes.get(s, -2) + end == first]
                starts[loop] += [b - a for a, b in pairwise(visits) if b > a]
    return starts


def typical(cycles: Sequence[int]) -> float:
    """The median: a warp that was switched off, or a clock that wrapped, must not count."""
    return float(median(cycles)) if cycles else 0.0


def clock_of(blocks: Sequence[Block]) -> float:
    """Cycles a nanosecond while the blocks ran, from blocks that followed one another on a multiprocessor: the time
    between their begins by both clocks. 0.0 where no two are far enough apart."""
    begins: dict[int, list[tuple[int, int]]] = {}
    for block in blocks:
        first = min((warp.records[0][2] for warp in block.warps if warp.records and not warp.lost), default=None)
        if first is not None:
            begins.setdefault(block.processor, []).append((block.begun, first))
    ratios = []
    for moments in begins.values():
        for (earlier, before), (later, after) in pairwise(sorted(moments)):
            if later - earlier >= FAR_APART and after > before:
                ratios.append((after - before) / (later - earlier))
    return float(median(ratios)) if ratios else 0.0
