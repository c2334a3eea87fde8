"""The algebra of addresses, subscripts and counters: multiples of atoms, added up.

An atom is a C expression, a value in a register, or a part of a loop's variable.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from typing_extensions import Self

AtomT = TypeVar("AtomT", bound=Hashable)


@dataclass(frozen=True)
class Linear(Generic[AtomT]):
    """constant + the sum of coefficient * atom. The arithmetic is that of mathematical integers: nothing wraps.

    No two terms have the same atom, and no coefficient is 0.
    """

    constant: int = 0
    terms: tuple[tuple[AtomT, int], ...] = ()

    def __add__(self, other: Self) -> Self:
        coefficients = dict(self.terms)
        for atom, coefficient in other.terms:
            coefficients[atom] = coefficients.get(atom, 0) + coefficient
        terms = tuple(self._arranged({atom: number for atom, number in coefficients.items() if number}))
        return type(self)(self.constant + other.constant, terms)

    def __sub__(self, other: Self) -> Self:
        return self + other.times(-1)

    def plus(self, number: int) -> Self:
        return type(self)(self.constant + number, self.terms)

    def times(self, factor: int) -> Self:
        terms = tuple((atom, factor * coefficient) for atom, coefficient in self.terms) if factor else ()
        return type(self)(factor * self.constant, terms)

    @property
    def is_constant(self) -> bool:
        return not self.terms

    def _arranged(self, coefficients: Mapping[AtomT, int]) -> Iterable[tuple[AtomT, int]]:
        """The terms of a sum. Kinds of atoms that have an order of their own, or that join, say so here."""
        return coefficients.items()
