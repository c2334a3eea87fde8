"""The cells that a convolution is computed over, so that each tap is a product of shifted rows.

The input is copied with its channels as columns and its cells as rows. One cell has `phases` elements of an axis and
gives `results` of them. Lines end in zeros, which are the border of the next line too: a tap is a distance between
rows, and no condition is needed. Where a convolution is transposed with a stride, results of one axis that differ in
their taps are columns of one product (the last axis, so that stores are contiguous) or classes of programs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product

from autocomp.targets.triton.start.traced.windows import Reach

ALIGNED = 4  # float32 numbers to which rows are aligned, for copies of 16 bytes
JOINED = 32  # channels up to which groups are multiplied as one, with zeros between them
SHORT = 32  # cells of a line up to which it is not made longer, so that its cells are aligned
DEPTH = 32  # channels that one step multiplies
TILE = (128, 128)  # rows and columns of a tile, for estimates
MULTIPLY_S, COPY_S, MEMORY_S = 4e14, 1e13, 4e12  # operations, bytes into multiprocessors and memory, a second
FOLDS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Axis:
    """One axis of an image. `fold` neighbouring results are made in one cell, as columns of a product."""

    extent: int
    extent_of_results: int
    taps: int
    stride: int
    padding: int
    dilation: int
    transposed: bool
    fold: int = 1

    @property
    def results(self) -> int:
        """Results of one cell."""
        return self.stride * self.fold if self.transposed else self.fold

    @property
    def phases(self) -> int:
        """Elements of one cell."""
        return self.fold if self.transposed else self.stride * self.fold

    @property
    def cells(self) -> int:
        return -(-self.extent_of_results // self.results)

    @cached_property
    def offsets(self) -> tuple[tuple[int, ...], ...]:
        """For each result of a cell, the places of the elements that it reads, from the cell's first one."""
        if not self.transposed:
            return tuple(
                tuple(self.stride * result + tap * self.dilation - self.padding for tap in range(self.taps))
                for result in range(self.results)
            )
        reached = [[r + self.padding - tap * self.dilation for tap in range(self.taps)] for r in range(self.results)]
        return tuple(tuple(at // self.stride for at in one if at % self.stride == 0) for one in reached)

    @cached_property
    def all_offsets(self) -> range:
        """The places that any result of a cell reads."""
        return _range(sorted({offset for one in self.offsets for offset in one}), 0)

    @cached_property
    def step(self) -> int:
        """The distance of places that one result reads, the same for all results."""
        return (
            math.gcd(*(b - a for one in self.offsets for a, b in zip(sorted(one), sorted(one)[1:], strict=False))) or 1
        )

    @cached_property
    def of_result(self) -> tuple[range, ...]:
        """For each result of a cell, the places that it reads."""
        return tuple(_range(sorted(one), self.step) for one in self.offsets)

    @property
    def nearest(self) -> int:
        """The first cell that a result reads, from its own: at most 0."""
        return min(0, self.all_offsets[0] // self.phases)

    @property
    def farthest(self) -> int:
        return max(0, self.all_offsets[-1] // self.phases)

    @property
    def line(self) -> int:
        """The cells of a line: those that are read, and zeros before them, which the line in front has."""
        filled = min(-(-self.extent // self.phases), self.cells + self.farthest)
        cells = max(self.cells + self.farthest, filled - self.nearest)
        return cells if cells < SHORT else -(-cells // ALIGNED) * ALIGNED


def _range(places: list[int], step: int) -> range:
    """The arithmetic progression with all of some places."""
    if not places:
        return range(0)
    step = step or math.gcd(*(b - a for a, b in pairwise(places))) or 1
    return range(places[0], places[-1] + 1, step)


@dataclass(frozen=True)
class Grid:
    """The sizes of a convolution as a product: for each class of programs, taps of `width` columns each.

    With `runs`, a tap is a whole run of neighbouring cells with all their phases and channels, else one phase of one
    cell. Groups are those after some were joined; `channels` and `filters` are of one group.
    """

    images: int
    axes: tuple[Axis, ...]
    groups: int
    channels: int
    filters: int
    joined: int
    runs: bool

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """Rows from a cell to the next one along each axis."""
        return tuple(math.prod(axis.line for axis in self.axes[place + 1 :]) for place in range(len(self.axes)))

    @property
    def lines(self) -> tuple[int, ...]:
        return tuple(axis.line for axis in self.axes)

    @property
    def cells(self) -> int:
        return self.images * math.prod(self.lines)

    @property
    def front(self) -> int:
        """Rows of zeros in front of the first cell."""
        return sum(-axis.nearest * stride for axis, stride in zip(self.axes, self.strides, strict=True))

    @property
    def rows(self) -> int:
        return self.front + self.cells

    @property
    def phases(self) -> int:
        return math.prod(axis.phases for axis in self.axes)

    @property
    def depth(self) -> int:
        """Columns from one phase of a group to the next: its channels, filled up where a phase must be aligned."""
        if self.runs and self.phases * self.channels % ALIGNED == 0:
            return self.channels
        return -(-self.channels // ALIGNED) * ALIGNED

    @property
    def columns(self) -> int:
        """Columns of the copied input."""
        return self.phases * self.groups * self.depth

    @cached_property
    def classes(self) -> tuple[int, ...]:
        """Kinds of programs along each axis but the last one."""
        return tuple(axis.results for axis in self.axes[:-1])

    @property
    def kinds(self) -> int:
        return math.prod(self.classes)

    @cached_property
    def reads(self) -> tuple[tuple[range, ...], ...]:
        """For each axis and class, what its taps read: places of elements, or of cells where a tap is a run."""
        if self.runs:
            return tuple(
                (range(axis.all_offsets[0] // axis.phases, axis.all_offsets[-1] // axis.phases + 1),)
                for axis in self.axes
            )
        return (*(axis.of_result for axis in self.axes[:-1]), (self.axes[-1].all_offsets,))

    @property
    def counts(self) -> tuple[int, ...]:
        """The most taps along each axis. Runs go over the last one."""
        counts = [max(len(one) for one in reads) for reads in self.reads]
        return (*counts[:-1], 1) if self.runs else tuple(counts)

    @property
    def width(self) -> int:
        """Columns of the input that one tap multiplies."""
        return len(self.reads[-1][0]) * self.columns if self.runs else self.channels

    @property
    def stored_width(self) -> int:
        return self.width if self.runs else self.depth

    @property
    def padded(self) -> int:
        """Results of a cell along the last axis, as a power of two."""
        return 1 << (self.axes[-1].results - 1).bit_length()

    @property
    def products(self) -> int:
        """Columns of the product of one group."""
        return self.filters * self.padded

    @property
    def seconds(self) -> float:
        """An estimate of the time: copies of the operands, then operations or bytes into multiprocessors."""
        columns = max(16, 1 << (self.products - 1).bit_length())
        steps = -(-self.width // DEPTH)
        taps = sum(math.prod(map(len, chosen)) for chosen in product(*self.reads[:-1])) * self.counts[-1]
        tile = min(TILE[1], columns)
        tiles = -(-self.cells // TILE[0]) * -(-columns // tile) * self.groups
        rounds = tiles * taps * steps
        copied = self.rows * self.columns + taps * self.groups * self.products * self.width
        multiplying = rounds * 2 * TILE[0] * tile * DEPTH / MULTIPLY_S
        copied += (
            self.images * self.filters * self.groups * math.prod(axis.extent_of_results for axis in self.axes) // 2
        )
        return copied * 8 / MEMORY_S + max(multiplying, rounds * (TILE[0] + tile) * DEPTH * 4 / COPY_S)


def grid_of(reach: Reach, images: int, channels: int, extents: tuple[int, ...], results: tuple[int, ...]) -> Grid:
    """The grid that is estimated to be the fastest. `extents` are those of an image, `results` has the filters and
    the extents of a result."""
    counts = [count for count in range(1, reach.groups + 1) if reach.groups % count == 0]
    joined = max(count for count in counts if count == 1 or count * reach.depth <= JOINED)
    groups = reach.groups // joined
    grids = []
    for fold in FOLDS:
        axes = tuple(
            Axis(extents[at], results[at + 1], *each, reach.transposed, fold if at == len(extents) - 1 else 1)
            for at, each in enumerate(zip(reach.kernel, reach.stride, reach.padding, reach.dilation, strict=True))
        )
        for runs in (False, True):
            grid = Grid(images, axes, groups, channels // groups, results[0] // groups, joined, runs)
            if runs and (groups > 1 or math.prod(grid.classes) > 1):
                continue
            if fold == 1 or grid.products <= TILE[1]:
                grids.append(grid)
    return min(grids, key=lambda grid: grid.seconds)
