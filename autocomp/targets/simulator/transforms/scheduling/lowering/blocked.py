"""Loads of several whole tiles at once.

A move of many columns may lay them out in blocks, which it counts or whose columns it counts. Where a block has the
rows of a tile, and a tile is one block, tiles that lie side by side in DRAM come one after the other. That takes fewer
commands and longer requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from autocomp.targets.simulator.isa.algebra import names_in
from autocomp.targets.simulator.isa.derived.meaning import Stride, Transfer
from autocomp.targets.simulator.isa.timing import unit_number
from autocomp.targets.simulator.transforms.analysis.requests import unit_settings
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.computation import Contraction, Operand
from autocomp.targets.simulator.transforms.scheduling.lifting.moved import Move, extent, move_of
from autocomp.targets.simulator.transforms.scheduling.lowering.operands import (
    Extent,
    Several,
    Value,
    Varied,
    short_along,
)
from autocomp.targets.simulator.transforms.scheduling.lowering.sizes import counted
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Command, Tasks, Wide

MANY_ROWS = 16  # of moves: with fewer, those in flight leave requests unused; with more, the first one comes late


def blocked(computation: Contraction, tasks: Tasks) -> tuple[Contraction, Tasks]:
    """The contraction with loads that may bring several tiles, where the machine's moves allow it."""
    for operand in tasks.loads:
        if operand == "left" and computation.pieced:
            tasks = _in_lines(computation, tasks)
        else:
            for widened in (_blocked, _counted, _stacked):
                tasks = widened(computation, tasks, operand)
    return _by_pixel(computation, tasks)


def _by_pixel(computation: Contraction, tasks: Tasks) -> tuple[Contraction, Tasks]:
    """The same where a tile is one pixel, and pixels that taps share follow one another: each is a piece of a line."""
    pieced = replace(computation, pieced=True)
    shared = {other for other, _ in pieced.overlaps.values()}
    alone = computation.row in shared - tasks.sizes.keys() and not computation.pieced and tasks.rooms["left"].rows == 1
    if not alone or _taken(tasks, "left") or "left" in tasks.filled:
        return computation, tasks
    wide = _in_lines(computation, tasks)
    return (pieced, wide) if "left" in wide.wide else (computation, tasks)


def _blocked(computation: Contraction, tasks: Tasks, operand: str) -> Tasks:
    load, room, source = tasks.loads[operand], tasks.rooms[operand], computation.operands[operand]
    move = _move(load)
    if move is None or not move.local.steps[move.column_axis].width or move.columns != move.width:
        return tasks
    if _taken(tasks, operand) or room.rows != move.rows:
        return tasks
    names = _counting(load, move, room.sized is not None)
    along = [dim for dim in source.dims if source.along(dim) == move.width * move.element]
    if len(names) != 1 or len(along) != 1 or along[0] in tasks.sizes:
        return tasks
    ((name,), (dim,)) = names, along
    if {short_along(value) for value in load.operands.values()} - {"", dim}:
        return tasks
    most = most_tiles(load, name, move.width)
    request = unit_number(unit_settings(tasks.accelerator, load.instruction), "request_max") // move.columns
    wide = Wide(dim, most, max(1, request // move.element), whole="" if room.sized is None else room.sized[0])
    return _widened(tasks, operand, name, wide, move.width, dense=True)


def _counted(computation: Contraction, tasks: Tasks, operand: str) -> Tasks:
    """The same where an operand of the load counts blocks of columns, of which a tile is one."""
    load, room, source = tasks.loads[operand], tasks.rooms[operand], computation.operands[operand]
    transfer = _transfer(load)
    if transfer is None or load.piece is None or _taken(tasks, operand):
        return tasks
    local, dram = transfer.target.steps, transfer.moved[0].source.steps
    for group in groups(load, transfer, source, local, dram):
        grows = room.sized is None or grows_with(load, local[group.axis])
        if not grows or group.rows != room.rows or group.dim in tasks.sizes:
            continue
        if {short_along(value) for value in load.operands.values()} - {"", group.dim}:
            continue
        dense = group.bytes == load.piece.bytes
        request = unit_number(unit_settings(tasks.accelerator, load.instruction), "request_max") // group.bytes
        whole = "" if room.sized is None else room.sized[0]
        most = most_tiles(load, group.count, 1)
        wide = Wide(group.dim, most, max(1, request if dense else MANY_ROWS // group.rows), whole)
        return _widened(tasks, operand, group.count, wide, 1, dense=dense)
    return tasks


@dataclass(frozen=True)
class Groups:
    """The blocks of columns that a move counts with the operand `count`, one in the kernel. They follow one another
    along an axis of the move, in DRAM along a dimension; `rows` and `bytes` are from one to the next."""

    count: str
    axis: str
    dim: str
    rows: int
    bytes: int


def groups(
    command: Command, transfer: Transfer, tensor: Operand, local: Mapping[str, Stride], dram: Mapping[str, Stride]
) -> Iterator[Groups]:
    """The ways in which a move of one block of columns may take several; `local` and `dram` are its steps there."""
    for axis in local.keys() & dram.keys():
        try:
            single = extent(command.given, transfer, axis) == 1
            rows, bytes_apart = (command.given.number(steps[axis].rows) for steps in (local, dram))
        except NotApplicable:
            continue
        names = {name for bound in transfer.bounds[axis] for name in names_in(bound)}
        counts = [name for name in names if command.operands.get(name) == 1]
        along = [dim for dim in tensor.dims if tensor.along(dim) == bytes_apart]
        if single and len(counts) == len(along) == 1:
            yield Groups(counts[0], axis, along[0], rows, bytes_apart)


def _stacked(computation: Contraction, tasks: Tasks, operand: str) -> Tasks:
    """The same where the rows of the tiles along a dimension follow one another, in DRAM as in local memory."""
    load, room, source = tasks.loads[operand], tasks.rooms[operand], computation.operands[operand]
    move = _move(load)
    if move is None or _taken(tasks, operand) or room.sized is not None or room.rows != move.rows:
        return tasks
    bounds = load.given.transfers[0].bounds[move.row_axis]
    named = {name for bound in bounds for name in names_in(bound)}
    names = named & {name for name, value in load.operands.items() if _usual(value) == move.rows}
    along = [dim for dim in source.dims if source.along(dim) == move.rows * move.stride]
    if len(names) != 1 or len(along) != 1 or along[0] in tasks.sizes:
        return tasks
    ((name,), (dim,)) = names, along
    wide = Wide(dim, most_tiles(load, name, move.rows), max(1, MANY_ROWS // move.rows))
    return _widened(tasks, operand, name, wide, move.rows, dense=False)


def _in_lines(computation: Contraction, tasks: Tasks) -> Tasks:
    """Loads of several pieces of the left operand, where these follow one another in DRAM."""
    load, rows = tasks.loads["left"], tasks.rooms["left"].rows
    if load.piece is None or load.parts is not None:
        return tasks
    across = load.given.turned
    move = _move(load)
    stride = load.piece.stride or (0 if move is None else move.stride)  # of one row the operands say it
    bytes_of_row = load.piece.bytes // rows if across else stride
    row = computation.row
    names = counted(tasks, load, "left turned" if across else "left", "row", row, rows)
    if len(names) != 1:
        return tasks
    (name,) = names
    most = most_tiles(load, name, rows)
    request = unit_number(unit_settings(tasks.accelerator, load.instruction), "request_max") // load.piece.bytes
    wide = Wide(row, most, max(1, request if across else MANY_ROWS // rows), piece=rows * bytes_of_row)
    load = replace(load, operands={**load.operands, name: Several(rows, wide.request, dense=across)})
    return replace(tasks, loads={**tasks.loads, "left": load}, wide={**tasks.wide, "left": wide}) if most > 1 else tasks


def _taken(tasks: Tasks, operand: str) -> bool:
    """True if an operand's loads bring several tiles already, or no operand says where."""
    return operand in tasks.wide or bool(tasks.brings[operand]) or not tasks.rooms[operand].addressed


def _widened(tasks: Tasks, operand: str, name: str, wide: Wide, each: int, *, dense: bool) -> Tasks:
    """Loads that bring several tiles, of `each` rows or columns as the operand `name` of the load says."""
    load = tasks.loads[operand]
    known = load.operands[name]
    short = int(known.usual - known.special) if isinstance(known, Varied) else 0
    operands = {**load.operands, name: Extent(wide.dim, each, dense=dense, short=short)}
    changed = {**tasks.loads, operand: replace(load, operands=operands)}
    return replace(tasks, loads=changed, wide={**tasks.wide, operand: wide}) if wide.most > 1 else tasks


def _move(load: Command) -> Move | None:
    """The load as a move of rows; None for any other."""
    transfer = _transfer(load)
    if transfer is None:
        return None
    try:
        return move_of(load.given, transfer, transfer.target, transfer.moved[0].source)
    except NotApplicable:
        return None


def _transfer(load: Command) -> Transfer | None:
    """The one transfer of a load from a tensor; None where there are others."""
    transfers = load.given.transfers
    if len(transfers) != 1 or load.parts is not None:
        return None
    (transfer,) = transfers
    loads = not transfer.target.pointer and len(transfer.moved) == 1 and transfer.moved[0].source.pointer
    return transfer if loads else None


def _counting(load: Command, move: Move, grows: bool) -> frozenset[str]:
    """The operands that say how many columns there are. None where the blocks of tiles that grow would not."""
    step = move.local.steps[move.column_axis]
    if load.given.number(step.rows) != move.rows:
        return frozenset()
    if grows and not grows_with(load, step):
        return frozenset()
    bounds = load.given.transfers[0].bounds[move.column_axis]
    named = frozenset(name for bound in bounds for name in names_in(bound))
    return named & {name for name, value in load.operands.items() if _usual(value) == move.columns}


def grows_with(move: Command, step: Stride) -> bool:
    """True if the rows from one block to the next grow with a tile."""
    return any(isinstance(move.operands.get(name), Extent) for name in names_in(step.rows))


def _usual(value: Value) -> Value:
    return value.usual if isinstance(value, Varied) else value


def most_tiles(move: Command, name: str, width: int) -> int:
    """Tiles in one move, by the range of the operand and what the instruction requires."""
    high = next(p.high for p in move.instruction.parameters if p.name == name) or width
    tiles = high // width
    while tiles > 1 and not move.given.requires({**move.given.operands, name: tiles * width}):
        tiles -= 1
    return tiles
