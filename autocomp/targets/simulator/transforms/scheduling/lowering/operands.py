"""The operands of commands that are taken as they are: numbers, addresses and pointers that differ by tile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autocomp.targets.simulator.isa import model as m

ROW = "row"  # in an expression: the first row of a tile
FIRST = ""  # instead of a dimension: the first product of each result
FRESH = "fresh"  # instead of a dimension: the first product with a tile that a queue brought


@dataclass(frozen=True)
class Varied:
    """A number that is `special` at the last tile of a dimension, or (FIRST, FRESH) at the first product of a result or
    with a tile."""

    dim: str
    special: int | float
    usual: int | float


@dataclass(frozen=True)
class Extent:
    """The elements of a tile along a dimension whose tiles may have other sizes, `each` for a coordinate. `dense`: in
    DRAM they follow one another. `short`: the elements that the last coordinate lacks; `less`: those that the last one
    of each tile lacks."""

    dim: str
    each: int = 1
    dense: bool = False
    short: int = 0
    less: int = 0


@dataclass(frozen=True)
class Rows:
    """The address of a tile's first row, in one of the buffers. `flags` is the address without its row. `shifts`: the
    rows that it goes on by for each step along some dimensions."""

    buffer: str
    flags: int
    space: m.AddressSpace
    shifts: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Element:
    """A pointer to the first element of a tile of left, right, result or what results start from (`start`)."""

    operand: str


@dataclass(frozen=True)
class Apart:
    """The rows from one line of a tile of the left operand to the next."""


@dataclass(frozen=True)
class Several:
    """The elements of the pieces that a move brings, `each` for one. `usual`: pieces that fill a request. `dense`: in
    DRAM they follow one another."""

    each: int
    usual: int
    dense: bool


@dataclass(frozen=True)
class Record:
    """The number of the record that a tile's first row in a buffer selects, each for `rows` rows."""

    buffer: str
    rows: int


Value = int | float | Varied | Extent | Rows | Element | Apart | Several | Record


@dataclass(frozen=True)
class Setting:
    """A configuring command in front of each one that needs it, with operands that may differ by tile."""

    instruction: m.Instruction
    operands: Mapping[str, Value]


def short_along(value: Value) -> str:
    """The dimension of whose last tile an operand says that it is short; empty where it says no such thing."""
    short = (isinstance(value, Varied) and value.dim not in (FIRST, FRESH)) or (
        isinstance(value, Extent) and value.short
    )
    return value.dim if short and isinstance(value, Varied | Extent) else ""
