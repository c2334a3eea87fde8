"""Charges values to the place where an optimising compiler computes them, when something first needs them.

A value is computed in front of the outermost loop in which it does not change, and once where it is used again. A value
that is linear in a loop's induction variables costs one addition an iteration, and one more for each further constant
distance from it. Addresses that lie within the reach of a load's offset are one. Registers never run out.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from autocomp.targets.simulator.kernel.code.bytecode import Code
from autocomp.targets.simulator.kernel.host.costs import HostCosts
from autocomp.targets.simulator.kernel.host.values import (
    Atom,
    Form,
    Induction,
    Loop,
    Merge,
    ProgramPoint,
    Result,
    Terms,
)

REACH = 1 << 12  # bytes that the offset of a load or store spans
_DIVISIONS = frozenset((Code.Div, Code.DivU, Code.Mod, Code.ModU))


class Demand:
    """The cycles of each bytecode of a function so far, and which values exist where."""

    def __init__(self, costs: HostCosts, count: int) -> None:
        self.costs = costs
        self.cycles = np.zeros(count, dtype=np.int64)
        self._there: dict[Hashable, int] = {}  # what exists -> the bytecode that it was charged to
        self._order: list[Hashable] = []
        self._pending: list[tuple[Form, ProgramPoint]] = []
        self._working = False

    def charge(self, position: int, cycles: int) -> None:
        self.cycles[position] += cycles

    def once(self, key: Hashable, place: ProgramPoint, cycles: int) -> bool:
        """Charges a value unless it is there already; whether it did."""
        if key in self._there:
            return False
        self._there[key] = place.position
        self._order.append(key)
        self.charge(place.position, cycles)
        return True

    def mark(self) -> int:
        return len(self._order)

    def forget_since(self, mark: int, position: int) -> None:
        """Forgets the values computed after a bytecode from which control reaches this place by another path."""
        recent = self._order[mark:]
        del self._order[mark:]
        for key in recent:
            if self._there[key] > position:
                del self._there[key]
            else:
                self._order.append(key)

    # --- values

    def need(self, form: Form, here: ProgramPoint) -> None:
        """A value in a register; constants are immediate operands."""
        self._pending.append((form, here))
        if self._working:  # further down: chains of values are long
            return
        self._working = True
        while self._pending:
            self._need(*self._pending.pop())
        self._working = False

    def _need(self, form: Form, here: ProgramPoint) -> None:
        if not form.terms:
            return
        if form.constant == 0 and len(form.terms) == 1 and form.terms[0][1] == 1:
            self._need_atom(form.terms[0][0], here)
            return
        home = form.home
        place = out_of_loops(home, here)
        inner = tuple(term for term in form.terms if term[0].loop is home)
        if home is not None and all(isinstance(atom, Induction) for atom, _ in inner):
            if self._step(home, form.terms, form.constant) != form.constant:
                self.once(form, place, self.costs.integer)
            return
        self._combine(form, inner, place)

    def need_address(self, form: Form, offset: int, here: ProgramPoint) -> None:
        """An address of a load or store with an immediate offset."""
        near = (form.constant + offset + REACH // 2) // REACH * REACH
        if form.terms:
            self.need(Form(near, form.terms), here)
        else:
            self.once(("constant", near), out_of_loops(None, here), self.costs.integer)

    def _combine(self, form: Form, inner: Terms, place: ProgramPoint) -> None:
        """A sum of which a part is not linear in induction variables: multiply, add."""
        opaque = tuple(term for term in inner if not isinstance(term[0], Induction))
        rest = tuple(term for term in form.terms if term not in opaque)
        additions = len(opaque) + bool(rest) - 1 + (form.constant != 0)
        scaling = sum(self.costs.scale(factor) for _, factor in opaque)
        if self.once(form, place, additions * self.costs.integer + scaling):
            for atom, _ in opaque:
                self._need_atom(atom, place)
            self.need(Form(0, rest), place)

    def _step(self, loop: Loop, terms: Terms, constant: int) -> int:
        """A register that follows `terms` with one addition an iteration; the constant that it includes."""
        if terms not in loop.stepped:
            loop.stepped[terms] = constant
            position = next(a.position for a, _ in terms if isinstance(a, Induction) and a.loop is loop)
            self.charge(position, self.costs.integer)
            self.charge(loop.entry, self.costs.integer)
            self.need(Form(constant, terms).at_entry(loop), ProgramPoint(loop.entry, loop.parent))
        return loop.stepped[terms]

    def _need_atom(self, atom: Atom, here: ProgramPoint) -> None:
        if isinstance(atom, Induction):
            assert atom.loop is not None
            self._step(atom.loop, ((atom, 1),), 0)
        elif isinstance(atom, Result):
            place = out_of_loops(atom.loop, here)
            if self.once(atom, place, self._operation(atom)):
                for operand in atom.operands:
                    self.need(operand, place)
        elif isinstance(atom, Merge) and not atom.needed:
            atom.needed = True
            for form, place in atom.inputs:
                self.need(form, place)

    def _operation(self, result: Result) -> int:
        if result.code in _DIVISIONS and not result.operands[1].terms:
            natural = result.operands[0].natural
            return self.costs.divide_by(result.code, result.operands[1].constant, natural=natural)
        return self.costs.operation(result.code, result.immediate)


def out_of_loops(home: Loop | None, here: ProgramPoint) -> ProgramPoint:
    """Where a value that varies in `home` is computed if it is needed here: in front of the loops in between."""
    loop = here.loop
    if loop is home:
        return here
    while loop is not None and loop.parent is not home:
        loop = loop.parent
    return here if loop is None else ProgramPoint(loop.entry, home)
