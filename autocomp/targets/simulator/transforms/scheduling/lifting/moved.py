"""Loads and stores as moves of rows, and what else of a form is in rows and columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autocomp.targets.simulator.isa.derived.meaning import ELEMENT, Side, Transfer
from autocomp.targets.simulator.isa.tree import Binary, Expression, Number, element_bits
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Form


@dataclass(frozen=True)
class Move:
    """A load or a store of one form; `pitch` is the local rows from one block of columns to the next."""

    form: Form
    local: Side
    dram: Side | None
    row_axis: str
    column_axis: str
    rows: int
    columns: int
    width: int
    pitch: int
    stride: int
    element: int
    function: Expression | None
    adds: bool
    windows: Mapping[str, int]  # what a store that pools states
    apart: tuple[int, ...]  # bytes between lines, and between results, of those

    @property
    def blocks(self) -> int:
        return -(-self.columns // self.width)


def store_of(form: Form) -> Transfer | None:
    """The one transfer of a form that stores to a tensor; None where there are others."""
    if len(form.transfers) != 1:
        return None
    (transfer,) = form.transfers
    stores = transfer.target.pointer and len(transfer.moved) == 1 and not transfer.moved[0].source.pointer
    return transfer if stores else None


def extent(form: Form, transfer: Transfer, axis: str) -> int:
    return min(form.number(bound) for bound in transfer.bounds[axis])


def row_axis(form: Form, side: Side) -> tuple[str, int]:
    """The axis along the rows of an operand, and the rows from one point to the next."""
    rows = [axis for axis, step in side.steps.items() if not step.columns]
    if len(rows) != 1 or len(side.steps) != 2 or any(step.width for step in side.steps.values()):
        raise NotApplicable(f"{form.name} does not use one row after another")
    return rows[0], form.number(side.steps[rows[0]].rows)


def changed(function: Expression) -> Expression | None:
    """The function that is applied to an element, None for nothing: multiplied by one it is the same."""
    while isinstance(function, Binary) and function.operator == "*" and function.right == Number(1.0):
        function = function.left
    return None if function == ELEMENT else function


def move_of(form: Form, transfer: Transfer, local: Side, dram: Side | None) -> Move:
    """A load or store of a form. Raises NotApplicable for one that does not move rows."""
    rows = [axis for axis, step in local.steps.items() if not step.columns]
    columns = [axis for axis, step in local.steps.items() if step.columns]
    if len(rows) != 1 or len(columns) != 1 or form.number(local.steps[rows[0]].rows) != 1:
        raise NotApplicable(f"{form.name} does not move rows")
    (row,), (column,) = rows, columns
    step = local.steps[column]
    size = 0
    stride = 0
    if dram is not None:
        size = element_bits(dram.element) // 8
        stride = form.number(dram.steps[row].rows) if row in dram.steps else 0
        if column not in dram.steps or form.number(dram.steps[column].rows) != size:
            raise NotApplicable(f"{form.name} does not move elements that are side by side")
    extents = {axis: extent(form, transfer, axis) for axis in transfer.bounds}
    width = step.width or max(extents[column], 1)
    pitch = form.number(step.rows) if step.width else 0
    moved = transfer.moved[0] if transfer.moved else None
    function = None if moved is None else changed(form.evaluate(moved.function))
    return Move(
        form,
        local,
        dram,
        row,
        column,
        extents[row],
        extents[column],
        width,
        pitch if extents[column] > width else max(extents[row], 1),
        stride,
        size,
        function,
        transfer.adds,
        {word: form.number(value) for word, value in transfer.windows.items()},
        tuple(
            sorted((form.number(s.rows) for a, s in dram.steps.items() if a != column), reverse=True) if dram else ()
        ),
    )
