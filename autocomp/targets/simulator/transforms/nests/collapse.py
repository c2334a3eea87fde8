"""Collapse: one loop in place of a nest, so that work can move across the ends of the inner loops."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.nests.double_buffer import runs_ahead
from autocomp.targets.simulator.transforms.parameters import names_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.syntax.affine import literal
from autocomp.targets.simulator.transforms.syntax.loops import Loop, loop, make_constant, make_if, make_loop
from autocomp.targets.simulator.transforms.syntax.nest import Statements, change_loop
from autocomp.targets.simulator.transforms.syntax.rewrite import all_names, assigned, declared, fresh, names, with_body


class Collapse(Transformation):
    name = "collapse"
    title = "Collapse nested loops into one"
    order = 190
    causes = ("Idle", "ReadAfterWrite", "MemoryLatency")
    prior = 0.02
    guidance = """
    Count the iterations of nested loops in a single loop and derive the indices from the count, so that "the next
    iteration" also exists at the end of an inner loop.
    It pays when the units run dry each time an inner loop ends (Idle, ReadAfterWrite, MemoryLatency between blocks and
    not inside them), as the step before prefetching or deferring stores.
    Watch for: code before or after an inner loop needs a condition on its first or last iteration; divisions
    and remainders in the indices cost host time.
    """
    example = """
    for (int i = 0; i < M; i++) for (int j = 0; j < N; j++) body(i, j);
      ->  for (int s = 0; s < M * N; s++) body(s / N, s % N);
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """The loops around the innermost loop that also moves data, outermost first."""
        chain = pipeline_loops(facts)
        return [Proposal({"loops": list(chain)}, f"count {', '.join(chain)} in one loop")]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`loops` are nested in each other, outermost first. Statements before or after an inner loop run in the first
        or last of its iterations."""
        chosen = names_of(parameters, "loops")
        if len(chosen) < 2:
            raise NotApplicable(f"collapsing needs at least two loops, got {len(chosen)}")
        step = fresh("step", all_names(facts.kernel))

        def change(statement: ast.For, outermost: Loop) -> Statements:
            loops = [outermost]
            held = _flatten(statement.body.statements, list(chosen[1:]), loops, ())
            total = prod(item.trips for item in loops)
            inner = total
            indices: list[ast.Statement] = []
            for item in loops:
                inner //= item.trips
                value: ast.Expression = ast.Name(step)
                if inner > 1:
                    value = ast.Binary("/", value, literal(inner))
                if item is not loops[0]:
                    value = ast.Binary("%", value, literal(item.trips))
                indices.append(make_constant(item.variable, value))
            return (make_loop(step, total, (*indices, *held)),)

        return with_body(facts.kernel, ast.Block(change_loop(facts.body.statements, chosen[0], change, facts.computes)))


def collapsed(facts: Facts, loops: Sequence[str]) -> tuple[Facts, str]:
    """The facts with nested loops, outermost first, counted in one, and its variable; one loop stays as it is."""
    if len(loops) < 2:
        return facts, loops[0]
    before = all_names(facts.kernel)
    facts = facts.with_kernel(Collapse().apply(facts, {"loops": list(loops)}))
    return facts, next(i.variable for s in facts.contractions for i in s.loops if i.variable not in before)


def pipeline_loops(facts: Facts) -> tuple[str, ...]:
    """The loops from the outside in, down to the last one whose body holds a nest with computation and, in front of
    it, moves of operands."""
    for site in facts.contractions[:1]:
        loads = [s for b in facts.buffers if b.is_input and not runs_ahead(b) for s in b.sites("load")]
        depth = 0
        for number in range(1, len(site.loops) + 1):
            around = site.loop_paths[:number]
            if any(s.loop_paths[:number] == around and s.path < site.path for s in loads):
                depth = number
        return tuple(item.variable for item in site.loops[:depth])
    return ()


def _flatten(
    statements: Statements, remaining: list[str], loops: list[Loop], guards: tuple[ast.Expression, ...]
) -> Statements:
    """The body of the innermost loop, with what surrounds it made conditional."""
    if not remaining:
        return statements
    where = [
        n for n, s in enumerate(statements) if (counted := loop(s)) is not None and counted.variable == remaining[0]
    ]
    if len(where) != 1:
        raise NotApplicable(
            f"the loop over {remaining[0]!r} is not nested directly in that over {loops[-1].variable!r}"
        )
    position = where[0]
    inner = statements[position]
    counted = loop(inner)
    assert counted is not None
    assert isinstance(inner, ast.For)
    before = len(loops)
    loops.append(counted)
    held = _flatten(inner.body.statements, remaining[1:], loops, guards)
    below = loops[before:]
    constants = tuple(s for s in statements[:position] if isinstance(s, ast.Declaration))
    before_inner = ast.Block(constants)
    changed = sorted((declared(before_inner) | names(before_inner)) & assigned(inner))
    if changed:
        raise NotApplicable(f"{changed[0]!r} is set before the loop over {counted.variable!r}, which changes it")
    first = tuple(s for s in statements[:position] if not isinstance(s, ast.Declaration))
    starts = [ast.Binary("==", ast.Name(item.variable), literal(0)) for item in below]
    ends = [ast.Binary("==", ast.Name(item.variable), literal(item.trips - 1)) for item in below]
    # Each under a condition of its own, so that loads of operands can run ahead and those of results stay.
    apart = tuple(part for statement in first for part in make_if(starts, (statement,)))
    return (*constants, *apart, *held, *make_if(ends, statements[position + 1 :]))
