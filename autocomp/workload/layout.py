"""The layout of a tensor in memory: its stored axes as quotients and remainders of the operation's dimensions.

`K/4 J K%4` stores a matrix of K rows and J columns with four rows interleaved; `J/16 K/16 J%16 K%16` as blocks of
16 x 16. A plain matrix is `K J`, a transposed one `J K`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.errors import ConfigError

Array = npt.NDArray[Any]
# The operands that may have a layout: of a gemm A and B, of a convolution its images and filters.
OPERANDS: Mapping[str, str] = {"A": "IK", "B": "KJ", "inp": "NHWC", "weights": "RSCK"}
_AXIS = re.compile(r"([A-Za-z_]\w*)((?:[/%]\d+)*)")


@dataclass(frozen=True)
class Axis:
    """A stored axis: a dimension, divided (`/`) or reduced (`%`) by numbers, one after the other."""

    dimension: str
    steps: tuple[tuple[str, int], ...] = ()

    def extent(self, size: int) -> int:
        """Entries of the axis for a dimension of this size; the last may be filled in part."""
        for symbol, number in self.steps:
            size = -(-size // number) if symbol == "/" else min(size, number)
        return size

    def index(self, position: Any) -> Any:
        """The entry of the axis for a position, a number or an array."""
        for symbol, number in self.steps:
            position = position // number if symbol == "/" else position % number
        return position

    def text(self, position: str, multiple: int = 1) -> str:
        """The entry as an expression of C, for a position that is a multiple of a number."""
        for symbol, number in self.steps:
            if multiple % number == 0 and symbol == "%":
                return "0"
            multiple = multiple // number if multiple % number == 0 else 1
            position = f"({position}) {symbol} {number}" if " " in position else f"{position} {symbol} {number}"
        return position

    def __str__(self) -> str:
        return self.dimension + "".join(f"{symbol}{number}" for symbol, number in self.steps)


@dataclass(frozen=True)
class Layout:
    """The stored axes of a tensor, and the dimensions of the tensor that it stores, by name and size."""

    axes: tuple[Axis, ...]
    dimensions: tuple[tuple[str, int], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the stored tensor."""
        sizes = dict(self.dimensions)
        return tuple(axis.extent(sizes[axis.dimension]) for axis in self.axes)

    @property
    def logical_shape(self) -> tuple[int, ...]:
        return tuple(size for _, size in self.dimensions)

    @property
    def filling(self) -> int:
        """Places that no element has."""
        return math.prod(self.shape) - math.prod(self.logical_shape)

    @property
    def plain(self) -> bool:
        """True if the tensor is stored in the order of its dimensions."""
        return self.axes == tuple(Axis(name) for name, _ in self.dimensions)

    @cached_property
    def _places(self) -> Array:
        """The stored place of every element, as an array of the tensor's shape."""
        grid = dict(zip((name for name, _ in self.dimensions), np.indices(self.logical_shape), strict=True))
        places = np.zeros(self.logical_shape, np.int64)
        for axis, extent in zip(self.axes, self.shape, strict=True):
            places = places * extent + axis.index(grid[axis.dimension])
        return places

    def check(self) -> None:
        """Raise ConfigError where two elements share a place."""
        places = self._places
        if np.bincount(places.reshape(-1)).max(initial=0) > 1:
            raise ConfigError(
                f"layout {str(self)!r} stores several elements in one place",
                hint="every dimension needs its quotient and its remainder by the same number, as in `K/4 J K%4`",
            )

    def store(self, values: Array) -> Array:
        """A tensor as it is stored; places that no element has hold 0."""
        if self.plain:
            return values
        stored = np.zeros(self.shape, values.dtype)
        stored.reshape(-1)[self._places] = values
        return stored

    def load(self, stored: Array) -> Array:
        """The tensor that is stored."""
        return stored if self.plain else stored.reshape(-1)[self._places]

    def subscripts(self, positions: Mapping[str, str], multiples: Mapping[str, int] | None = None) -> str:
        """Where the element at some positions, expressions of C by dimension, is stored: `[k / 4][j][k % 4]`. With
        `multiples`, what each position is a multiple of: `[k / 4][j][0]`."""
        known = multiples or {}
        texts = (axis.text(positions[axis.dimension], known.get(axis.dimension, 1)) for axis in self.axes)
        return "".join(f"[{text}]" for text in texts)

    def row_bytes(self, itemsize: int, dimensions: str = "") -> int:
        """Bytes from one entry of the first axis, or of the first axis of some dimensions, to the next."""
        names = [axis.dimension for axis in self.axes]
        first = next((n for n, name in enumerate(names) if name in dimensions), 0)
        return itemsize * math.prod(self.shape[first + 1 :])

    def swapped(self, dimensions: str) -> bool:
        """True if, of two dimensions, the one that usually comes last is stored as a whole before the other."""
        axes = tuple(axis for axis in self.axes if axis.dimension in dimensions)
        return axes == tuple(Axis(name) for name in reversed(dimensions))

    def step(self, dimension: str, by: int = 1, block: int | None = None) -> int | None:
        """Places from an element to the one that is `by` further along a dimension; with `block`, in the same block of
        that many. None where it differs from element to element, 0 where no element is followed by one."""
        axis = [name for name, _ in self.dimensions].index(dimension)
        places = np.moveaxis(self._places, axis, 0)
        starts = np.arange(max(0, len(places) - by))
        starts = starts if block is None else starts[starts % block + by < block]
        steps = places[starts + by] - places[starts]
        if not steps.size:
            return 0
        return int(steps.flat[0]) if np.all(steps == steps.flat[0]) else None

    def __str__(self) -> str:
        return " ".join(map(str, self.axes))


def parse_layout(text: str, dimensions: Mapping[str, int]) -> Layout:
    """The layout of a tensor with these dimensions. Raises ConfigError for text that is not one."""
    axes = parse_axes(text)
    unknown = [axis.dimension for axis in axes if axis.dimension not in dimensions]
    if unknown or {axis.dimension for axis in axes} != set(dimensions):
        raise ConfigError(
            f"layout {text!r} has the dimensions {', '.join(dict.fromkeys(a.dimension for a in axes))}; "
            f"expected {', '.join(dimensions)}",
            hint="as in `K/4 J K%4` for a matrix of K rows and J columns",
        )
    layout = Layout(axes, tuple(dimensions.items()))
    layout.check()
    return layout


def operand_layout(name: str, text: str, dims: Mapping[str, int]) -> Layout:
    """The layout of an operand with the dimensions of `OPERANDS`, of an operation with these sizes. Raises
    ConfigError."""
    return parse_layout(text, {dimension: dims[dimension] for dimension in OPERANDS[name]})


def operand_layouts(texts: Mapping[str, str], dims: Mapping[str, int], groups: int = 1) -> dict[str, Layout]:
    """The layouts of a workload's operands, by name; a group of filters sees `C / groups` channels. Raises
    ConfigError."""
    seen = {"weights": {**dims, "C": dims["C"] // groups}} if "C" in dims else {}
    return {name: operand_layout(name, text, seen.get(name, dims)) for name, text in texts.items()}


def parse_axes(text: str) -> tuple[Axis, ...]:
    """The axes that a text names. Raises ConfigError for anything else."""
    axes: list[Axis] = []
    for word in text.replace(",", " ").split():
        match = _AXIS.fullmatch(word)
        steps = re.findall(r"([/%])(\d+)", match[2]) if match else []
        if match is None or any(int(number) < 1 for _, number in steps):
            raise ConfigError(
                f"layout {text!r}: {word!r} is not an axis", hint="an axis is a dimension such as K, K/4 or K%4"
            )
        axes.append(Axis(match[1], tuple((symbol, int(number)) for symbol, number in steps)))
    if not axes:
        raise ConfigError("a layout names at least one axis", hint="as in `K/4 J K%4`")
    return tuple(axes)
