"""Defer stores: the results of an iteration are written out between the computations of the next one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.cost import contraction_cycles, moves_cycles
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.memory.interleave import (
    Moves,
    check_indices,
    computing_part,
    elsewhere,
    index_constants,
    interleave,
    moves_of,
    replaced,
    shifted_iteration,
)
from autocomp.targets.simulator.transforms.memory.periods import Steps
from autocomp.targets.simulator.transforms.memory.synchronisation import ordering
from autocomp.targets.simulator.transforms.nests.collapse import collapsed
from autocomp.targets.simulator.transforms.nests.double_buffer import doubled, is_doubled, runs_behind
from autocomp.targets.simulator.transforms.nests.rotation import early_fills, late_stores
from autocomp.targets.simulator.transforms.parameters import names_of, number_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.syntax.affine import literal
from autocomp.targets.simulator.transforms.syntax.arithmetic import replace_sums
from autocomp.targets.simulator.transforms.syntax.loops import Loop, make_constant, make_loop
from autocomp.targets.simulator.transforms.syntax.nest import Statements, change_loop
from autocomp.targets.simulator.transforms.syntax.rewrite import Path, all_names, declared, fresh, with_body


class DeferStores(Transformation):
    name = "defer_stores"
    title = "Write results out while the next block computes"
    order = 200
    causes = ("WriteAfterRead", "Fence", "Idle", "Drain")
    uses = ("store",)
    after = ("keep_accumulator", "widen_moves")
    about_results = True
    guidance = """
    Give the results two places: one is written out while the other accumulates the next block. Spread the stores
    between the computations of that block; use a fence only where the host or another command really reads the data.
    It pays when the compute unit is Idle while the store unit is Busy, or waits on WriteAfterRead as a block starts.
    Watch for: a block may use half of the result rows only; alternate by the parity of the output block; the results
    of the last block still have to be written after the loop.
    """
    example = """
    for (int b …) { compute(b); store(b); }
      ->  for (int b …) { compute(b) with pieces of store(b - 1) in between; } store(last);
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """All loops around both computation and stores as one, then fewer of them; evenly spread or earlier."""
        chain = _common_loops(facts)
        hidden = min(moves_cycles(facts, "store"), contraction_cycles(facts))
        candidates: list[Proposal] = []
        for start in range(len(chain)):
            loops = [item.variable for item in chain[start:]]
            gain = hidden * (1 - 1 / prod(item.trips for item in chain[start:]))
            for spacing in (0, 2, 4):
                pace = "spread evenly" if not spacing else f"one every {spacing} iterations"
                reason = f"store a block's results during the next one's computation, over {', '.join(loops)}; {pace}"
                candidates.append(Proposal({"loop": loops, "spacing": spacing}, reason, gain))
        return candidates

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`loop`, several of them outermost first, are collapsed into one. The stores in its body run one iteration
        later, one every `spacing` iterations of the computing nest (0: spread evenly); results that do not alternate
        yet are double-buffered. Where a block of results takes several iterations, the stores are spread over all of
        those of the next block. Loads that the results start from run as much earlier, after the stores that make room
        for them."""
        loops = names_of(parameters, "loop")
        spacing = number_of(parameters, "spacing", 0)
        if not loops:
            raise NotApplicable("no loop was named")
        late = next((b.tensor for b in facts.buffers if b.is_result and runs_behind(b)), None)
        if late is not None:
            raise NotApplicable(f"the stores of {late!r} run after their computation already")
        facts, variable = collapsed(facts, loops)
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


def _common_loops(facts: Facts) -> tuple[Loop, ...]:
    """The loops around the first contraction that a store is in as well, outermost first."""
    stores = [site for site in facts.sites if site.kind == "store"]
    for site in facts.contractions[:1]:
        shared = set[Path]().union(*(store.loop_paths for store in stores))
        return tuple(item for item, path in zip(site.loops, site.loop_paths, strict=True) if path in shared)
    return ()


def _rotate(facts: Facts, statement: ast.For, item: Loop, spacing: int, taken: set[str]) -> Statements:
    constants = index_constants(statement.body.statements)
    rest = statement.body.statements[len(constants) :]
    indices = frozenset({item.variable}).union(*map(declared, constants))
    stores, fills = late_stores(facts, rest, indices), early_fills(facts, rest, indices)
    check_indices(rest, (*stores, *fills))
    computing = computing_part(facts, rest)
    if not stores or not computing:
        raise NotApplicable(f"the body of the loop over {item.variable!r} does not both compute and store")
    if item.trips < 2:
        raise NotApplicable(f"the loop over {item.variable!r} runs once")
    steps = Steps(constants, item)
    period = steps.period(fills, stores)  # iterations that a block of results takes
    now, start = ast.Name(item.variable), steps.start(period)
    # The iteration before the first counts as the last one, so that / and % never meet a negative number.
    name = fresh(f"{item.variable}_last", taken)
    taken.add(name)
    back = ast.Binary("%", replace_sums(ast.Binary("+", start, literal(item.trips - 1))), literal(item.trips))
    leaving = steps.always(stores) if period > 1 else stores
    behind, late = elsewhere(leaving, constants, item.variable, ast.Name(name), "last", taken)
    some = ast.Binary(">", now, literal(period - 1))
    moves = [moves_of(store, some) if fills else moves_of(store) for store in late]
    if fills:
        coming = steps.always(fills) if period > 1 else fills
        following = replace_sums(ast.Binary("+", start, literal(period)))
        ahead, early = elsewhere(coming, constants, item.variable, following, "next", taken)
        behind = (*behind, *ahead)
        more = ast.Binary("<", now, literal(item.trips - period))
        moves += [Moves((), (), order)] if (order := ordering(facts.machine, rest, stores, fills)) else []
        moves += [moves_of(fill, more) for fill in early]
    condition = None if fills else some
    nest = interleave(computing, moves, condition, taken, spacing=spacing, rounds=(period, steps.phase(period)))
    body = replaced(rest, computing, nest, (*stores, *fills))
    first = shifted_iteration(fills, constants, item.variable, literal(0))
    last = shifted_iteration(stores, constants, item.variable, literal(item.trips - 1))
    held = (*constants, make_constant(name, back), *behind, *body)
    return (*first, make_loop(item.variable, item.trips, held), *last)
