"""Add in place: sums that the host makes of two stored results grow in local memory instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.straight.edit import Edit, load_like, scaled
from autocomp.targets.simulator.transforms.straight.elements import (
    Byte,
    Computed,
    Liveness,
    Origin,
    Term,
    computed,
    origins,
    touched,
)
from autocomp.targets.simulator.transforms.straight.footprint import Access
from autocomp.targets.simulator.transforms.straight.program import Program
from autocomp.targets.simulator.transforms.straight.sums import composed
from autocomp.targets.simulator.transforms.straight.values import Value


def add_in_place(program: Program) -> Iterator[ast.Kernel]:
    """The kernel in which sums or differences of elements grow in local memory: those that the host computes of
    elements that were stored for that alone, and perhaps of some that nothing writes. The elements of earlier stores,
    and those of the tensor, are added to those of the last one, which moves to the result. Raises NotApplicable."""
    program = composed(program)
    edit = Edit(program)
    for first, last, sums in _groups(program):
        for one in _sums(program, first, last, sums):
            _join(edit, one)
        edit.gone.update(range(first, last))
    if edit.gone:
        yield edit.kernel()


@dataclass(frozen=True)
class _Stored:
    """Elements that a store moved out, times a sign; `shift` rows before those of the last store that is added up."""

    store: int
    sign: float
    shift: int


@dataclass(frozen=True)
class _Loaded:
    """Elements of a tensor that nothing writes, times a sign; `distance` bytes after those of the last store."""

    tensor: str
    sign: float
    distance: int


@dataclass(frozen=True)
class _Sum:
    """Elements that the host adds up: those of stores, in order, and perhaps of a tensor. The sums are `offset` bytes
    after those of the last store, in `tensor`."""

    stored: tuple[_Stored, ...]
    loaded: _Loaded | None
    tensor: str
    offset: int


def _groups(program: Program) -> list[tuple[int, int, list[Computed]]]:
    """Stretches of steps in which the host adds up elements: their first step and the one after their last."""
    groups: list[tuple[int, int, list[Computed]]] = []
    for number, step in enumerate(program.steps):
        sums = list(computed(step))
        if not sums or any(len(element.terms) < 2 for element in sums):
            continue
        if groups and groups[-1][1] == number and groups[-1][2][0].result[0] == sums[0].result[0]:
            groups[-1] = (groups[-1][0], number + 1, [*groups[-1][2], *sums])
        else:
            groups.append((number, number + 1, sums))
    return groups


def _sums(program: Program, first: int, last: int, computed_there: Sequence[Computed]) -> list[_Sum]:
    """The sums of stores that a stretch of the host's sums comes to."""
    sums: dict[_Sum, None] = {}  # in order
    covered: dict[int, set[Byte]] = {}
    for element in computed_there:
        found = [(origins(program, first, [term.element]), term) for term in element.terms]
        stored = sorted(((places[0], term) for places, term in found if places), key=lambda entry: entry[0].store)
        loaded = [term for places, term in found if not places]
        if not stored or len(loaded) > 1:
            raise NotApplicable("the host adds up elements that no store moved out")
        sums[_sum(program, first, element, stored, loaded)] = None
        for origin, part in stored:
            name, byte = part.element
            covered.setdefault(origin.store, set()).update((name, byte + n) for n in range(element.size))
    used = [part.store for one in sums for part in one.stored]
    if len(set(used)) != len(used):
        raise NotApplicable("the elements of one store are added to those of several")
    for store, cells in covered.items():
        if cells != touched(program.steps[store]):
            raise NotApplicable("a store moves more elements than the host adds up")
    _used_for_that_alone(program, first, last, computed_there, covered)
    return list(sums)


def _sum(
    program: Program, first: int, element: Computed, stored: Sequence[tuple[Origin, Term]], loaded: Sequence[Term]
) -> _Sum:
    """The sum that an element is one of: of stores in order, and of a term that none of them moved out."""
    origin, term = stored[-1]
    if any(other.column != origin.column for other, _ in stored):
        raise NotApplicable("the elements that the host adds up do not lie alike in local memory")
    parts = tuple(_Stored(other.store, part.sign, origin.row - other.row) for other, part in stored)
    brought = None
    for part in loaded:
        memory, byte = part.element
        written = (a for step in program.steps[:first] for a in step.dram(write=True) if a.memory == memory)
        if any(start < byte + element.size and byte < end for access in written for _, start, end in access.spans):
            raise NotApplicable("the host adds elements that no single store moved out")
        brought = _Loaded(memory[1:], part.sign, byte - term.element[1])
    return _Sum(parts, brought, element.result[0][1:], element.result[1] - term.element[1])


def _used_for_that_alone(
    program: Program, first: int, last: int, sums: Sequence[Computed], covered: dict[int, set[Byte]]
) -> None:
    """Raises NotApplicable if something other than the sums uses what was stored, or the result before it is there."""
    results = {(e.result[0], e.result[1] + n) for e in sums for n in range(e.size)}
    start = min(covered)
    for number in range(start, first):
        others = touched(program.steps[number]) - covered.get(number, set())
        if others & (set().union(*covered.values()) | results):
            raise NotApplicable("what the host adds up is used for something else as well")
    alive = Liveness(program)
    for step in reversed(program.steps[last:]):
        alive.before(step)
    if any(alive.is_read(name, 0, byte) for cells in covered.values() for name, byte in cells - results):
        raise NotApplicable("what the host adds up is read later on")


def _join(edit: Edit, one: _Sum) -> None:
    """Lets one value grow from the writers of all, and from what a load brings."""
    program = edit.program
    values = [edit.value_of(part.store, *program.steps[part.store].local(write=False)) for part in one.stored]
    last, kept = one.stored[-1], values[-1]
    alike = all(len(value.readers) == 1 and value.rows == kept.rows for value in values)
    if not alike or any(value is other for n, value in enumerate(values) for other in values[:n]):
        raise NotApplicable("results that are added up share rows with others: give values rows of their own first")
    starts = sorted((_only_start(value) for value in values), key=lambda start: start[0])
    between = program.steps[starts[0][0] : kept.first]
    if any(access.meets(kept.uses[0][1]) for step in between for access in step.accesses):
        raise NotApplicable("the rows of the sum are in use before: give values rows of their own first")
    scale = last.sign * _factor(program, last.store)
    for part, value in zip(one.stored[:-1], values, strict=False):
        ratio = part.sign * _factor(program, part.store) / scale
        if ratio != 1.0:
            edit.scale_value(value, ratio)
        for number, access in value.writers:
            edit.point(number, access, kept.memory, part.shift)
        edit.gone.add(part.store)
    if one.loaded is not None:
        _load_before(edit, starts[0][0], last.store, one.loaded, one.loaded.sign / scale)
    for start in starts if one.loaded is not None else starts[1:]:
        edit.add_to(*start)
    if last.sign != 1.0:
        edit.scales[last.store] = last.sign
    (written,) = program.steps[last.store].dram(write=True)
    edit.targets[last.store] = (one.tensor, written.spans[0][1] + one.offset)


def _factor(program: Program, store: int) -> float:
    """The factor, not 0, that a store multiplies by."""
    factor = program.steps[store].factor
    if not factor:
        raise NotApplicable("a store does not move its rows out as they are, or scaled")
    return factor


def _load_before(edit: Edit, start: int, store: int, loaded: _Loaded, factor: float) -> None:
    """Inserts a load of elements, times a factor, into the rows that a store reads, before a step."""
    step = edit.program.steps[store]
    (written,), (read,) = step.dram(write=True), step.local(write=False)
    load = load_like(edit.program, written, read, loaded.tensor, loaded.distance)
    if factor != 1.0:
        load = replace(load, settings=tuple(scaled(edit.program.facts, s, factor) for s in load.settings))
    if not start:
        raise NotApplicable("no load is before the result")
    edit.behind.setdefault(start - 1, []).append(load)


def _only_start(value: Value) -> tuple[int, Access]:
    """The write that a value starts with, if it starts whole."""
    starts = [(number, access) for number, access in value.writers if not access.adds]
    if len(starts) != 1 or value.uses[0][1] is not starts[0][1]:
        raise NotApplicable("a result that is added up is started in parts")
    return starts[0]
