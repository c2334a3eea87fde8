"""Values in a register of the host, as an optimising compiler sees them: sums of multiples of atoms.

An atom is a value without parts: a loop's induction variable, the result of a load or a call, the merged value of
different paths, or the result of an operation that is not linear. Each has the innermost loop in which it varies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from autocomp.linear import Linear
from autocomp.targets.simulator.kernel.code.bytecode import Code

MAX_TERMS = 8


@dataclass(eq=False)
class Loop:
    """Bytecodes first..last; the jump at `first - 1` enters it."""

    first: int
    last: int
    parent: Loop | None
    depth: int
    written: set[int] = field(default_factory=set)
    inductions: dict[int, Induction] = field(default_factory=dict)  # by register
    carried: dict[int, Merge] = field(default_factory=dict)  # by register
    stepped: dict[Terms, int] = field(default_factory=dict)  # registers stepped once an iteration: terms -> constant

    @property
    def entry(self) -> int:
        return self.first - 1

    def within(self, other: Loop | None) -> bool:
        return other is None or (other.first <= self.first and self.last <= other.last)


class ProgramPoint(NamedTuple):
    """Where something is computed: at a bytecode that runs once an iteration of `loop` (None: of the function)."""

    position: int
    loop: Loop | None


@dataclass(eq=False)
class Atom:
    number: int
    loop: Loop | None


@dataclass(eq=False)
class Induction(Atom):
    """Starts at `start` and is stepped by the bytecode at `position`, once an iteration."""

    start: Form
    step: int
    position: int

    @property
    def natural(self) -> bool:
        """True where it is known not to be negative."""
        return not self.start.terms and self.start.constant >= 0 and self.step > 0


@dataclass(eq=False)
class Merge(Atom):
    """The value that the paths to a place leave in a register."""

    inputs: list[tuple[Form, ProgramPoint]]
    needed: bool = False


@dataclass(eq=False)
class Result(Atom):
    """An operation on values."""

    code: Code
    immediate: int
    operands: tuple[Form, ...]


Terms = tuple[tuple[Atom, int], ...]  # by the atoms' numbers


@dataclass(frozen=True)
class Form(Linear[Atom]):
    """A sum of atoms in the order of their numbers."""

    @property
    def home(self) -> Loop | None:
        """The innermost loop in which it varies."""
        loops = [atom.loop for atom, _ in self.terms if atom.loop is not None]
        return max(loops, key=lambda loop: loop.depth, default=None)

    @property
    def natural(self) -> bool:
        """True where it is known not to be negative."""
        return self.constant >= 0 and all(
            isinstance(atom, Induction) and atom.natural and factor > 0 for atom, factor in self.terms
        )

    def _arranged(self, coefficients: Mapping[Atom, int]) -> Iterable[tuple[Atom, int]]:
        return sorted(coefficients.items(), key=lambda term: term[0].number)

    def at_entry(self, loop: Loop) -> Form:
        """Its value when the loop is entered."""
        result = Form(self.constant)
        for atom, factor in self.terms:
            start = atom.start if isinstance(atom, Induction) and atom.loop is loop else of_atom(atom)
            result += start.times(factor)
        return result


def of_atom(atom: Atom) -> Form:
    return Form(0, ((atom, 1),))
