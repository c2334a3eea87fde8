"""Loads of several tiles as a load for each: how many tiles come at once is for a schedule to choose anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from autocomp.simulator import _core
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.derived.meaning import Stride, Transfer
from autocomp.targets.simulator.isa.tree import AddressField
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Column, Commands, of_trace
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Form
from autocomp.targets.simulator.transforms.scheduling.lifting.moved import extent
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
    """The accesses of commands with loads of several tiles cut up, where their semantics say how. A tile is what others
    read at one place of what a load brought."""
    commands, rows = touches.commands, _rows_of_tiles(touches)
    cuts: dict[int, _Cut] = {}  # by command
    known: dict[tuple[int, int], _Cut | None] = {}
    for command in np.flatnonzero(rows).tolist():
        key = int(commands.form[command]), int(rows[command])
        if key not in known:
            known[key] = next(_cuts(commands.forms[key[0]], key[1]), None)
        cut = known[key]
        if cut is not None:
            cuts[command] = cut
    return Touches(_cut_up(commands, cuts)) if cuts else touches


def _rows_of_tiles(touches: Touches) -> Column:
    """For each command, the rows from one place to the next at which others read what it wrote; 0 for one place."""
    rows = np.zeros(len(touches.commands), dtype=np.int64)
    for number in range(len(touches.commands.forms)):
        for touch in touches.local(number, write=False):
            owner, command, offset = touches.origins(touch.accesses)
            first = np.diff(owner, prepend=-1) != 0
            np.gcd.at(rows, command[first], offset[first])
    return rows


def _cuts(form: Form, rows: int) -> Iterator[_Cut]:
    """The ways to cut up a load of some form into parts of some local rows."""
    if len(form.transfers) != 1:
        return
    (transfer,) = form.transfers
    target, sources = transfer.target, [moved.source for moved in transfer.moved]
    if target.pointer or len(sources) != 1 or not sources[0].pointer or transfer.product is not None:
        return
    for axis, step in target.steps.items():
        try:
            cut = _along(form, transfer, axis, step, rows)
        except NotApplicable:
            continue
        if cut is not None:
            yield cut


def _along(form: Form, transfer: Transfer, axis: str, step: Stride, rows: int) -> _Cut | None:
    """The way to cut up a load along an axis; None where that does not do the same."""
    apart, all_points = form.number(step.rows), extent(form, transfer, axis)
    if apart < 1 or rows % apart or (step.columns and not step.width):
        return None
    points = rows // apart * (step.width or 1)  # of a part
    count = -(-all_points // points)
    source = transfer.moved[0].source
    further = source.steps.get(axis)
    places = [p for p in algebra.walk(form.evaluate(transfer.target.base)) if isinstance(p, AddressField)]
    if count < 2 or len(places) != 1 or (further is not None and further.width):
        return None
    several = frozenset(other for other in transfer.bounds if extent(form, transfer, other) > 1)
    steps = {places[0].parameter: rows}
    steps[source.memory] = points * form.number(further.rows) if further is not None else 0
    for name in sorted({name for bound in transfer.bounds[axis] for name in algebra.names_in(bound)}):
        value = int(form.operands[name])
        usual, last = (value * part // all_points for part in (points, all_points - (count - 1) * points))
        parts = [form.changed({**form.operands, name: number}) for number in (usual, last)]
        lengths = [extent(part, transfer, axis) for part in parts]
        alike = all(_steps(part, transfer, several) == _steps(form, transfer, several) for part in parts)
        if lengths == [points, all_points - (count - 1) * points] and alike:
            return _Cut(count, name, usual, last, steps)
    return None


def _steps(form: Form, transfer: Transfer, several: frozenset[str]) -> list[int]:
    """The local rows, and bytes in DRAM, from point to point of some axes."""
    sides = (transfer.target, *(moved.source for moved in transfer.moved))
    return [form.number(step.rows) for side in sides for axis, step in side.steps.items() if axis in several]


def _cut_up(commands: Commands, cuts: Mapping[int, _Cut]) -> Commands:
    """The commands with some of them cut up. The first part of each passes the tokens."""
    tables = isa.lower(commands.accelerator)
    instruction, _, arguments, lines = commands.trace.columns(tables.machine)
    forms = [commands.forms[number] for number in commands.form.tolist()]
    made: list[tuple[int, list[int | float], int]] = []
    for number, (form, first) in enumerate(zip(forms, commands.first.tolist(), strict=True)):
        parameters = form.instruction.parameters
        given = arguments[first : first + len(parameters)].tolist()
        values = [algebra.bits_to_float(v) if p.kind == "float" else v for v, p in zip(given, parameters, strict=True)]
        cut = cuts.get(number)
        if cut is None:
            made.append((int(instruction[number]), values, int(lines[number])))
            continue
        quiet = commands.arguments[first : first + len(parameters)].tolist()
        for part in range(cut.count):
            operands = list(values if not part else quiet)
            for place, parameter in enumerate(parameters):
                if parameter.name == cut.operand:
                    operands[place] = cut.last if part == cut.count - 1 else cut.usual
                elif parameter.name in cut.steps:
                    operands[place] += part * cut.steps[parameter.name] * _one(form, parameter)
            made.append((int(instruction[number]), operands, int(lines[number])))
    trace = _core.Trace(
        tables.machine,
        np.array([one for one, _, _ in made], np.int32),
        [values for _, values, _ in made],
        np.zeros(len(made), np.int64),
        np.array([line for _, _, line in made], np.int32),
    )
    return of_trace(commands.accelerator, trace, commands.tensors)


def _one(form: Form, parameter: m.Parameter) -> int:
    """The growth of an operand from a local row to the next, or from a byte in DRAM."""
    space = form.space(parameter.name) if parameter.kind == "address" else None
    return 1 if space is None else 1 << space.field(space.row_field)[1]
