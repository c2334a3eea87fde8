"""Unroll: repeat a loop's body with its variable replaced."""

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
from autocomp.targets.simulator.transforms.syntax.rewrite import declared, substitute, walk_statements, with_body

_LARGEST = 16  # copies of a body


class Unroll(Transformation):
    name = "unroll"
    title = "Unroll a loop"
    order = 50
    causes = ("Host", "ReadAfterWrite", "WriteAfterWrite", "Pipeline")
    prior = 0.05
    guidance = """
    Repeat the body of a short loop with its index replaced, in full or by a factor.
    It pays when the host is the limit (Host): addresses become constants and the loop's own work disappears. It also
    makes room for other options: neighbouring iterations can use different rows, and their commands interleave.
    Watch for: on its own it changes nothing for the accelerator; keep the code small (a factor of 2 to 8), and give
    each copy rows of its own if they are to overlap.
    """
    example = """
    for (int j = 0; j < 4; j++) body(j);  ->  body(0); body(1); body(2); body(3);
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """Short innermost loops in full, longer ones by 2 and 4."""
        proposals: dict[tuple[str, int], Proposal] = {}
        for statement in walk_statements(facts.body):
            item = loop(statement) if isinstance(statement, ast.For) else None
            if item is None or any(isinstance(s, ast.For) for s in walk_statements(statement) if s is not statement):
                continue
            for factor in (item.trips, 2, 4):
                if factor <= 8 and 1 < factor <= item.trips and item.trips % factor == 0:
                    reason = f"{factor} iterations of {item.variable} one after the other, with constant addresses"
                    parameters = {"loop": item.variable, "factor": factor}
                    proposals.setdefault((item.variable, factor), Proposal(parameters, reason))
        return list(proposals.values())

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`loop` is unrolled by `factor`, which divides its trips (0: in full)."""
        variable = name_of(parameters, "loop")
        wanted = number_of(parameters, "factor", 0)

        def change(statement: ast.For, item: Loop) -> Statements:
            factor = wanted or item.trips
            if not 1 < factor <= _LARGEST or item.trips % factor:
                raise NotApplicable(f"{item.trips} iterations of {variable!r} do not unroll by {factor}")
            held = statement.body.statements
            local = any(declared(s) for s in held if isinstance(s, ast.Declaration))
            copies: list[ast.Statement] = []
            for number in range(factor):
                first = ast.Binary("*", ast.Name(variable), literal(factor))
                value: ast.Expression = ast.Binary("+", first, literal(number))
                if factor == item.trips:
                    value = literal(number)
                copy = tuple(substitute(s, {variable: value}) for s in held)
                copies.extend((ast.Block(copy),) if local else copy)
            return tuple(copies) if factor == item.trips else (make_loop(variable, item.trips // factor, copies),)

        return with_body(facts.kernel, ast.Block(change_loop(facts.body.statements, variable, change)))
