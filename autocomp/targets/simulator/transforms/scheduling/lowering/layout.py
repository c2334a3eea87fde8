"""Where the tiles of operands and results lie in local memory: in banks of their own, as far as there are banks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.timing import memory_number
from autocomp.targets.simulator.transforms.errors import NotApplicable


@dataclass(frozen=True)
class Buffer:
    """Rows of one memory for `places` places of an operand, which are filled and used in turn. `filled` and `used`: the
    rows that moves, and products, access in a whole run; 0 where that is not known. `beside`: moves and
    products access a place at the same time. `summed`: moves and products both add to it."""

    memory: str
    rows: int  # of a place
    places: int
    filled: float = 0.0
    used: float = 0.0
    beside: bool = False
    summed: bool = False

    @property
    def halves(self) -> tuple[int, ...]:
        """Rows of the even places together, and of the odd ones: what is used and what is filled."""
        return tuple(self.rows * count for count in (-(-self.places // 2), self.places // 2) if count)


def placed(accelerator: m.Accelerator, buffers: Mapping[str, Buffer]) -> Mapping[str, tuple[int, ...]]:
    """The first rows of the even and of the odd places of each buffer. Raises NotApplicable where memory is too small.

    They lie in different banks where that is possible: the array reads its operands side by side, and moves go beside
    that to the places that are used next. Where there are too few banks, those share one that meet least often. One
    place that moves and products access side by side lies half in one bank and half in the next. Sums of both lie
    in one bank where banks share their adders.
    """
    return {name: starts for layout in _layouts(accelerator, buffers) for name, starts in layout.starts.items()}


def waiting(accelerator: m.Accelerator, buffers: Mapping[str, Buffer]) -> float:
    """Cycles in which the array waits for banks that others access, in a whole run. Raises NotApplicable where memory
    is too small."""
    return sum(layout.meetings for layout in _layouts(accelerator, buffers))


@dataclass(frozen=True)
class _Layout:
    """The first rows of the halves of each buffer of a memory, and how often two accesses of a bank meet in it."""

    starts: Mapping[str, tuple[int, ...]]
    meetings: float


def _layouts(accelerator: m.Accelerator, buffers: Mapping[str, Buffer]) -> Iterator[_Layout]:
    for memory in accelerator.local_memories:
        here = {name: buffer for name, buffer in buffers.items() if buffer.memory == memory.name}
        if here:
            yield _layout(memory, here)


def _layout(memory: m.Memory, buffers: Mapping[str, Buffer]) -> _Layout:
    panels = [_Panel(name, b, rows) for name, b in buffers.items() for rows in b.halves]
    if sum(panel.rows for panel in panels) > memory.rows:
        needed = ", ".join(f"{b.places} x {b.rows} rows of {name}" for name, b in buffers.items())
        raise NotApplicable(f"{memory.name} has {memory.rows} rows, too few for {needed}")
    best: list[int] | None = None
    least = (0.0, 0)
    bank = memory.rows // max(1, memory.banks)
    one_bank = memory.banks > 1 and memory_number(memory.settings, "shared_adders") > 0
    summed = [number for number, panel in enumerate(panels) if panel.buffer.summed and one_bank]
    if len(panels) == 1 and panels[0].buffer.beside and not summed:
        start = max(0, min(bank - panels[0].rows // 2, memory.rows - panels[0].rows))
        return _Layout({panels[0].name: (start,)}, 0.0)
    for order in _orders(range(len(panels))):
        for apart in (True, False):
            starts = _in_turn([panels[n].rows for n in order], bank if apart else 1, memory.rows)
            if starts is None:
                continue
            places = [0] * len(panels)
            for at, number in zip(starts, order, strict=True):
                places[number] = at
            if len({row // bank for n in summed for row in (places[n], places[n] + panels[n].rows - 1)}) > 1:
                continue
            cost = _meetings(panels, places, bank)
            if best is None or cost < least:
                best, least = places, cost
        if best is not None and least == (0.0, 0):
            break
    if best is None:
        where = " in one bank" if summed else ""
        raise NotApplicable(f"{memory.name} has no room for all panels{where}, one after the other")
    result: dict[str, list[int]] = {}
    for panel, start in zip(panels, best, strict=True):
        result.setdefault(panel.name, []).append(start)
    return _Layout({name: tuple(starts) for name, starts in result.items()}, least[0])


@dataclass(frozen=True)
class _Panel:
    """The even or the odd places of a buffer together."""

    name: str
    buffer: Buffer
    rows: int

    def in_banks(self, start: int, bank: int) -> Mapping[int, float]:
        """The part of the rows that is in each bank, from a first row on."""
        end = start + self.rows
        within = {
            n: min(end, (n + 1) * bank) - max(start, n * bank) for n in range(start // bank, (end - 1) // bank + 1)
        }
        return {number: rows / self.rows for number, rows in within.items()}


def _orders(numbers: Sequence[int]) -> Iterable[tuple[int, ...]]:
    return permutations(numbers) if len(numbers) <= 5 else [tuple(numbers)]


def _in_turn(rows: Sequence[int], alignment: int, most: int) -> list[int] | None:
    """Places one after the other, each at the next multiple of the alignment; None if they do not fit."""
    starts: list[int] = []
    top = 0
    for needed in rows:
        top = -(-top // alignment) * alignment
        starts.append(top)
        top += needed
    return starts if top <= most else None


def _meetings(panels: Sequence[_Panel], places: Sequence[int], bank: int) -> tuple[float, int]:
    """The number of times that two accesses meet in a bank, if each is spread evenly over the time; and of pairs of
    panels that share a bank."""
    parts = [panel.in_banks(place, bank) for panel, place in zip(panels, places, strict=True)]
    total = max(panel.buffer.used for panel in panels)
    meetings, pairs = 0.0, 0
    for a, b in combinations(range(len(panels)), 2):
        shared = sum(parts[a][number] * parts[b].get(number, 0.0) for number in parts[a])
        pairs += shared > 0
        one, other = panels[a].buffer, panels[b].buffer
        if panels[a].name == panels[b].name:
            meetings += shared * one.filled * one.used / (total or 1.0)
        else:
            both = (one.filled + one.used) * (other.filled + other.used)
            meetings += shared * both / (len(one.halves) * len(other.halves)) / (total or 1.0)
    return meetings, pairs
