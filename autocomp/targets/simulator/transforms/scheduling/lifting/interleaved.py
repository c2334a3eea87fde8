"""Memories of which a tile has rows at equal distances, as the sums of an outer product in interleaved lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autocomp.simulator import Accesses
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.derived.regions import derive
from autocomp.targets.simulator.isa.tree import Number
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Column
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Form


@dataclass(frozen=True)
class Interleaved:
    """Rows of a memory numbered anew, so that the `apart`-th ones follow one another: first 0, apart, 2 * apart …, then
    1, apart + 1 …. `length` is the number of rows in each of these lines."""

    apart: int
    length: int

    def numbers(self, rows: Column) -> Column:
        """The numbers of rows."""
        return rows % self.apart * self.length + rows // self.apart

    def row(self, number: str) -> str:
        """The row of a number, as text of C."""
        return f"({number}) % {self.length} * {self.apart} + ({number}) / {self.length}"


def interleaved(accesses: Accesses, forms: Sequence[Form], memories: Sequence[m.Memory]) -> dict[str, Interleaved]:
    """The memories of which commands of some forms access rows that are not side by side. Raises NotApplicable where
    such rows are not equally far apart, or not always as far."""
    several = (accesses.points > 1) & (accesses.tensor < 0)
    spread = several & (accesses.points < accesses.last - accesses.first)
    known: dict[str, Interleaved] = {}
    for number in np.unique(accesses.memory[spread]).tolist():
        memory, here = memories[number], several & (accesses.memory == number)
        apart, rest = np.divmod(accesses.last[here] - accesses.first[here] - 1, accesses.points[here] - 1)
        step = int(apart[0])
        lines = Interleaved(step, memory.rows // step)
        ends = lines.numbers(accesses.first[here]) % lines.length + accesses.points[here]
        alike = not rest.any() and (apart == step).all() and memory.rows % step == 0 and (ends <= lines.length).all()
        if not alike or not all(_in_one_direction(form, memory.name) for form in forms):
            raise NotApplicable("a command touches rows that do not follow one another")
        known[memory.name] = lines
    return known


def _in_one_direction(form: Form, memory: str) -> bool:
    """True if the rows of a memory that a form accesses at a time are one line of points."""
    for region in derive(form.accelerator, form.instruction):
        if region.memory == memory and sum(form.evaluate(dim.count) != Number(1) for dim in region.dims) > 1:
            return False
    return True
