"""Stores of tiles that take turns row by row in local memory, as a store for each of tiles one after the other.

A schedule chooses anew how many tiles go at once, and so how far apart their rows are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from autocomp.targets.simulator.isa.algebra import names_in
from autocomp.targets.simulator.isa.derived.regions import derive
from autocomp.targets.simulator.isa.tree import Expression
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Commands
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Form
from autocomp.targets.simulator.transforms.scheduling.lifting.moved import extent, store_of
from autocomp.targets.simulator.transforms.scheduling.lifting.replaced import Changes, replaced


@dataclass(frozen=True)
class _Woven:
    """A store of `count` tiles of some `rows`, that number as an operand gives it: the operands, and the bytes in DRAM
    from one tile to the next."""

    operand: str
    count: int
    rows: int
    address: str
    pointer: str
    bytes: int


@dataclass(frozen=True)
class _Writer:
    """The operands of a command that say where a tile goes, and how far apart its rows are there."""

    operand: str
    address: str


def unwoven(commands: Commands) -> Commands:
    """The commands with stores of tiles that take turns cut up, and these tiles one after the other."""
    stores = {number: store for number, form in enumerate(commands.forms) for store in _stores(form)}
    if not stores:
        return commands
    counts = {store.count for store in stores.values()}
    writers = {number: writer for number, form in enumerate(commands.forms) for writer in _writers(form, counts)}
    chosen = np.flatnonzero(np.isin(commands.form, [*stores, *writers]))
    newest: dict[int, int] = {}  # by address
    parts: dict[int, Sequence[Changes]] = {}
    for command in chosen.tolist():
        number = int(commands.form[command])
        if number in writers:
            newest[_address(commands, command, writers[number].address)] = command
        else:
            parts.update(_apart(commands, command, stores[number], writers, newest))
    return replaced(commands, parts)


def spacing(form: Form, address: str) -> list[str]:
    """The operands that say how many rows apart a command writes those of a tile at an address."""
    steps = [
        dim.stride
        for region in derive(form.accelerator, form.instruction)
        if region.write and region.parameter == address
        for dim in region.dims
    ]
    return [name for name in sorted({n for step in steps for n in names_in(step)}) if is_given(form, name, steps)]


def is_given(form: Form, operand: str, steps: Sequence[Expression]) -> bool:
    """True if each of some steps is the number that an operand gives."""
    if operand not in form.operands:
        return False
    changed = [form.changed({**form.operands, operand: number}) for number in (1, 2)]
    try:
        return all(one.number(step) == number for number, one in enumerate(changed, 1) for step in steps)
    except NotApplicable:
        return False


def _stores(form: Form) -> Iterator[_Woven]:
    """The ways in which a form is a store of several tiles that take turns."""
    transfer = store_of(form)
    if transfer is None:
        return
    source, target = transfer.moved[0].source, transfer.target
    axes = [axis for axis, step in source.steps.items() if not step.columns]
    for axis in axes if len(axes) == 2 else ():
        (other,) = (one for one in axes if one != axis)
        try:
            count, rows = extent(form, transfer, axis), extent(form, transfer, other)
            turns = form.number(source.steps[axis].rows) == 1 and form.number(source.steps[other].rows) == count > 1
            apart = form.number(target.steps[axis].rows) if axis in target.steps else 0
        except NotApplicable:
            continue
        names = {name for bound in transfer.bounds[axis] for name in names_in(bound)}
        named = [name for name in names if is_given(form, name, [source.steps[other].rows])]
        places = [p.name for p in form.instruction.parameters if p.kind == "address"]
        if turns and apart and len(named) == len(places) == 1:
            yield _Woven(named[0], count, rows, places[0], target.memory, apart)


def _writers(form: Form, counts: Set[int]) -> Iterator[_Writer]:
    """The ways in which a form writes rows of a tile as far apart as there are tiles in some store."""
    addresses = [p.name for p in form.instruction.parameters if p.kind == "address"]
    for address in addresses:
        names = [name for name in spacing(form, address) if form.operands[name] in counts]
        if len(names) == 1:
            yield _Writer(names[0], address)


def _apart(
    commands: Commands, command: int, store: _Woven, writers: Mapping[int, _Writer], newest: Mapping[int, int]
) -> Mapping[int, Sequence[Changes]]:
    """The parts of a store, and the writers of its tiles with these one after the other. Raises NotApplicable where
    others wrote them than commands that say how far apart their rows are."""
    form = commands.forms[commands.form[command]]
    first, one = _address(commands, command, store.address), 1 << form.space(store.address).field("row")[1]
    parts: dict[int, Sequence[Changes]] = {}
    for tile in range(store.count):
        made = newest.get(first + tile * one)
        writer = None if made is None else writers[int(commands.form[made])]
        if (
            made is None
            or writer is None
            or commands.forms[commands.form[made]].operands[writer.operand] != store.count
        ):
            raise NotApplicable(f"it is not seen what writes the rows of each tile that {form.name} stores")
        parts[made] = [{writer.operand: 1, writer.address: tile * (store.rows - 1)}]
    each = (
        {store.operand: 1, store.address: tile * store.rows, store.pointer: tile * store.bytes}
        for tile in range(store.count)
    )
    return {**parts, command: [*each]}


def _address(commands: Commands, command: int, operand: str) -> int:
    return int(commands.operand(np.array([command]), operand)[0]) & 0xFFFFFFFF
