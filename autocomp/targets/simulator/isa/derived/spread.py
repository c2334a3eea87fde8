"""Columns of a result that several local rows hold, such as 16 sums in two rows of eight."""

from __future__ import annotations

from autocomp.targets.simulator.isa.derived.regions import Write
from autocomp.targets.simulator.isa.tree import Element
from autocomp.targets.simulator.isa.walk import names


def spread_columns(write: Write, factors: tuple[Element, Element]) -> frozenset[str]:
    """The loop variables that choose a local row of the result by its column: one factor alone has them, which is the
    one that has the columns inside of a row."""
    row, column = (
        set(names(index)) & write.loops.keys() for index in (write.target.indices[0], write.target.indices[-1])
    )
    one, other = ({name for index in factor.indices for name in names(index)} for factor in factors)
    if bool(column & one) == bool(column & other):
        return frozenset()
    columns, rows = (one, other) if column & one else (other, one)
    return frozenset((row - column) & columns - rows)
