"""Periods: the parts of a loop's body that run only in the first, or only in the last, of every N iterations.

A loop made from several nested ones has such parts: the statements that were before and after the inner loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.memory.interleave import shifted_iteration
from autocomp.targets.simulator.transforms.syntax.affine import interval, literal, truth
from autocomp.targets.simulator.transforms.syntax.arithmetic import replace_sums
from autocomp.targets.simulator.transforms.syntax.loops import Loop, make_if, make_nest
from autocomp.targets.simulator.transforms.syntax.nest import Statements, peel_nest
from autocomp.targets.simulator.transforms.syntax.rewrite import declared, names

_MOST_STEPS = 1 << 14  # of a loop that is looked at one by one


@dataclass(frozen=True)
class Steps:
    """The iterations of a loop, `constants` being what its body makes of its index."""

    constants: Sequence[ast.Declaration]
    item: Loop

    def period(self, first: Statements, last: Statements = ()) -> int:
        """Iterations from one run of statements to the next, where `first` run in the first of them and `last` in the
        last, and the loop has several such periods; 1 where that is not so."""
        trips = self.item.trips
        if trips > _MOST_STEPS:
            return 1
        runs = [number for number, verdict in enumerate(self._runs((*last, *first)[0])) if verdict]
        starts = [*(number + 1 for number in runs), trips] if last else [*runs[1:], trips]
        first_start = starts[0]
        if trips % first_start or trips == first_start:
            return 1
        regular = all(self._runs(s) == [n % first_start == first_start - 1 for n in range(trips)] for s in last)
        return (
            first_start
            if regular and all(self._runs(s) == [n % first_start == 0 for n in range(trips)] for s in first)
            else 1
        )

    def phase(self, period: int) -> ast.Expression:
        """The number of the present iteration in its period."""
        return ast.Binary("%", ast.Name(self.item.variable), literal(period)) if period > 1 else literal(0)

    def start(self, period: int) -> ast.Expression:
        """The first iteration of the present period."""
        return replace_sums(ast.Binary("-", ast.Name(self.item.variable), self.phase(period)))

    def always(self, statements: Statements) -> Statements:
        """The statements without those conditions that the index decides."""
        nests = (peel_nest(statement) for statement in statements)
        parts = ((loops, [g for g in guards if not self._decide(g)], held) for loops, guards, held in nests)
        return tuple(s for loops, guards, held in parts for s in make_nest(loops, make_if(guards, held)))

    def _runs(self, statement: ast.Statement) -> list[bool | None]:
        """True for iterations where conditions on the index alone let a statement run; None where that is unknown."""
        calls = tuple(ast.ExpressionStatement(guard) for guard in peel_nest(statement)[1] if self._decide(guard))
        shifted = shifted_iteration(calls, self.constants, self.item.variable, ast.Name(self.item.variable))
        tests = [guard.expression for guard in shifted if isinstance(guard, ast.ExpressionStatement)]
        result: list[bool | None] = []
        for number in range(self.item.trips):
            here = {self.item.variable: (number, number)}
            verdicts = [truth(interval(test, here) or (0, 1)) for test in tests]
            result.append(False if False in verdicts else None if None in verdicts else True)
        return result

    def _decide(self, guard: ast.Expression) -> bool:
        return names(guard) <= frozenset({self.item.variable}).union(*map(declared, self.constants))
