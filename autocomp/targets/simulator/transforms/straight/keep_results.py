"""Keep results: what a step loads that another one stored is used where it lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.cost import move_cycles
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.parameters import names_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.straight.edit import Edit
from autocomp.targets.simulator.transforms.straight.elements import lie, origins
from autocomp.targets.simulator.transforms.straight.footprint import Change
from autocomp.targets.simulator.transforms.straight.program import Program, ProgramStep, is_written_out, program_of
from autocomp.targets.simulator.transforms.straight.values import Value, keeps, values_of

_ROUND_TRIPS = 3  # latencies that a result needs through DRAM: out, a fence, and in again


class KeepResults(Transformation):
    name = "keep_results"
    title = "Use results where they lie"
    takes = ("tensors",)
    order = 270
    causes = ("Fence", "Bus", "MemoryLatency", "ReadAfterWrite")
    uses = ("load", "store", "contraction")
    after = ("add_in_place",)
    guidance = """
    Where a result is moved out and loaded again as an operand, let the operand name the rows that still hold the
    result. If the move out scales it, as by -1, load the other factor of the product with that scale instead. Where
    it is loaded again to be added to, add to the rows of the result.
    It pays when operations follow one another and each waits at a Fence for the result of the one before.
    Watch for: the machine must take operands from the memory in which results lie; nothing may overwrite them before
    the last use; an activation that the move applies has to be one that operands can go through, and a narrower type
    is lost.
    """
    example = """
    store(y, r); fence(); load(y, 4); multiply(4);  ->  store(y, r); multiply(r);
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """All tensors that are stored and loaded, then each alone."""
        if not is_written_out(facts):
            return ()
        kinds: dict[str, set[str]] = {}
        for site in facts.sites:
            if site.pointer is not None:
                kinds.setdefault(site.pointer.tensor, set()).add(site.kind)
        names = [name for name, roles in kinds.items() if {"load", "store"} <= roles]
        choices = [names, *([name] for name in names if len(names) > 1)] if names else []
        return [
            Proposal({"tensors": chosen}, f"{', '.join(chosen)} stays on the accelerator", _saved(facts, chosen))
            for chosen in choices
        ]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`tensors` (default: all) of which nothing is loaded that a store moved out, as it is or scaled, from rows
        that keep it until its last use: users read those rows. Where there is a scale, the other factor of each
        product is loaded with it once more; a function that the store applied, the computation has to apply. The
        machine must take operands from the memory of results. A value that was loaded and is added to grows in the rows
        that it came from, where nothing else needs these."""
        wanted = names_of(parameters, "tensors")
        program = program_of(facts)
        edit = Edit(program)
        grown: dict[Value, int] = {}  # values that lie in rows of others from now on, and how far away
        for value in values_of(program):
            load = _loaded(program, value) if value.movable else None
            if load is None or (wanted and load.reads[0].memory[1:] not in wanted):
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
        if not edit.gone:
            raise NotApplicable("nothing is loaded that still lies where it was stored from")
        return edit.kernel()


@dataclass(frozen=True)
class _Source:
    """The value that a load brings once more, `shift` rows further on, and what moving it out and in again does to
    elements."""

    value: Value
    shift: int
    done: Change


def _saved(facts: Facts, tensors: Sequence[str]) -> float:
    loads = [s for s in facts.sites if s.kind == "load" and s.pointer is not None and s.pointer.tensor in tensors]
    return _ROUND_TRIPS * sum(move_cycles(facts, site) for site in loads)


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
