"""Defer stores: the results of an iteration are written out between the computations of the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from autocomp.kernel import ast
from autocomp.transforms.affine import interval, literal, truth
from autocomp.transforms.arithmetic import replace_sums
from autocomp.transforms.collapse import collapsed
from autocomp.transforms.cost import contraction_cycles, moves_cycles
from autocomp.transforms.double_buffer import doubled, is_doubled, runs_behind
from autocomp.transforms.facts import Facts
from autocomp.transforms.interleave import (
    check_indices,
    computing_part,
    elsewhere,
    index_constants,
    interleave,
    moves_of,
    replaced,
    shifted_iteration,
)
from autocomp.transforms.loops import Loop, make_constant, make_if, make_loop, make_nest
from autocomp.transforms.nest import Statements, change_loop, peel_nest
from autocomp.transforms.parameters import names_of, number_of
from autocomp.transforms.protocol import NotApplicable, Parameters, Proposal, Rewriting
from autocomp.transforms.rewrite import Path, all_names, declared, fresh, names, with_body
from autocomp.transforms.rotation import early_fills, late_stores

_MOST_STEPS = 1 << 14  # of a loop that is looked at one by one


class DeferStores(Rewriting):
    name = "defer_stores"
    title = "Write results out while the next block computes"

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
        """`loop`, several of them outermost first, are collapsed into one; the stores in its body run one iteration
        later, one every `spacing` iterations of the computing nest (0: spread evenly); results that do not alternate
        yet are double-buffered. Where a block of results takes several iterations, the stores are spread over all of
        those of the next block. Loads that the results start from run as much earlier, behind the stores that make
        room for them."""
        loops = names_of(parameters, "loop")
        spacing = number_of(parameters, "spacing", 0)
        if not loops:
            raise NotApplicable("no loop was named")
        late = next((b.tensor for b in facts.buffers if b.is_result and runs_behind(b)), None)
        if late is not None:
            raise NotApplicable(f"the stores of {late!r} run behind their computation already")
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
    steps = _Steps(constants, item)
    period = _period(stores, fills, steps)
    now: ast.Expression = ast.Name(item.variable)
    phase = ast.Binary("%", now, literal(period)) if period > 1 else literal(0)
    start = replace_sums(ast.Binary("-", now, phase))  # of the present block
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
        moves += [moves_of(fill, more) for fill in early]
    condition = None if fills else some
    nest = interleave(computing, moves, condition, taken, spacing=spacing, rounds=(period, phase))
    body = replaced(rest, computing, nest, (*stores, *fills))
    first = shifted_iteration(fills, constants, item.variable, literal(0))
    last = shifted_iteration(stores, constants, item.variable, literal(item.trips - 1))
    held = (*constants, make_constant(name, back), *behind, *body)
    return (*first, make_loop(item.variable, item.trips, held), *last)


def _period(stores: Statements, fills: Statements, steps: _Steps) -> int:
    """Iterations of the loop to a block of results, where stores run in the last of them and fills in the first; 1
    where that is not so."""
    trips = steps.item.trips
    if trips > _MOST_STEPS:
        return 1
    last = steps.of(stores[0])
    period = last.index(True) + 1 if True in last else 1
    ends = [number % period == period - 1 for number in range(trips)]
    starts = [number % period == 0 for number in range(trips)]
    regular = trips % period == 0 and trips > period and all(steps.of(store) == ends for store in stores)
    return period if regular and all(steps.of(fill) == starts for fill in fills) else 1


@dataclass(frozen=True)
class _Steps:
    """The iterations of a loop, `constants` being what its body makes of its index."""

    constants: Sequence[ast.Declaration]
    item: Loop

    def of(self, statement: ast.Statement) -> list[bool | None]:
        """Whether conditions on the index alone let a statement run, by iteration; None where that is not known."""
        calls = tuple(ast.ExpressionStatement(guard) for guard in peel_nest(statement)[1] if self._decide(guard))
        found = shifted_iteration(calls, self.constants, self.item.variable, ast.Name(self.item.variable))
        tests = [guard.expression for guard in found if isinstance(guard, ast.ExpressionStatement)]
        result: list[bool | None] = []
        for number in range(self.item.trips):
            here = {self.item.variable: (number, number)}
            verdicts = [truth(interval(test, here) or (0, 1)) for test in tests]
            result.append(False if False in verdicts else None if None in verdicts else True)
        return result

    def always(self, statements: Statements) -> Statements:
        """The statements without those conditions."""
        nests = (peel_nest(statement) for statement in statements)
        parts = ((loops, [g for g in guards if not self._decide(g)], held) for loops, guards, held in nests)
        return tuple(s for loops, guards, held in parts for s in make_nest(loops, make_if(guards, held)))

    def _decide(self, guard: ast.Expression) -> bool:
        return names(guard) <= frozenset({self.item.variable}).union(*map(declared, self.constants))
