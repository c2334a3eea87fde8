"""Sizes that are known at run time: blocks of fast kernels, and what is left.

A dimension can be cut into blocks if it is the outermost of every tensor that has it, and all results have it: rows of
a GEMM, images of a convolution. Blocks then are contiguous parts of the tensors, and need nothing of each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from autocomp.errors import ConfigError
from autocomp.export.any_size import AnySize, any_size_cycles, resized
from autocomp.export.schedule import Schedule
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.start.any_size import OPERATIONS

MULTIPLES = (1, 2, 4, 8)  # of the largest block, up to which costs are compared; of more, the same is assumed
ENOUGH = 200_000  # cycles, after which what begins a kernel no longer counts
MEASURED = 48  # sizes at most, for which the kernel of any size is measured
SPENT = 2_000_000  # cycles, after which no further size is measured
WORTH = 0.98  # of the cycles of the choice for one less: only then the choice is another
Cycles = npt.NDArray[np.float64]  # by what is left of a size


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
    """A fast kernel of `size`, called while at least `least` and less than `limit` is left. Where `least` is below its
    size it computes the last `size`, some of them once more."""

    schedule: Schedule
    size: int
    least: int
    limit: float = math.inf


@dataclass(frozen=True)
class Blocks:
    """Kernels that differ in the size of one `dimension`; of those that may be called, the first is. `steps` has the
    tensors that are cut, with their elements for one of it; all blocks share the others."""

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
        return min(block.size for block in self.blocks)

    def calls(self, size: int) -> Iterator[Call]:
        """The calls for a size of at least `least`, as the exported function makes them."""
        done = 0
        while done < size:
            left = size - done
            fits = (block for block in self.blocks if block.least <= left < block.limit and block.size <= size)
            block = next(fits, None)
            if block is None:
                yield Call(None, {**self.blocks[0].schedule.dims, self.dimension: left}, done, self.steps)
                return
            yield Call(block.schedule, block.schedule.dims, min(done, size - block.size), self.steps)
            done += block.size


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
    """The blocks that make the function faster, as the kernels' cycles tell.

    The kernel of any size is measured on the simulator: for 1 and multiples of the largest block, then where these
    leave open which choice is the faster one. Costs in between are on lines.
    """
    largest = whole.blocks[0].size
    if isinstance(fallback, str):
        return replace(whole, blocks=_choice(whole.blocks, np.append(0.0, np.full(2 * largest, math.inf)))[0])
    dims = whole.blocks[0].schedule.dims
    measured: dict[int, int] = {}
    size: int | None
    for size in (1, *(many * largest for many in MULTIPLES)):
        measured[size] = any_size_cycles(fallback, {**dims, whole.dimension: size}, accelerator)
        if size > largest and measured[size] > ENOUGH:
            break
    blocks, size = _refined(whole.blocks, measured)
    while size is not None and len(measured) < MEASURED and sum(measured.values()) < SPENT:
        measured[size] = any_size_cycles(fallback, {**dims, whole.dimension: size}, accelerator)
        blocks, size = _refined(whole.blocks, measured)
    return replace(whole, blocks=blocks)


def _refined(kernels: Sequence[Block], measured: Mapping[int, int]) -> tuple[tuple[Block, ...], int | None]:
    """The blocks as what is measured tells, and the size to measure next, if one could change them.

    It is a size whose choice is open, or what a block leaves of it: of all these the middle of those of which least is
    known.
    """
    sizes = np.array(sorted(measured))
    cycles = np.array([measured[size] for size in sizes.tolist()], float)
    every = np.arange(1, sizes[-1] + 1)
    lines = np.append(0.0, np.interp(every, sizes, cycles))
    below = np.append(0.0, cycles[np.searchsorted(sizes, every, "right") - 1])
    above = np.append(0.0, cycles[np.searchsorted(sizes, every)])
    least, most = _choice(kernels, below)[1], _choice(kernels, above)[1]
    doubtful: dict[tuple[float, float], set[int]] = {}
    for size in np.flatnonzero((least < above) & (below < most)).tolist():
        for left in (size, *(size - block.size for block in kernels if block.size < size)):
            doubtful.setdefault((above[left], below[left]), set()).add(left)
    ends = max(doubtful, key=lambda ends: ends[0] / ends[1], default=(1.0, 1.0))
    lefts = sorted(doubtful[ends]) if ends[0] > ends[1] else [None]
    return _choice(kernels, lines)[0], lefts[len(lefts) // 2]


def _choice(kernels: Sequence[Block], alone: Cycles) -> tuple[tuple[Block, ...], Cycles]:
    """When each kernel, largest first, is called, and the cycles if one of them is called first. `alone` has the cycles
    of the kernel of any size; both are by what is left of a size."""
    blocks: tuple[Block, ...] = ()
    best, by_blocks = alone, np.full(len(alone), math.inf)
    for block in reversed(kernels):
        first = _first(block, best)
        blocks = (*_placed(block, first, best), *blocks)
        best, by_blocks = np.minimum(best, first), np.minimum(by_blocks, first)
    return blocks, by_blocks


def _first(block: Block, without: Cycles) -> Cycles:
    """The cycles if the block is called first, then as often as pays; those `without` it are less for the rest."""
    calls = -(-len(without) // block.size)
    rest = np.append(without, np.full(calls * block.size - len(without), math.inf)).reshape(calls, block.size)
    spent = block.schedule.cycles * np.arange(1.0, calls + 1)[:, np.newaxis]  # by calls of the block for all of it
    saved = np.minimum(np.minimum.accumulate(rest - spent), 0)  # by the best number of calls of these
    together = np.append(np.zeros((1, block.size)), saved + spent, axis=0)
    first: Cycles = together[:-1].reshape(-1)[: len(without)] + block.schedule.cycles
    return first


def _placed(block: Block, first: Cycles, without: Cycles) -> Iterator[Block]:
    """The block for each range of what is left where calling it first takes fewer cycles than not to call it. Between
    the two limits of what is worth a change, it is as for one less."""
    taken, left_out = first < WORTH * without, WORTH * first >= without
    taken[0], left_out[0] = False, True
    lefts = np.arange(len(first))
    taken = taken[np.maximum.accumulate(np.where(taken | left_out, lefts, 0))]
    last = taken[-block.size :]
    taken = np.append(taken, 2 * np.count_nonzero(last) > len(last))  # for all that is larger
    kind = 2 * taken[1:] + (np.arange(1, len(taken)) < block.size)
    for run in np.split(np.arange(1, len(taken)), np.flatnonzero(np.diff(kind)) + 1):
        if taken[run[0]]:
            yield replace(block, least=int(run[0]), limit=int(run[-1]) + 1 if run[-1] < len(first) else math.inf)
