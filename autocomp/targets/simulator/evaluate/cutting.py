"""The least time of moving a tensor's rows by blocks: each row of a command is cut into requests of its own.

A block is some neighbouring rows of a tensor, by the same neighbouring bytes of each. Where rows begin differently from
one another within the largest request, no choice of the bytes suits them all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from autocomp.targets.simulator.isa.derived.blocks import Block
from autocomp.targets.simulator.isa.requests import beats, requests

_TOGETHER = 16  # rows of a command that are looked at together
_MOST = 1 << 23  # costs of parts of rows that are looked at

Costs = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """`count` rows of `bytes` each, `stride` bytes apart. The first begins where a largest request may."""

    count: int
    bytes: int
    stride: int

    def touched(self, size: int) -> int:
        """Aligned parts of main memory of a size that the rows lie in, each row by itself."""
        starts = np.arange(self.count, dtype=np.int64) * self.stride
        return int(((starts + self.bytes - 1) // size - starts // size + 1).sum())


@dataclass(frozen=True)
class Requests:
    """The requests of a way to or from main memory. They have `smallest` to `largest` bytes and take a beat for each
    `beat` bytes, of which `ways` pass at a time. At most `open` are under way, each for `waiting` cycles besides its
    beats. At most `commands` are in flight, each for `completing` cycles besides all beats but the first."""

    smallest: int
    largest: int
    beat: int
    ways: int
    open: int
    waiting: int
    commands: int
    completing: int

    def one(self, share: float) -> float:
        """The cycles of a command of one beat, which others do not share."""
        return share * (self.waiting + 1) + (1 - share) * self.completing

    def cost(self, number: float, beats: float, share: float) -> float:
        """Cycles of requests with their beats: a `share` of what those under way set, the rest of what commands in
        flight set."""
        return share * (self.waiting * number + beats) / self.open + (1 - share) * beats / self.ways / self.commands

    def command(self, share: float) -> float:
        """Cycles of a command besides those of its requests."""
        return (1 - share) * max(0, self.completing - 1) / self.commands

    def least(self, rows: Rows, block: Block, share: float) -> float:
        """The least cycles of loading all rows, by blocks of at most this size.

        Commands in flight and requests under way are limits of their own, so that any mean of what the two set is a
        bound. The first alone would be met by one row a command, the second by blocks as large as can be.
        """
        alike = math.gcd(rows.stride, self.largest)
        starts = min(rows.count, self.largest // alike)
        together = int(min(block.rows, rows.count, _TOGETHER))
        longest = int(min(block.bytes, rows.bytes))
        parts = min(rows.bytes, self.largest) * starts * together * longest
        if share == 1 or longest == rows.bytes or parts > _MOST:
            number, beats = rows.touched(self.largest), rows.touched(self.beat)
            commands = math.ceil(rows.count / block.rows) * math.ceil(rows.bytes / block.bytes)
            return self.cost(number, beats, share) + commands * self.command(share)
        # More rows in a command than are looked at together share its time.
        command = self.command(share) / math.ceil(min(block.rows, rows.count) / together)
        groups = self._groups(rows, starts, together, longest, share, command)
        least = np.full(rows.count + together + 1, np.inf)
        least[0] = 0
        for row in range(rows.count):
            reached = least[row + 1 : row + 1 + together]
            np.minimum(reached, least[row] + groups[row % starts], out=reached)
        return float(least[rows.count])

    def least_of_bytes(self, amount: float, block: Block, share: float) -> float:
        """The least cycles of loading bytes that lie in any way."""
        commands = math.ceil(amount / (block.rows * block.bytes))
        return self.cost(amount / self.largest, amount / self.beat, share) + commands * self.command(share)

    def least_of_copies(self, rows: Rows, copies: int, block: Block, share: float) -> float:
        """The least cycles of loading one row into `copies` local rows, by commands that read it once for all of
        theirs. A command writes a local row a cycle."""
        times = math.ceil(copies / block.rows)
        parts = math.ceil(rows.bytes / block.bytes)
        number, beats = times * max(parts, rows.touched(self.largest)), times * rows.touched(self.beat)
        longer = (1 - share) * max(0.0, copies * parts - beats / self.ways) / self.commands
        return self.cost(number, beats, share) + longer + times * parts * self.command(share)

    def _groups(self, rows: Rows, starts: int, together: int, longest: int, share: float, command: float) -> Costs:
        """The least cost of each number of rows that follow one another, by where the first one begins."""
        part = self._parts(longest, share)
        begins = rows.stride * (np.arange(starts)[:, None] + np.arange(together)) % self.largest
        costs: dict[int, Costs] = {}
        least = np.full((rows.bytes + 1, starts, together), np.inf)
        least[0] = 0
        for at in range(rows.bytes):
            here = at % self.largest
            if here not in costs:
                costs[here] = part[:, (begins + here) % self.largest].cumsum(axis=2) + command
            most = min(longest, rows.bytes - at)
            reached = least[at + 1 : at + 1 + most]
            np.minimum(reached, least[at] + costs[here][:most], out=reached)
        groups: Costs = least[-1]
        return groups

    def _parts(self, longest: int, share: float) -> Costs:
        """The cost of a command's row by its bytes, from 1, and where it begins."""
        return np.array(
            [
                [self.cost(number, beats, share) for number, beats in self._cut(length)]
                for length in range(1, longest + 1)
            ]
        )

    def _cut(self, length: int) -> list[tuple[int, int]]:
        return [_cut(begin, length, self.smallest, self.largest, self.beat) for begin in range(self.largest)]


@cache
def _cut(begin: int, length: int, smallest: int, largest: int, beat: int) -> tuple[int, int]:
    """Requests of a command's row, and their beats."""
    sizes = requests(begin, length, smallest, largest)
    return len(sizes), beats(sizes, beat)
