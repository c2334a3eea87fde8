"""Keep results: what a step loads that another one stored is used where it lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.cost import move_cycles
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.parameters import names_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.straight.edit import Edit
from autocomp.targets.simulator.transforms.straight.elements import lie, origins
from autocomp.targets.simulator.transforms.straight.footprint import Change
from autocomp.targets.simulator.transforms.straight.program import Program, is_written_out, program_of
from autocomp.targets.simulator.transforms.straight.values import Value, keeps, loaded_by_one, values_of

_ROUND_TRIPS = 3  # latencies that a result needs through DRAM: out, a fence, and in again


class KeepResults(Transformation):
    name = "keep_results"
    title = "Use results where they lie"
    order = 270
    causes = ("Fence", "Bus", "MemoryLatency", "ReadAfterWrite")
    uses = ("load", "store", "contraction")
    after = ("add_in_place",)
    guidance = """
    Where a result is moved out and loaded again as an operand, let the operand name the rows that still hold the
    result. If the move out scales it, as by -1, load the other factor of the product with that scale instead.
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
        machine must take operands from the memory of results."""
        wanted = names_of(parameters, "tensors")
        program = program_of(facts)
        edit = Edit(program)
        for value in values_of(program):
            load = loaded_by_one(program, value) if value.movable else None
            if load is None or (wanted and load.reads[0].memory[1:] not in wanted):
                continue
            source = _source(program, value)
            if source is None:
                continue
            memory, shift, done = source
            edit.gone.add(value.first)
            for number, access in value.readers:
                edit.point(number, access, memory, shift)
                if done.function and access.operand is not None:
                    edit.functions[number, access.operand] = done.function
                if done.factor != 1.0:
                    edit.scale_product(number, done.factor, access)
        if not edit.gone:
            raise NotApplicable("nothing is loaded that still lies where it was stored from")
        return edit.kernel()


def _saved(facts: Facts, tensors: Sequence[str]) -> float:
    loads = [s for s in facts.sites if s.kind == "load" and s.pointer is not None and s.pointer.tensor in tensors]
    return _ROUND_TRIPS * sum(move_cycles(facts, site) for site in loads)


def _source(program: Program, value: Value) -> tuple[str, int, Change] | None:
    """Where what a load brings lies already up to the last use of it: the memory, how many rows further on, and
    what moving it out and in again does to elements."""
    load = program.steps[value.first]
    wanted = lie(load)
    sources = origins(program, value.first, tuple(wanted)) if wanted else None
    if sources is None or load.factor is None:
        return None
    places: set[tuple[str, int, Change]] = set()
    for origin, (row, column) in zip(sources, wanted.values(), strict=True):
        store = program.steps[origin.store]
        if store.change is None or origin.column != column:
            return None
        done = replace(store.change, factor=store.change.factor * load.factor)
        places.add((store.local(write=False)[0].memory, origin.row - row, done))
    stores = {origin.store for origin in sources}
    if any(not keeps(program, program.steps[s].local(write=False)[0], s, value.last) for s in stores):
        return None
    return places.pop() if len(places) == 1 else None
