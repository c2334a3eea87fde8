"""Defer stores: the results of an iteration are written out between the computations of the next one."""

from __future__ import annotations

from collections.abc import Sequence

from autocomp.kernel import ast
from autocomp.transforms.affine import literal
from autocomp.transforms.cost import contraction_cycles, moves_cycles
from autocomp.transforms.double_buffer import doubled, is_doubled, runs_behind
from autocomp.transforms.facts import Facts
from autocomp.transforms.interleave import (
    computing_part,
    index_constants,
    interleave,
    moves_of,
    renamed_constants,
    replaced,
    shifted_iteration,
    used_constants,
)
from autocomp.transforms.loops import Loop, make_constant, make_loop
from autocomp.transforms.nest import Statements, change_loop
from autocomp.transforms.parameters import name_of, number_of
from autocomp.transforms.protocol import NotApplicable, Parameters, Proposal, Rewriting
from autocomp.transforms.rewrite import all_names, declared, fresh, substitute, with_body
from autocomp.transforms.rotation import late_stores


class DeferStores(Rewriting):
    name = "defer_stores"
    title = "Write results out while the next block computes"

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """The loop whose body both computes and stores."""
        loops = [item.variable for site in facts.contractions[:1] for item in reversed(site.loops)]
        gain = min(moves_cycles(facts, "store"), contraction_cycles(facts))
        candidates: list[Proposal] = []
        for variable in loops:
            for spacing in (0, 2, 4):
                pace = "spread evenly" if not spacing else f"one every {spacing} iterations"
                reason = f"store the results of a block during the next one's computation; {pace}"
                candidates.append(Proposal({"loop": variable, "spacing": spacing}, reason, gain))
        return candidates

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """The stores in the body of `loop` run one iteration later, one every `spacing` iterations of the computing
        nest (0: spread evenly); results that do not alternate yet are double-buffered."""
        variable = name_of(parameters, "loop")
        spacing = number_of(parameters, "spacing", 0)
        late = next((b.tensor for b in facts.buffers if b.is_result and runs_behind(b)), None)
        if late is not None:
            raise NotApplicable(f"the stores of {late!r} run behind their computation already")
        tensors = [
            b.tensor
            for b in facts.buffers
            if b.is_result
            and not is_doubled(b)
            and any(facts.beside_computation(site, variable) for site in b.sites("store"))
        ]
        facts = doubled(facts, tensors)
        taken = set(all_names(facts.kernel))

        def change(statement: ast.For, item: Loop) -> Statements:
            return _rotate(facts, statement, item, spacing, taken)

        return with_body(facts.kernel, ast.Block(change_loop(facts.body.statements, variable, change, facts.computes)))


def _rotate(facts: Facts, statement: ast.For, item: Loop, spacing: int, taken: set[str]) -> Statements:
    constants = index_constants(statement.body.statements)
    rest = statement.body.statements[len(constants) :]
    roles = {site.call.function: site.kind for site in facts.sites}
    stores = late_stores(facts, rest, frozenset({item.variable}).union(*map(declared, constants)))
    computing = computing_part(rest, roles)
    if not stores or not computing:
        raise NotApplicable(f"the body of the loop over {item.variable!r} does not both compute and store")
    if item.trips < 2:
        raise NotApplicable(f"the loop over {item.variable!r} runs once")
    # The iteration before the first counts as the last one, so that / and % never meet a negative number.
    count = literal(item.trips)
    name = fresh(f"{item.variable}_last", taken)
    taken.add(name)
    before = make_constant(
        name, ast.Binary("%", ast.Binary("+", ast.Name(item.variable), literal(item.trips - 1)), count)
    )
    behind, values = renamed_constants(used_constants(constants, stores), "last", taken)
    earlier = {item.variable: ast.Name(name)}
    behind = (before, *(substitute(declaration, earlier) for declaration in behind))
    moves = [moves_of(substitute(store, {**values, **earlier})) for store in stores]
    some = ast.Binary(">", ast.Name(item.variable), literal(0))
    nest = interleave(computing, moves, some, taken, spacing=spacing)
    body = replaced(rest, computing, nest, stores)
    last = shifted_iteration(stores, constants, item.variable, literal(item.trips - 1))
    return (make_loop(item.variable, item.trips, (*constants, *behind, *body)), *last)
