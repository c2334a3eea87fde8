"""Tiles of several rows of an image: a product takes them as one, where each comes by a move of its own.

The rows of a result's image follow one another in DRAM, and rows of local memory follow one another where moves put
them side by side. So a command that names the rows of a tile takes those of several rows of the image at once, on
machines whose tiles have more rows than an image is wide. Where lines of the left operand have margins, the rows of the
results do too: they are computed, and stores leave them out line by line.
"""

from __future__ import annotations

from dataclasses import replace

from autocomp.targets.simulator.transforms.scheduling.computation import Contraction
from autocomp.targets.simulator.transforms.scheduling.lowering.operands import Apart, Element, Extent, Rows
from autocomp.targets.simulator.transforms.scheduling.lowering.sizes import counted
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import (
    Command,
    Parts,
    Room,
    Sized,
    Tasks,
)

_UNLIMITED = 1 << 31


def joined(computation: Contraction, tasks: Tasks) -> tuple[Contraction, Tasks]:
    """The contraction with tiles that may cover several coordinates of the row dimension, where commands allow it."""
    row, stored = computation.row, tasks.store.piece
    follows = row in computation.parallel and row not in computation.right.dims and row in computation.left.dims
    if not follows or row in tasks.sizes or stored is None or tasks.brings["left"]:
        return computation, tasks
    size, margins = stored.count, _margins(tasks)
    apart = size < 2 or (not margins and computation.result.along(row) != size * stored.stride)
    gaps = tasks.lines is None and tasks.rooms["left"].rows != size
    if apart or gaps or not tasks.rooms["left"].addressed:
        return computation, tasks
    start = () if tasks.start is None else (tasks.start,)
    if tasks.first is not None or tasks.extra is not None or any(command.piece is not None for command in start):
        return computation, tasks
    stores = () if margins else (tasks.store,)
    commands = (tasks.product, *stores, *tasks.finish, *start, *tasks.near.get("left", ()))
    most = min(_most(tasks, command, row, size) for command in commands)
    if most < 2:
        return computation, tasks
    return replace(computation, pieced=True), _opened(computation, tasks, size, most)


def _margins(tasks: Tasks) -> int:
    """The rows between lines that products multiply too."""
    lines, stored = tasks.lines, tasks.store.piece
    return 0 if lines is None or lines.apart or stored is None else tasks.rooms["left"].rows - stored.count


def _named(tasks: Tasks, command: Command, row: str, size: int) -> frozenset[str]:
    """The operands that say how many rows of a result a command covers, or how many lines."""
    if command is tasks.product and tasks.lines is not None:
        return frozenset((tasks.lines.count,))
    return counted(tasks, command, "product" if command is tasks.product else "result", "row", row, size)


def _most(tasks: Tasks, command: Command, row: str, size: int) -> int:
    """Coordinates whose rows a command covers at most."""
    if command is tasks.product and tasks.lines is not None:
        return tasks.lines.most
    names = _named(tasks, command, row, size)
    highest = [p.high for p in command.instruction.parameters if p.name in names]
    margins = _margins(tasks)
    ends = ((_UNLIMITED if high is None else high) + margins for high in highest)
    return min((end // (size + margins) for end in ends), default=1)


def _opened(computation: Contraction, tasks: Tasks, size: int, most: int) -> Tasks:
    row, margins = computation.row, _margins(tasks)

    def several(command: Command) -> Command:
        lines = tasks.lines if command is tasks.product and not margins else None
        each = {lines.apart: Apart()} if lines is not None else {}
        extent = Extent(row, size + margins if lines is None else 1, less=margins)
        named = dict.fromkeys(_named(tasks, command, row, size), extent)
        return replace(command, operands={**command.operands, **named, **each})

    def line_by_line(command: Command) -> Command:
        steps = {name: size + margins for name, value in command.operands.items() if isinstance(value, Rows)}
        along = {n: computation.result.along(row) for n, v in command.operands.items() if isinstance(v, Element)}
        return replace(command, parts=Parts(Extent(row), {**steps, **along}))

    def grown(name: str, room: Room) -> Room:
        panel = name in tasks.loads or tasks.owner(name) == "right"
        grows = not panel and room.sized is None and room.rows == size
        return replace(room, sized=(row, 1), each=size + margins) if grows else room

    return replace(
        tasks,
        start=None if tasks.start is None else several(tasks.start),
        product=several(tasks.product),
        finish=tuple(several(command) for command in tasks.finish),
        store=line_by_line(tasks.store) if margins else several(tasks.store),
        near={o: tuple(several(c) for c in cs) if o == "left" else cs for o, cs in tasks.near.items()},
        rooms={name: grown(name, room) for name, room in tasks.rooms.items()},
        sizes={**tasks.sizes, row: Sized(1, most)},
    )
