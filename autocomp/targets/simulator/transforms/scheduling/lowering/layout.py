"""Where the tiles of operands and results lie in local memory: in banks of their own, as far as there are banks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.transforms.errors import NotApplicable


@dataclass(frozen=True)
class Buffer:
    """Rows of one memory for `places` places of an operand, which are filled and used in turn."""

    memory: str
    rows: int  # of a place
    places: int

    @property
    def halves(self) -> tuple[int, ...]:
        """Rows of the even places together, and of the odd ones: what is used and what is filled."""
        return tuple(self.rows * count for count in (-(-self.places // 2), self.places // 2) if count)


def placed(accelerator: m.Accelerator, buffers: Mapping[str, Buffer]) -> Mapping[str, tuple[int, ...]]:
    """The first rows of the even and of the odd places of each buffer. Raises NotApplicable where memory is too small.

    They lie in different banks where that is possible: the array reads its operands side by side, and moves go beside
    that to the places that are used next.
    """
    places: dict[str, tuple[int, ...]] = {}
    for memory in accelerator.local_memories:
        here = {name: buffer for name, buffer in buffers.items() if buffer.memory == memory.name}
        if here:
            places.update(_placed(memory, here))
    return places


def _placed(memory: m.Memory, buffers: Mapping[str, Buffer]) -> Mapping[str, tuple[int, ...]]:
    panels = [(name, half, rows) for name, b in buffers.items() for half, rows in enumerate(b.halves)]
    if sum(rows for _, _, rows in panels) > memory.rows:
        needed = ", ".join(f"{b.places} x {b.rows} rows of {name}" for name, b in buffers.items())
        raise NotApplicable(f"{memory.name} has {memory.rows} rows, too few for {needed}")
    best: list[int] | None = None
    cost = -1
    bank = memory.rows // max(1, memory.banks)
    for order in _orders(range(len(panels))):
        for apart in (True, False):
            starts = _in_turn([panels[n][2] for n in order], bank if apart else 1, memory.rows)
            if starts is None:
                continue
            places = [0] * len(panels)
            for at, number in zip(starts, order, strict=True):
                places[number] = at
            conflicts = _conflicts(panels, places, bank)
            if best is None or conflicts < cost:
                best, cost = places, conflicts
        if cost == 0:
            break
    if best is None:
        raise NotApplicable(f"{memory.name} has no room for all panels, one after the other")
    result: dict[str, list[int]] = {}
    for (name, _, _), start in zip(panels, best, strict=True):
        result.setdefault(name, []).append(start)
    return {name: tuple(starts) for name, starts in result.items()}


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


def _conflicts(panels: Sequence[tuple[str, int, int]], places: Sequence[int], bank: int) -> int:
    """The number of pairs of panels that share a bank."""
    banks = [set(range(p // bank, (p + rows - 1) // bank + 1)) for p, (_, _, rows) in zip(places, panels, strict=True)]
    return sum(bool(banks[a] & banks[b]) for a in range(len(banks)) for b in range(a))
