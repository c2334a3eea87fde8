"""Moves of several tiles as a move for each: how many tiles go at once is for a schedule to choose anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa.derived.meaning import Side, Stride, Transfer
from autocomp.targets.simulator.isa.derived.roles import instruction_roles
from autocomp.targets.simulator.isa.tree import AddressField
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Column
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Form
from autocomp.targets.simulator.transforms.scheduling.lifting.moved import extent
from autocomp.targets.simulator.transforms.scheduling.lifting.replaced import Changes, replaced
from autocomp.targets.simulator.transforms.scheduling.lifting.touches import Touches


@dataclass(frozen=True)
class _Cut:
    """A load of several tiles as `count` loads of one. `operand` says how much is loaded: its `usual` value, and that
    of the `last` load. `steps`: by operand, the growth of places from one load to the next."""

    count: int
    operand: str
    usual: int
    last: int
    steps: Mapping[str, int]


def narrowed(touches: Touches) -> Touches:
    """The accesses of commands with moves of several tiles cut up, where their semantics say how. A tile is what others
    read at one place of what a load brought, or wrote of what a store takes."""
    commands = touches.commands
    cuts: dict[int, _Cut] = {}  # by command
    for reads, rows in enumerate(_rows_of_tiles(touches)):
        known: dict[tuple[int, int], _Cut | None] = {}
        for command in np.flatnonzero(rows).tolist():
            key = int(commands.form[command]), int(rows[command])
            if key not in known:
                known[key] = next(_cuts(commands.forms[key[0]], key[1], reads=bool(reads)), None)
            cut = known[key]
            if cut is not None:
                cuts[command] = cut
    parts = {command: [_part(cut, number) for number in range(cut.count)] for command, cut in cuts.items()}
    return Touches(replaced(commands, parts)) if parts else touches


def _part(cut: _Cut, number: int) -> Changes:
    """The operands of a part of a command."""
    grown = {name: number * step for name, step in cut.steps.items()}
    return {**grown, cut.operand: cut.last if number == cut.count - 1 else cut.usual}


def _rows_of_tiles(touches: Touches) -> tuple[Column, Column]:
    """For each command, the rows from one place to the next at which others read what it wrote; and those at which
    products wrote what it reads. 0 for one place."""
    commands, roles = touches.commands, instruction_roles(touches.commands.accelerator)
    multiplies = np.array([roles[form.name].kind == "contraction" for form in commands.forms], dtype=bool)
    written, read = (np.zeros(len(commands), dtype=np.int64) for _ in range(2))
    for number in range(len(commands.forms)):
        own = commands.of(number)
        for touch in touches.local(number, write=False):
            runs = touches.origins(touch.accesses)
            first, summed = runs.within == 0, multiplies[commands.form[runs.command]]
            np.gcd.at(written, runs.command[first], runs.offset[first])
            np.gcd.at(read, own[runs.access[summed]], runs.within[summed])
    return written, read


def _cuts(form: Form, rows: int, *, reads: bool) -> Iterator[_Cut]:
    """The ways to cut up a load, or (`reads`) a store, of some form into parts of some local rows."""
    if len(form.transfers) != 1:
        return
    (transfer,) = form.transfers
    sources = [moved.source for moved in transfer.moved]
    if len(sources) != 1 or transfer.product is not None or transfer.adds or transfer.windows:
        return
    local, other = (sources[0], transfer.target) if reads else (transfer.target, sources[0])
    if local.pointer or not other.pointer:
        return
    for axis, step in local.steps.items():
        try:
            cut = _along(form, transfer, (local, other), axis, step, rows)
        except NotApplicable:
            continue
        if cut is not None:
            yield cut


def _along(form: Form, transfer: Transfer, sides: tuple[Side, Side], axis: str, step: Stride, rows: int) -> _Cut | None:
    """The way to cut up a move between local memory and DRAM along an axis; None where that does not do the same."""
    local, dram = sides
    apart, all_points = form.number(step.rows), extent(form, transfer, axis)
    if apart < 1 or rows % apart or (step.columns and not step.width):
        return None
    points = rows // apart * (step.width or 1)  # of a part
    count = -(-all_points // points)
    further = dram.steps.get(axis)
    places = [p for p in algebra.walk(form.evaluate(local.base)) if isinstance(p, AddressField)]
    if count < 2 or len(places) != 1 or (further is not None and further.width):
        return None
    steps = {places[0].parameter: rows}
    steps[dram.memory] = points * form.number(further.rows) if further is not None else 0
    for name in sorted({name for bound in transfer.bounds[axis] for name in algebra.names_in(bound)}):
        value = int(form.operands[name])
        usual, last = (value * part // all_points for part in (points, all_points - (count - 1) * points))
        parts = [form.changed({**form.operands, name: number}) for number in (usual, last)]
        lengths = [extent(part, transfer, axis) for part in parts]
        alike = all(_is_like(part, form, transfer, sides) for part in parts)
        if lengths == [points, all_points - (count - 1) * points] and alike:
            return _Cut(count, name, usual, last, steps)
    return None


def _is_like(part: Form, whole: Form, transfer: Transfer, sides: tuple[Side, Side]) -> bool:
    """True if a part of a move goes from point to point, and from block to block, as the whole does."""
    return all(
        part.number(step.rows) == whole.number(step.rows)
        for side in sides
        for axis, step in side.steps.items()
        if extent(part, transfer, axis) > max(1, step.width)
    )
