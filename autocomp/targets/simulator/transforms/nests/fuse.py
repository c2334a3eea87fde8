"""Fuse: join neighbouring loops over the same range into one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.dependences import check_fusion
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.parameters import name_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.syntax.loops import Loop, loop, make_loop
from autocomp.targets.simulator.transforms.syntax.rewrite import (
    blocks,
    declared,
    fresh,
    names,
    substitute,
    walk_statements,
    with_blocks,
    with_body,
    with_statements,
)


class Fuse(Transformation):
    name = "fuse"
    title = "Fuse neighbouring loops"
    order = 40
    causes = ("Idle", "Fence", "Host")
    prior = 0.1
    guidance = """
    Join two loops over the same range into one, so that the units work side by side rather than one after the other.
    It pays when one unit is Idle through the whole first loop and another through the second, or when results take a
    trip through DRAM (or a fence) only because they are produced in one loop and consumed in the next.
    Watch for: an iteration of the second loop may only read what this or an earlier iteration of the first has made.
    """
    example = """
    for (int i …) load(i); for (int i …) compute(i);  ->  for (int i …) { load(i); compute(i); }
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """Every loop whose next sibling runs as often."""
        proposals: list[Proposal] = []
        for block in walk_statements(facts.body):
            held = block.statements if isinstance(block, ast.Block) else ()
            for first, second in pairwise(held):
                pair = _pair(first, second)
                if pair is not None:
                    reason = f"the two loops over {pair[0].variable} and {pair[1].variable} run side by side"
                    proposals.append(Proposal({"loop": pair[0].variable, "with": pair[1].variable}, reason))
        return proposals

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`loop` and `with` are the variables of a loop and of its next sibling, which run equally often and may run
        side by side. No iteration of the second touches rows that a later one of the first does,
        unless both only read."""
        first, second = name_of(parameters, "loop"), name_of(parameters, "with")
        done = False

        def visit(given: tuple[ast.Statement, ...]) -> tuple[ast.Statement, ...]:
            nonlocal done
            result: list[ast.Statement] = []
            for statement in given:
                pair = _pair(result[-1], statement) if result and not done else None
                if pair is not None and (pair[0].variable, pair[1].variable) == (first, second):
                    check_fusion(facts, result[-1], statement)
                    result[-1] = _joined(result[-1], statement, *pair)
                    done = True
                    continue
                inner = tuple(with_statements(held, visit(held.statements)) for held in blocks(statement))
                result.append(with_blocks(statement, inner))
            return tuple(result)

        body = visit(facts.body.statements)
        if not done:
            raise NotApplicable(f"no loop over {first!r} is followed by one over {second!r} that runs as often")
        return with_body(facts.kernel, ast.Block(body))


def _pair(first: ast.Statement, second: ast.Statement) -> tuple[Loop, Loop] | None:
    one, other = loop(first), loop(second)
    return (one, other) if one is not None and other is not None and one.trips == other.trips else None


def _joined(first: ast.Statement, second: ast.Statement, one: Loop, other: Loop) -> ast.Statement:
    """The first loop with the statements of both, over its variable unless that means something else in one of them."""
    bodies = [(blocks(first)[0], one), (blocks(second)[0], other)]
    taken = [declared(held) | names(held) - {item.variable} for held, item in bodies]
    variable = fresh(one.variable, taken[0] | taken[1])
    joined: list[ast.Statement] = []
    for held, item in bodies:
        renamed = {item.variable: ast.Name(variable)} if item.variable != variable else {}
        joined += [substitute(statement, renamed) for statement in held.statements]
    return make_loop(variable, one.trips, joined)
