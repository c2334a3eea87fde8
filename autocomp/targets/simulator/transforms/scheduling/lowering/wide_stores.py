"""Stores of several whole tiles of results at once.

A store may count blocks of columns, as loads do (`blocked.py`). Tiles that lie side by side in DRAM then leave with one
command, in fewer and longer requests. They have to lie in local memory as it reads them. That is one tile after the
other, or row by row, where the command that writes a tile there says how far apart its rows are.
"""

from __future__ import annotations

from dataclasses import replace

from autocomp.targets.simulator.isa.derived.meaning import Transfer
from autocomp.targets.simulator.isa.timing import unit_number
from autocomp.targets.simulator.transforms.analysis.requests import unit_settings
from autocomp.targets.simulator.transforms.scheduling.computation import Contraction
from autocomp.targets.simulator.transforms.scheduling.lifting.extra import EXTRA
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Form
from autocomp.targets.simulator.transforms.scheduling.lifting.moved import store_of
from autocomp.targets.simulator.transforms.scheduling.lifting.woven import is_given, spacing
from autocomp.targets.simulator.transforms.scheduling.lowering.blocked import (
    MANY_ROWS,
    Groups,
    groups,
    grows_with,
    most_tiles,
)
from autocomp.targets.simulator.transforms.scheduling.lowering.operands import Extent, Rows, short_along
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Tasks, Wide


def with_wide_stores(computation: Contraction, tasks: Tasks) -> tuple[Contraction, Tasks]:
    """The contraction with stores that may take several tiles, where the machine's commands allow it."""
    store, transfer, buffer = tasks.store, store_of(tasks.store.given), _read(tasks)
    if transfer is None or not buffer or store.piece is None or store.parts is not None or store.given.turned:
        return computation, tasks
    local, dram = transfer.moved[0].source.steps, transfer.target.steps
    for group in groups(store, transfer, computation.result, local, dram):
        if group.dim in tasks.sizes or {short_along(value) for value in store.operands.values()} - {"", group.dim}:
            continue
        rows = [axis for axis, step in local.items() if axis != group.axis and not step.columns]
        woven = len(rows) == 1 and _apart(store.given, group.count, transfer, rows[0]) and group.rows == 1
        if woven and buffer != "result":
            return computation, _woven(tasks, group, buffer)
        room = tasks.rooms[buffer]
        follows = group.rows == room.rows and (room.sized is None or grows_with(store, local[group.axis]))
        if follows and not (rows and _apart(store.given, group.count, transfer, rows[0])):
            whole = "" if room.sized is None else room.sized[0]
            return computation, _widened(tasks, group, most_tiles(store, group.count, 1), whole=whole)
    return computation, tasks


def _read(tasks: Tasks) -> str:
    """The buffer that the store reads: the only one on the way of results, or theirs. Empty where there are several."""
    read = [value.buffer for value in tasks.store.operands.values() if isinstance(value, Rows)]
    passed = {name for name in tasks.rooms if tasks.owner(name) == "result"} - {"result", EXTRA}
    return read[0] if len(read) == 1 and passed <= {*read} else ""


def _apart(form: Form, operand: str, transfer: Transfer, axis: str) -> bool:
    """True if the rows of a tile are as far apart as an operand of a store says."""
    return is_given(form, operand, [transfer.moved[0].source.steps[axis].rows])


def _woven(tasks: Tasks, group: Groups, buffer: str) -> Tasks:
    """Stores of tiles that lie row by row in a buffer, where what writes them there says how far its rows are apart."""
    *others, last = tasks.finish
    address = next((n for n, v in last.operands.items() if isinstance(v, Rows) and v.buffer == buffer), "")
    names = [name for name in spacing(last.given, address) if last.operands[name] == 1]
    if len(names) != 1 or last.parts is not None:
        return tasks
    most = min(most_tiles(tasks.store, group.count, 1), most_tiles(last, names[0], 1))
    changed = replace(last, operands={**last.operands, names[0]: Extent(group.dim)})
    return _widened(replace(tasks, finish=(*others, changed)), group, most, woven=True)


def _widened(tasks: Tasks, group: Groups, most: int, *, woven: bool = False, whole: str = "") -> Tasks:
    """Stores of up to `most` tiles."""
    if most < 2:
        return tasks
    store, piece = tasks.store, tasks.store.piece
    dense = piece is not None and group.bytes == piece.bytes
    request = unit_number(unit_settings(tasks.accelerator, store.instruction), "request_max") // group.bytes
    wide = Wide(group.dim, most, max(1, request if dense else MANY_ROWS // group.rows), whole, woven=woven)
    store = replace(store, operands={**store.operands, group.count: Extent(group.dim, dense=dense)})
    return replace(tasks, store=store, wide={**tasks.wide, "result": wide})
