"""Where the values that commands read come from: tiles of tensors, whatever rows of local memory they pass through.

A *result* is a tile of sums from the write that starts it to the stores that move it out. A product adds to a result.
Its factors were loaded, as they are, into the rows that it reads. With local memory seen through, what is left says
which elements of which tensors are multiplied and added into which elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autocomp.targets.simulator.isa.tree import Expression, element_bits
from autocomp.targets.simulator.transforms.scheduling.computation import Tensor
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Column, Commands
from autocomp.targets.simulator.transforms.scheduling.lifting.images import Image


@dataclass(frozen=True)
class Tiles:
    """Tiles of one tensor for as many commands: the byte of each one's first element, and the bytes from one row to the
    next (0 where there is one row). `rows` and `columns` are the axes along these; `form` is one of the moves."""

    tensor: int
    byte: Column
    apart: Column
    rows: str
    columns: str
    element: int  # bytes
    form: int


@dataclass(frozen=True)
class Products:
    """Products of one form: the commands that compute and that preload (-1: none), the tiles of both factors and of the
    result, and the extents of the axes."""

    form: int
    preload: int
    commands: Column
    preloads: Column
    left: Tiles
    right: Tiles
    result: Tiles
    axes: Mapping[str, int]
    row: str
    column: str
    depth: str
    adds: bool


@dataclass(frozen=True)
class Added:
    """Tiles that moves add to results, or start them with (`starts`); without a source: zeros."""

    form: int
    commands: Column
    source: Tiles | None
    result: Tiles
    rows: int
    columns: int
    starts: bool
    function: Expression | None


@dataclass(frozen=True)
class Stored:
    """Tiles of results that one form of store moves out, and what it does to elements."""

    form: int
    commands: Column
    result: Tiles
    rows: int
    columns: int
    function: Expression | None


@dataclass(frozen=True)
class Flow:
    """The computation of a run of commands. `images` are those of pooled results, by numbers after those of tensors,
    which tiles have as theirs."""

    commands: Commands
    products: tuple[Products, ...]
    added: tuple[Added, ...]
    stored: tuple[Stored, ...]
    images: Mapping[int, Image]


def tensors_of(commands: Commands) -> tuple[Tensor, ...]:
    """The tensors of a run of commands, by their numbers."""
    return tuple(Tensor(t.name, tuple(t.shape), element_bits(t.dtype) // 8) for t in commands.tensors)
