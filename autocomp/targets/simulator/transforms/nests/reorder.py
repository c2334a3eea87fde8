"""Reorder: exchange the loops of a perfect nest."""

from __future__ import annotations

from collections.abc import Sequence

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.dependences import kept_over, may_meet, operands_below
from autocomp.targets.simulator.transforms.analysis.facts import Facts, Operand
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.nests.double_buffer import runs_ahead, turns_of
from autocomp.targets.simulator.transforms.parameters import names_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.syntax.loops import Loop, make_if, make_nest
from autocomp.targets.simulator.transforms.syntax.nest import Statements, change_loop, peel_nest
from autocomp.targets.simulator.transforms.syntax.rewrite import with_body


class Reorder(Transformation):
    name = "reorder"
    title = "Change the order of nested loops"
    order = 20
    causes = ("Bus", "MemoryLatency", "ReadAfterWrite", "WriteAfterWrite", "Drain")
    prior = 0.3
    guidance = """
    Exchange neighbouring loops, so that the operand that is dearest to move changes slowest, or so that successive
    commands write different rows.
    It pays when the innermost loop fetches what the next outer iteration fetches again, or when each command waits
    for the one before it (ReadAfterWrite, WriteAfterWrite) because both touch the same rows.
    Watch for: an accumulation must still start from the right value; whatever initialises or writes out a result has
    to sit at the loop level where its reduction starts or ends.
    """
    example = """
    for (int i …) for (int j …) body(i, j);  ->  for (int j …) for (int i …) body(i, j);
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """Each loop of the computing nest as the innermost one, and exchanges of neighbours."""
        orders: list[list[str]] = []
        for site in facts.contractions[:1]:
            names = [item.variable for item in site.loops]
            orders += [[*names[:n], *names[n + 1 :], names[n]] for n in range(len(names) - 2, -1, -1)]
            orders += [[*names[:n], names[n + 1], names[n], *names[n + 2 :]] for n in range(len(names) - 2, -1, -1)]
        present = [item.variable for site in facts.contractions[:1] for item in site.loops]
        changed = [_changed_part(order, present) for order in orders]
        return [Proposal({"loops": order}, f"run the loops in the order {', '.join(order)}") for order in changed]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`loops` names the loops of a perfect nest in their new order, outermost first."""
        order = names_of(parameters, "loops")
        return with_body(facts.kernel, ast.Block(reordered(facts, order)))


def reordered(facts: Facts, order: Sequence[str]) -> Statements:
    """The kernel's statements with a perfect nest's loops in another order; conditions move inside. Raises
    NotApplicable, also where the array keeps an operand from one iteration to the next."""
    statements = facts.body.statements
    for variable in order:
        if variable in kept_over(facts):
            raise NotApplicable(f"the array keeps an operand over {variable!r}; reorder before reusing weights")
    if len(order) < 2 or len(set(order)) != len(order):
        raise NotApplicable("an order names at least two loops, each once")
    changed: list[ast.For] = []

    def change(statement: ast.For, item: Loop) -> Statements:
        loops, guards, held = peel_nest(statement)
        present = [entry for entry in loops[: len(order)] if entry.variable in order]
        if len(present) != len(order):
            return (statement,)
        if [entry.variable for entry in present] == list(order):
            return (statement,)
        changed.append(statement)
        by_name = {entry.variable: entry for entry in loops}
        nest = [by_name[name] for name in order] + list(loops[len(order) :])
        return make_nest(nest, make_if(guards, held))

    result = statements
    for name in order:
        try:
            result = change_loop(statements, name, change)
        except NotApplicable:
            continue
        if changed:
            for nest in changed:
                _check_moves(facts, nest, frozenset(order))
            return result
    raise NotApplicable(f"{', '.join(order)} are not the loops of a perfect nest in another order")


def _check_moves(facts: Facts, nest: ast.Statement, order: frozenset[str]) -> None:
    """Raises NotApplicable if moves in a nest depend on the order of its iterations: if they fill a buffer by turns of
    these loops, or results give way to those of the next block."""
    below = operands_below(facts, nest)
    shared = {guard for operand in below if operand.site.kind == "contraction" for guard in operand.site.guards}
    for buffer in facts.buffers:
        loads = [o for o in below if o in buffer.operands and o.site.kind == "load"]
        uses = [o for o in below if o in buffer.operands and o.site.kind != "load"]
        turns = turns_of(buffer)
        if turns:
            ahead = bool(loads and turns & order)
        else:  # two places over two iterations are not a remainder
            ahead = runs_ahead(buffer) and any(_fills_later(facts, o, use, order) for o in loads for use in uses)
        if ahead:
            raise NotApplicable(f"{buffer.tensor!r} alternates over these loops; reorder before that")
    moves = [o for o in below if o.site.kind in ("load", "store") and not shared.issuperset(o.site.guards)]
    loaded, stored = ({o.memory for o in moves if o.site.kind == kind} for kind in ("load", "store"))
    if loaded & stored:
        raise NotApplicable(
            f"rows of {min(loaded & stored)} that are stored in the nest give way to what is loaded there"
        )


def _fills_later(facts: Facts, load: Operand, use: Operand, order: frozenset[str]) -> bool:
    """True if a load may fill rows that a use reads in a later iteration of one of these loops."""
    places = set(use.site.loop_paths)
    around = (item for item, path in zip(load.site.loops, load.site.loop_paths, strict=True) if path in places)
    return any(item.variable in order and may_meet(facts, use, item, load, item) for item in around)


def _changed_part(order: Sequence[str], present: Sequence[str]) -> list[str]:
    """The part of an order from its first change to its last."""
    changes = [n for n, (new, old) in enumerate(zip(order, present, strict=True)) if new != old]
    return list(order[changes[0] : changes[-1] + 1]) if changes else list(order)
