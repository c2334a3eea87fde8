"""Images of results that stores pool: a place for each result, as if images were tensors.

An image has no tensor of its own. The results of each store lie in an image of their own, one image after another, as
several stores may need the same result, and each has it computed anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.computation import Tensor, Windows
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Column

Box = tuple[tuple[int, int], ...]  # the first index along each dimension, and the one after the last


@dataclass(frozen=True)
class PooledStores:
    """Stores of one form to one tensor: the byte that each begins at, and its first local row. `numbers` are those of
    the words that state windows, `apart` the bytes between lines, and between results of a line."""

    form: int
    commands: Column
    byte: Column
    row: Column
    numbers: Mapping[str, int]
    columns: int
    apart: tuple[int, ...]


@dataclass(frozen=True)
class Image:
    """The images of all stores to a tensor. `tensor` is theirs: [store][dimensions outside]...[line][row][column];
    `lines` is the dimension of the pooled tensor that lines go along."""

    pooled: Tensor
    lines: int
    stores: tuple[PooledStores, ...]

    @cached_property
    def windows(self) -> tuple[Windows, Windows]:
        """Along lines, and along the rows of a line. Raises NotApplicable where stores have windows of several kinds,
        or where what one takes for padding lies inside of the image of all."""
        return self._along(0, "lines", "above"), self._along(1, "line_rows", "before")

    @cached_property
    def tensor(self) -> Tensor:
        """The images, in elements of one byte."""
        ends = [self._ends(axis) for axis in (0, 1)]
        shape = (*self.pooled.shape[: self.lines], *(int(end.max()) for end in ends), self.pooled.shape[-1])
        return Tensor(self.pooled.name, (sum(len(part.commands) for part in self.stores), *shape), 1)

    @cached_property
    def boxes(self) -> tuple[Box, ...]:
        """The part of the images, without the first dimension, that each store pools."""
        first, end = self._firsts, [self._ends(axis) for axis in (0, 1)]
        columns = self._each(lambda part: part.columns)
        lows = [*self._indices[: self.lines], *first, self._indices[-1]]
        highs = [*(index + 1 for index in self._indices[: self.lines]), *end, self._indices[-1] + columns]
        ends = zip(np.stack(lows, axis=1).tolist(), np.stack(highs, axis=1).tolist(), strict=True)
        return tuple(tuple(zip(low, high, strict=True)) for low, high in ends)

    def rows(self, part: PooledStores) -> tuple[Column, Column]:
        """The local rows that each store of a part reads, and the byte of each in the images."""
        begin = sum(len(p.commands) for p in self.stores[: self.stores.index(part)])
        columns = part.numbers["image_columns"]
        pixel = np.arange(part.numbers["image_rows"] * columns)
        stride = self.tensor.strides
        boxes = np.array([[low for low, _ in box] for box in self.boxes])[begin : begin + len(part.commands)]
        first = boxes @ np.array(stride[1:]) + (begin + np.arange(len(boxes))) * stride[0]
        within = pixel // columns * stride[-3] + pixel % columns * stride[-2]
        return part.row[:, None] + pixel, first[:, None] + within

    # --- a column of all stores

    def _each(self, value: Callable[[PooledStores], int]) -> Column:
        return np.concatenate([np.full(len(part.commands), value(part)) for part in self.stores])

    def _word(self, word: str) -> Column:
        return self._each(lambda part: part.numbers[word])

    @cached_property
    def _indices(self) -> list[Column]:
        """The subscripts of the first result of each store."""
        left, columns = np.concatenate([part.byte for part in self.stores]), list[Column]()
        for stride in self.pooled.strides:
            index, left = np.divmod(left, stride)
            columns.append(index)
        return columns

    @cached_property
    def _firsts(self) -> list[Column]:
        """The first line, and row of a line, of each store's image."""
        return [np.maximum(0, self._begins(axis)) for axis in (0, 1)]

    def _begins(self, axis: int) -> Column:
        """The line, or row, that each store's first window begins with, in the padding or inside."""
        before = self._word(("above", "before")[axis])
        return self._indices[self.lines + axis] * self._only("window_step") - int(before.max())

    def _ends(self, axis: int) -> Column:
        return self._firsts[axis] + self._word(("image_rows", "image_columns")[axis])

    def _only(self, word: str) -> int:
        numbers = {part.numbers[word] for part in self.stores}
        if len(numbers) > 1:
            raise NotApplicable("results are pooled in different ways")
        return numbers.pop()

    def _along(self, axis: int, counted: str, padded: str) -> Windows:
        begin, end, before = self._begins(axis), self._ends(axis), self._word(padded)
        size, step = self._only("window"), self._only("window_step")
        last = begin + (self._word(counted) - 1) * step + size
        if (before != np.maximum(0, -begin)).any() or ((last > end) & (end < end.max())).any():
            raise NotApplicable("a store takes results for padding that others compute")
        return Windows(size, step, int(before.max()), self.pooled.shape[self.lines + axis])

    def check(self) -> None:
        """Raises NotApplicable unless each pooled result is stored once."""
        seen = np.zeros(self.pooled.shape, dtype=bool)
        counts = [self._word("lines"), self._word("line_rows"), self._each(lambda part: part.columns)]
        for number, first in enumerate(zip(*self._indices, strict=True)):
            sizes = (*(1 for _ in range(self.lines)), *(int(count[number]) for count in counts))
            box = tuple(slice(int(at), int(at) + size) for at, size in zip(first, sizes, strict=True))
            if seen[box].size != np.prod(sizes) or seen[box].any():
                raise NotApplicable("a pooled result is stored twice, or outside of its tensor")
            seen[box] = True
        if not seen.all():
            raise NotApplicable("not every pooled result is stored")


def images_of(tensors: Sequence[Tensor], stores: Mapping[int, Sequence[PooledStores]]) -> Iterator[Image]:
    """The images of all tensors of pooled results. Raises NotApplicable where stores are not those of one nest."""
    for number, parts in stores.items():
        tensor = tensors[number]
        lines = len(tensor.shape) - 3
        if lines < 0 or any(part.apart != tensor.strides[lines : lines + 2] for part in parts):
            raise NotApplicable(f"the last dimensions of {tensor.name!r} are not lines, rows and columns")
        image = Image(tensor, lines, tuple(parts))
        image.check()
        yield image
