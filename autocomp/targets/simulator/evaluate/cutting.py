"""The least time of moving a tensor's rows by blocks: each row of a command is cut into requests of its own.

A block is some neighbouring rows of a tensor, by the same neighbouring bytes of each. Where rows begin differently from
one another within the largest request, no choice of the bytes suits them all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from autocomp.targets.simulator.isa.derived.blocks import Block
from autocomp.targets.simulator.isa.requests import beats, requests

_TOGETHER = 16  # rows of a command that are looked at together
_MOST = 1 << 23  # costs of parts of rows that are looked at

Costs = npt.NDArray[np.float64]
Amount = TypeVar("Amount", float, Costs)


@dataclass(frozen=True)
class Rows:
    """`count` rows of `bytes` each, `stride` bytes apart. The first begins where a largest request may."""

    count: int
    bytes: int
    stride: int

    def touching(self, size: int) -> Costs:
        """Aligned parts of main memory of a size that each row lies in."""
        starts = np.arange(self.count, dtype=np.int64) * self.stride
        return ((starts + self.bytes - 1) // size - starts // size + 1).astype(np.float64)

    def touched(self, size: int) -> int:
        """Aligned parts of main memory of a size that the rows lie in, each row by itself."""
        return int(self.touching(size).sum())


@dataclass(frozen=True)
class Share:
    """Weights of the limits, together 1: requests under way, commands in flight, and cycles of the bus. `gaps` is the
    part of the first that also counts what is not under way while commands take turns."""

    requests: float
    commands: float
    bus: float
    gaps: float = 0.0


@dataclass(frozen=True)
class Requests:
    """The requests of a way to or from main memory. They have `smallest` to `largest` bytes and take a beat for each
    `beat` bytes, of which `ways` pass at a time. At most `open` are under way, each for `waiting` cycles besides its
    beats. At most `commands` are in flight, each for `completing` cycles besides all beats but the first.

    A unit that stores reads a local row a cycle, of `local` bytes in main memory. It sends no beat of a command's row
    before it has read all of it, and reads nothing of the next row before it has sent all of it but a beat.

    `paced`: all are of one unit and one channel, so that a request a cycle begins, and a beat a cycle comes.
    """

    smallest: int
    largest: int
    beat: int
    ways: int
    open: int
    waiting: int
    commands: int
    completing: int
    local: float = math.inf
    paced: bool = False

    def one(self, share: Share) -> float:
        """The cycles that the first of some moves has for itself, less those in which requests are too few at both
        ends: they begin and end one after the other.

        With gaps, those at both ends may be of the first command and of the last.
        """
        alone, between = self.waiting + 1 - self._missing(0), float(self.lost[1])
        return share.requests * alone + share.commands * self.completing + share.bus + share.gaps * 2 * between

    def _missing(self, others: int) -> float:
        """Requests that are not under way, over the most that are, while they begin one after the other, and while
        they end so, beside a number of others."""
        steps = range(1, (self.waiting + 1) // 2 + 1) if self.paced else ()
        return 2 * sum(max(0, self.open - others - step) for step in steps) / self.open

    @property
    def in_turns(self) -> bool:
        """True where two commands take turns, so that gaps are known."""
        return self.commands == 2 and self.paced

    @cached_property
    def lost(self) -> Costs:
        """Half the cycles that requests of others could have had around a command with a number of them, from 0.

        Of two commands in flight, one has to complete before a third begins. Between the last beat of the first and the
        first request of the third, those of the second alone are under way. Such times of every other command are
        apart from one another.
        """
        if not self.in_turns:
            return np.zeros(self.open + 1)
        idle = self.completing - self.waiting - 1
        cycles = [idle * (self.open - others) / self.open + self._missing(others) for others in range(self.open + 1)]
        return np.array(cycles) / 2

    def cost(self, number: Amount, beats: Amount, share: Share) -> Amount:
        """Cycles of requests with their beats: any mean of what the limits set is a bound."""
        under_way = (self.waiting * number + beats) / self.open
        return share.requests * under_way + (share.commands / self.commands + share.bus) * beats / self.ways

    def command(self, share: Share) -> float:
        """Cycles of a command besides those of its requests."""
        return share.commands * max(0, self.completing - 1) / self.commands

    def least(self, rows: Rows, block: Block, share: Share) -> float:
        """The least cycles of moving all rows, by blocks of at most this size.

        Each limit alone would be met by other blocks: commands in flight by one row a command, requests under way by
        blocks as large as can be.
        """
        starts, together, longest = self._sizes(rows, block, share)
        if (share.requests == 1 and not share.gaps) or self._many(rows, block, share):
            commands = math.ceil(rows.count / block.rows) * math.ceil(rows.bytes / block.bytes)
            return float(self._touched(rows, share).sum()) + commands * self.command(share)
        # More rows in a command than are looked at together share its time.
        command = self.command(share) / math.ceil(min(block.rows, rows.count) / together)
        gaps = share.gaps if together == min(block.rows, rows.count) else 0.0
        groups = self._groups(rows, starts, together, longest, share, command, gaps)
        least = np.full(rows.count + together + 1, np.inf)
        least[0] = 0
        for row in range(rows.count):
            reached = least[row + 1 : row + 1 + together]
            np.minimum(reached, least[row] + groups[row % starts], out=reached)
        return float(least[rows.count])

    def alone(self, rows: Rows, block: Block, share: Share) -> Costs:
        """The least cycles of each row, if no other needs the same blocks, without those of commands."""
        starts, _, longest = self._sizes(rows, block, share)
        if (share.requests == 1 and not share.gaps) or self._many(rows, block, share):
            return self._touched(rows, share)
        each: Costs = self._groups(rows, starts, 1, longest, share, 0.0, 0.0)[:, 0]
        return each[np.arange(rows.count) % starts]

    def fewest(self, rows: Amount, bytes_: int, block: Block, share: Share) -> Amount:
        """The least cycles of a number of rows that begin where it suits them."""
        number, beats = (rows * math.ceil(bytes_ / size) for size in (self.largest, self.beat))
        commands = -(-rows / block.rows // 1) * math.ceil(bytes_ / block.bytes)
        return self.cost(number, beats, share) + commands * self.command(share)

    def least_of_bytes(self, amount: Amount, block: Block, share: Share) -> Amount:
        """The least cycles of loading bytes that lie in any way."""
        commands = -(-amount / (block.rows * block.bytes) // 1)
        return self.cost(amount / self.largest, amount / self.beat, share) + commands * self.command(share)

    def least_of_copies(self, rows: Rows, copies: int, block: Block, share: Share) -> float:
        """The least cycles of loading one row into `copies` local rows, by commands that read it once for all of
        theirs. A command writes the copies of a row one after the other, the last ones after its last beat."""
        times = math.ceil(copies / block.rows)
        parts = math.ceil(rows.bytes / block.bytes)
        number, beats = times * max(parts, rows.touched(self.largest)), times * rows.touched(self.beat)
        longer = share.commands * (copies - times) * parts / self.commands
        more = share.requests * np.arange(self.open) * (self.waiting + 1) / self.open
        least = float((more + share.gaps * self.lost[1:]).min())
        return self.cost(number, beats, share) + longer + times * parts * (self.command(share) + least)

    def _sizes(self, rows: Rows, block: Block, share: Share) -> tuple[int, int, int]:
        """Places where rows begin within the largest request; rows of a command that are looked at together, and their
        bytes, at most. Where the bus alone counts, each row is cut as suits it, which takes less time to find."""
        alike = math.gcd(rows.stride, self.largest)
        together = 1 if share.bus == 1 else int(min(block.rows, rows.count, _TOGETHER))
        return min(rows.count, self.largest // alike), together, int(min(block.bytes, rows.bytes))

    def _many(self, rows: Rows, block: Block, share: Share) -> bool:
        """True where it would take long to look at all ways to cut."""
        return min(rows.bytes, self.largest) * math.prod(self._sizes(rows, block, share)) > _MOST

    def _touched(self, rows: Rows, share: Share) -> Costs:
        """Cycles of each row by the aligned parts that it lies in, however it is cut."""
        return self.cost(rows.touching(self.largest), rows.touching(self.beat), share)

    def _groups(
        self, rows: Rows, starts: int, together: int, longest: int, share: Share, command: float, gaps: float
    ) -> Costs:
        """The least cost of each number of rows that follow one another, by where the first one begins."""
        part, number = self._parts(longest, share)
        begins = rows.stride * (np.arange(starts)[:, None] + np.arange(together)) % self.largest
        costs: dict[int, Costs] = {}
        least = np.full((rows.bytes + 1, starts, together), np.inf)
        least[0] = 0
        for at in range(rows.bytes):
            here = at % self.largest
            if here not in costs:
                places = (begins + here) % self.largest
                costs[here] = part[:, places].cumsum(axis=2) + command
                if gaps:
                    costs[here] += gaps * self.lost[np.minimum(number[:, places].cumsum(axis=2), self.open).astype(int)]
            most = min(longest, rows.bytes - at)
            reached = least[at + 1 : at + 1 + most]
            np.minimum(reached, least[at] + costs[here][:most], out=reached)
        groups: Costs = least[-1]
        return groups

    def _parts(self, longest: int, share: Share) -> tuple[Costs, Costs]:
        """The cost of a command's row by its bytes, from 1, and where it begins; and its requests."""
        number, beats = (np.array([self._cut(length) for length in range(1, longest + 1)], np.float64)).transpose(
            2, 0, 1
        )
        reads = np.maximum(0, np.ceil(np.arange(1, longest + 1) / self.local) - 1)
        return self.cost(number, beats, share) + share.bus * reads[:, None] / self.ways, number

    def _cut(self, length: int) -> list[tuple[int, int]]:
        return [_cut(begin, length, self.smallest, self.largest, self.beat) for begin in range(self.largest)]


@cache
def _cut(begin: int, length: int, smallest: int, largest: int, beat: int) -> tuple[int, int]:
    """Requests of a command's row, and their beats."""
    sizes = requests(begin, length, smallest, largest)
    return len(sizes), beats(sizes, beat)
