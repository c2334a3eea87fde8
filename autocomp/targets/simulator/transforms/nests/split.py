"""Split: distribute a loop over two parts of its body, or give its first iterations a loop of their own."""

from __future__ import annotations

from collections.abc import Sequence

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.parameters import name_of, number_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.syntax.affine import literal
from autocomp.targets.simulator.transforms.syntax.loops import Loop, loop, make_loop
from autocomp.targets.simulator.transforms.syntax.nest import Statements, change_loop
from autocomp.targets.simulator.transforms.syntax.rewrite import substitute, walk, walk_statements, with_body


class Split(Transformation):
    name = "split"
    title = "Split a loop in two, or its body into two loops"
    order = 30
    causes = ("Pairing", "Drain", "Bus")
    prior = 0.02
    guidance = """
    Distribute a loop over parts of its body (first all moves, then all computation), or peel its first or last
    iterations into a loop of their own.
    It pays when two parts want different loop orders or block sizes, when a condition inside the loop is only about
    its first or last iteration, and as the step before staging an operand or prefetching.
    Watch for: what the first part produces has to stay in local memory until the second part reads it, so every
    iteration needs rows of its own.
    """
    example = """
    for (int k …) { load(k); compute(k); }  ->  for (int k …) load(k);
                                                for (int k …) compute(k);
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """The first iteration apart where a condition asks for it; the body in two at each of its statements."""
        proposals: list[Proposal] = []
        for statement in walk_statements(facts.body):
            item = loop(statement) if isinstance(statement, ast.For) else None
            if item is None or item.trips < 2:
                continue
            if _tests_first(statement, item.variable):
                reason = f"what happens only when {item.variable} is 0 gets code of its own"
                proposals.append(Proposal({"loop": item.variable, "peel": 1}, reason))
        return proposals

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """Either `at`: the number of the body's statement that starts the second of two loops over `loop`; or `peel`:
        how many of the first iterations of `loop` become a loop of their own."""
        variable = name_of(parameters, "loop")
        peel, at = number_of(parameters, "peel", 0), number_of(parameters, "at", 0)
        if (peel > 0) == (at > 0):
            raise NotApplicable("give either 'peel' or 'at', a number of 1 or more")

        def change(statement: ast.For, item: Loop) -> Statements:
            held = statement.body.statements
            if at:
                if at >= len(held) or any(isinstance(s, ast.Declaration) for s in held[:at]):
                    raise NotApplicable(f"the body of the loop over {variable!r} cannot be cut at statement {at}")
                return make_loop(variable, item.trips, held[:at]), make_loop(variable, item.trips, held[at:])
            if peel >= item.trips:
                raise NotApplicable(f"the loop over {variable!r} has {item.trips} iterations")
            later = ast.Binary("+", ast.Name(variable), literal(peel))
            rest = tuple(substitute(s, {variable: later}) for s in held)
            return make_loop(variable, peel, held), make_loop(variable, item.trips - peel, rest)

        return with_body(facts.kernel, ast.Block(change_loop(facts.body.statements, variable, change)))


def _tests_first(statement: ast.Statement, variable: str) -> bool:
    test = ast.Binary("==", ast.Name(variable), literal(0))
    return any(isinstance(node, ast.Conditional | ast.If) and node.condition == test for node in walk(statement))
