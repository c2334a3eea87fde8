"""Keep results: what a step loads that another one stored is used where it lies."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.straight.edit import Edit
from autocomp.targets.simulator.transforms.straight.elements import lie, origins
from autocomp.targets.simulator.transforms.straight.footprint import Change
from autocomp.targets.simulator.transforms.straight.program import Program, ProgramStep
from autocomp.targets.simulator.transforms.straight.values import Value, keeps, values_of


def keep_results(program: Program) -> Iterator[ast.Kernel]:
    """The kernel in which what is loaded of tensors that were stored is used where it lies: of all of them, then of
    each alone."""
    accesses = [access for step in program.steps if step.kind in ("load", "store") for access in step.accesses]
    stored, loaded = (
        {a.memory[1:]: None for a in accesses if not a.local and a.write is write} for write in (True, False)
    )
    names = [name for name in loaded if name in stored]
    for chosen in (names, *([name] for name in names if len(names) > 1)):
        edit = _kept(program, chosen)
        if edit.gone:
            yield edit.kernel()


def _kept(program: Program, tensors: Collection[str]) -> Edit:
    """The changes that keep these tensors, of which nothing is loaded that a store moved out, as it is or scaled, from
    rows that keep it until its last use: users read those rows.

    Where there is a scale, the other factor of each product is loaded with it once more; a function that the store
    applied, the computation has to apply. The machine must take operands from the memory of results. A value that was
    loaded and is added to grows in the rows that it came from, where nothing else needs these."""
    edit = Edit(program)
    grown: dict[Value, int] = {}  # values that lie in rows of others from now on, and how far away
    for value in values_of(program):
        load = _loaded(program, value) if value.movable else None
        if load is None or load.reads[0].memory[1:] not in tensors:
            continue
        source = _source(edit, value)
        if source is None or (len(value.writers) > 1 and not _may_grow(program, value, source)):
            continue
        shift = source.shift + grown.get(source.value, 0)
        edit.gone.add(value.first)
        for number, access in value.uses[1:]:
            edit.point(number, access, source.value.memory, shift)
        if len(value.writers) > 1:
            grown[value] = shift
            _scale(edit, source)
        else:
            _apply_to_operands(edit, value, source.done)
    return edit


@dataclass(frozen=True)
class _Source:
    """The value that a load brings once more, `shift` rows further on, and what moving it out and in again does to
    elements."""

    value: Value
    shift: int
    done: Change


def _loaded(program: Program, value: Value) -> ProgramStep | None:
    """The load that brings a value, to which others may add, or None."""
    (number, access), *others = value.writers
    step = program.steps[number]
    plain = step.kind == "load" and len(step.reads) == 1 and not access.adds and value.first == number
    return step if plain and all(other.adds for _, other in others) else None


def _may_grow(program: Program, value: Value, source: _Source) -> bool:
    """True if what is added to a value can be added to the rows that it came from: in the same memory, as it is or
    scaled, and needed for nothing else afterwards."""
    memory, low, high = value.memory, value.low + source.shift, value.high + source.shift
    there = [v for v in values_of(program) if v.memory == memory and v.low <= high and low <= v.high]
    over = all(v.last < value.first or v.first > value.last for v in there)
    stored = all(program.steps[number].kind == "store" for number, _ in source.value.readers)
    plain = not source.done.function and (source.done.factor == 1.0 or (stored and source.done.factor != 0.0))
    return memory == source.value.memory and plain and over


def _scale(edit: Edit, source: _Source) -> None:
    """Lets the rows of a value hold what a load would bring. Stores move the same out of them."""
    if source.done.factor != 1.0:
        edit.scale_value(source.value, source.done.factor)
        for number, _ in source.value.readers:
            edit.scales[number] = edit.scales.get(number, 1.0) / source.done.factor


def _apply_to_operands(edit: Edit, value: Value, done: Change) -> None:
    """Lets the users of a value do to its elements what moving them out and in again did."""
    for number, access in value.readers:
        if done.function and access.operand is not None:
            edit.functions[number, access.operand] = done.function
        if done.factor != 1.0:
            edit.scale_product(number, done.factor, access)


def _source(edit: Edit, value: Value) -> _Source | None:
    """Where what a load brings lies already up to the last use of it."""
    program = edit.program
    load = program.steps[value.first]
    wanted = lie(load)
    sources = origins(program, value.first, tuple(wanted)) if wanted else None
    if sources is None or load.factor is None:
        return None
    places: set[tuple[int, int, Change]] = set()
    for origin, (row, column) in zip(sources, wanted.values(), strict=True):
        change = program.steps[origin.store].change
        if change is None or origin.column != column:
            return None
        places.add((origin.store, origin.row - row, replace(change, factor=change.factor * load.factor)))
    reads = {store: program.steps[store].local(write=False)[0] for store, _, _ in places}
    if any(not keeps(program, read, store, value.last) for store, read in reads.items()):
        return None
    found = {_Source(edit.value_of(store, reads[store]), shift, done) for store, shift, done in places}
    return found.pop() if len(found) == 1 else None
