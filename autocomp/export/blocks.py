"""Sizes that are known at run time: blocks of fast kernels, and what is left.

A dimension can be cut into blocks if it is the outermost of every tensor that has it, and all results have it: rows of
a GEMM, images of a convolution. Blocks then are contiguous parts of the tensors, and need nothing of each other.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from autocomp.errors import ConfigError
from autocomp.export.any_size import AnySize, any_size_cycles, resized
from autocomp.export.schedule import Schedule
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.start.any_size import OPERATIONS

Cost = Callable[[int], float]  # cycles by size
MOST_BLOCKS = 64  # for which costs are compared; of more, the same is assumed
MULTIPLES = (2, 4, 8)  # of the largest block, for which the kernel of any size is measured
ENOUGH = 200_000  # cycles, after which what begins a kernel no longer counts
SAMPLES = 32  # of the sizes between two counts of blocks


@dataclass(frozen=True)
class Call:
    """A kernel for the sizes `dims`; without a schedule it is that of any size. Of the tensors in `cut` it gets those
    rows of the outermost axis that begin at `first`."""

    schedule: Schedule | None
    dims: Mapping[str, int]
    first: int = 0
    cut: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Block:
    """A fast kernel of `size`, used while at least `size` and less than `limit` is left. Of a remainder of at least
    `last_from` it computes the last `size`, some of them once more."""

    schedule: Schedule
    size: int
    last_from: int
    limit: float = math.inf


@dataclass(frozen=True)
class Blocks:
    """Kernels, largest first, that differ in the size of one `dimension`. `steps` has the tensors that are cut, with
    their elements for one of it; all blocks share the others."""

    dimension: str
    steps: Mapping[str, int]
    blocks: tuple[Block, ...]

    @property
    def others(self) -> dict[str, int]:
        """The sizes that all kernels have."""
        dims = self.blocks[0].schedule.dims
        return {name: size for name, size in dims.items() if name != self.dimension}

    @property
    def least(self) -> int:
        return self.blocks[-1].size

    def calls(self, size: int) -> Iterator[Call]:
        """The calls for a size of at least `least`, as the exported function makes them."""
        done = 0
        for block in self.blocks:
            while block.size <= size - done < block.limit:
                yield Call(block.schedule, block.schedule.dims, done, self.steps)
                done += block.size
            if block.last_from <= size - done < block.size <= size:
                yield Call(block.schedule, block.schedule.dims, size - block.size, self.steps)
                return
        if done < size:
            yield Call(None, {**self.blocks[0].schedule.dims, self.dimension: size - done}, done, self.steps)


def cuts(group: Sequence[Schedule], accelerator: Accelerator) -> Iterator[tuple[Blocks, ...]]:
    """For each dimension of a family that can be cut, all its kernels as blocks, those with the same other sizes
    together, without limits."""
    first = group[0]
    if first.operation not in OPERATIONS or first.options.get("layout"):
        return
    for dimension in first.dims:
        steps = _steps(first, dimension, accelerator)
        if not steps:
            continue
        alike: dict[frozenset[tuple[str, int]], list[Schedule]] = {}
        for schedule in group:
            others = frozenset((name, size) for name, size in schedule.dims.items() if name != dimension)
            alike.setdefault(others, []).append(schedule)
        yield tuple(_whole(dimension, steps, members) for members in alike.values())


def _steps(schedule: Schedule, dimension: str, accelerator: Accelerator) -> tuple[str, ...]:
    """The tensors of which a block of the dimension is a contiguous part; none where it cannot be cut."""
    twice = {**schedule.dims, dimension: 2 * schedule.dims[dimension]}
    try:
        grown = resized(schedule, accelerator, twice).tensors
    except ConfigError:
        return ()
    pairs = list(zip(schedule.tensors, grown, strict=True))
    cut = [t.name for t, larger in pairs if larger.shape == (2 * t.shape[0], *t.shape[1:])]
    whole = [t.name for t, larger in pairs if larger.shape == t.shape and t.role == "input"]
    return tuple(cut) if len(cut) + len(whole) == len(pairs) else ()


def _whole(dimension: str, names: Sequence[str], schedules: Sequence[Schedule]) -> Blocks:
    largest_first = sorted(schedules, key=lambda schedule: -schedule.dims[dimension])
    blocks = tuple(Block(s, s.dims[dimension], s.dims[dimension]) for s in largest_first)
    steps = {t.name: math.prod(t.shape[1:]) for t in schedules[0].tensors if t.name in names}
    return Blocks(dimension, steps, blocks)


def worth(whole: Blocks, fallback: AnySize | str, accelerator: Accelerator) -> Blocks:
    """The blocks that make the function faster, as the kernels' cycles tell."""
    alone = _alone(whole, fallback, accelerator)
    kept: tuple[Block, ...] = ()
    for block in reversed(whole.blocks):
        cheaper = [
            left for left in range(1, block.size) if _cost(left, kept, alone, block.size) <= block.schedule.cycles
        ]
        placed = replace(block, last_from=cheaper[-1] + 1 if cheaper else 1)
        limit = _limit(placed, kept, alone)
        if limit > block.size:
            kept = (replace(placed, limit=limit), *kept)
    return replace(whole, blocks=kept)


def _limit(block: Block, smaller: Sequence[Block], alone: Cost) -> float:
    """The size from which on blocks of this kind are on average slower than what there is without them."""
    for count in range(1, MOST_BLOCKS + 1):
        begin = count * block.size
        sizes = range(begin, begin + block.size, -(-block.size // SAMPLES))
        used, unused = (sum(_cost(n, some, alone, n) for n in sizes) for some in ([block, *smaller], smaller))
        if used >= unused:
            return begin
    return math.inf


def _cost(left: int, blocks: Sequence[Block], alone: Cost, size: int) -> float:
    """Cycles of `Blocks.calls` for what is left of a size."""
    cycles = 0
    for block in blocks:
        if block.size <= left < block.limit:
            cycles += left // block.size * block.schedule.cycles
            left %= block.size
        if block.last_from <= left < block.size <= size:
            return cycles + block.schedule.cycles
    return cycles + (alone(left) if left else 0)


def _alone(whole: Blocks, fallback: AnySize | str, accelerator: Accelerator) -> Cost:
    """The cycles of the kernel of any size: measured on the simulator for 1, the blocks' sizes and multiples of the
    largest, and on the lines between these."""
    if isinstance(fallback, str):
        return lambda _: math.inf
    dims, largest = whole.blocks[0].schedule.dims, whole.blocks[0].size
    measured: list[tuple[int, int]] = []
    for size in sorted({1, *(block.size for block in whole.blocks), *(largest * many for many in MULTIPLES)}):
        measured.append((size, any_size_cycles(fallback, {**dims, whole.dimension: size}, accelerator)))
        if size > largest and measured[-1][1] > ENOUGH:
            break

    def cost(size: int) -> float:
        above = min(max(bisect(measured, (size, 0)), 1), len(measured) - 1)
        (one, less), (other, more) = measured[above - 1 : above + 1]
        return less + (size - one) * (more - less) / (other - one)

    return cost
