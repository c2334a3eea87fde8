"""The roles of commands in a contraction of whole tiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

import numpy as np

from autocomp.targets.simulator.transforms.scheduling.computation import Contraction
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Column
from autocomp.targets.simulator.transforms.scheduling.lifting.touches import Touch, Touches


class Rest(Enum):
    """The part of a whole tile that the load of a short one leaves as it was: none, rows, or columns too."""

    NONE = auto()
    ROWS = auto()
    ALL = auto()


@dataclass(frozen=True)
class Role:
    """The commands that do the same for each of some tiles. An entry of `parts` has those of one tile, filled up with
    -1: there may be one for each of its rows. `rows` are the local rows that operands name, by what lies there."""

    parts: Column
    rows: Mapping[str, tuple[Touch, Column]]  # buffer -> touch, number of the access as in `parts`

    @property
    def commands(self) -> Column:
        """The first command of each entry."""
        return np.asarray(self.parts[:, 0], dtype=np.int64)


@dataclass(frozen=True)
class Whole:
    """A contraction of tiles, and the commands that carry it out. Entries of `loads`, `brings` and `product` are
    products, and `of_products` holds their coordinates by dimension; entries of the others are results, with
    `of_results`. Where loads fill another memory, `brings` move tiles on to where products read them. `rests`: what
    the loads of an operand's short tiles leave as it was, and what follows reads. `halves`: the dimensions whose last
    tile is two of half the size. `firsts`: the products that start results, where an instruction of its own does.
    `extra`: the loads of what starts, products or `finish` read besides, such as biases in a memory of their own."""

    computation: Contraction
    loads: Mapping[str, Role]
    brings: Mapping[str, tuple[Role, ...]]
    start: Role | None
    product: Role
    finish: tuple[Role, ...]
    store: Role
    of_products: Mapping[str, Column]
    of_results: Mapping[str, Column]
    touches: Touches
    rests: Mapping[str, Rest]
    halves: frozenset[str]
    firsts: Column | None
    extra: Role | None
