"""Load at first use: operands that are loaded in front of a computing nest come in its iterations that first need them.

The nest can then begin when its first tiles are there, and the loads go on beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.cost import contraction_cycles, site_cycles
from autocomp.targets.simulator.transforms.analysis.dependences import reach
from autocomp.targets.simulator.transforms.analysis.facts import Facts, Site
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.memory.interleave import computing_part
from autocomp.targets.simulator.transforms.parameters import names_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.syntax.affine import Affine, literal
from autocomp.targets.simulator.transforms.syntax.loops import Loop, make_if, make_nest
from autocomp.targets.simulator.transforms.syntax.nest import Statements, peel_nest
from autocomp.targets.simulator.transforms.syntax.rewrite import (
    blocks,
    statement_at,
    substitute,
    with_blocks,
    with_body,
    with_statements,
)


class LoadAtFirstUse(Transformation):
    name = "load_at_first_use"
    title = "Load operands where they are first used"
    order = 180
    causes = ("ReadAfterWrite", "MemoryLatency", "Fence")
    uses = ("load",)
    after = ("keep_accumulator", "stage_operand", "widen_moves", "reuse_weights")
    guidance = """
    Where operands are loaded in front of a nest that uses them, load each tile in the iteration that needs it first
    instead: the nest begins when its first tiles are there, and the loads go on beside it.
    It pays when a kernel is short, so that the time before the first computation is a good part of it
    (ReadAfterWrite, MemoryLatency); in longer ones, load a block ahead (prefetch).
    Watch for: every tile keeps rows of its own until its last use; a wide move comes with the first of its tiles.
    """
    example = """
    for (int k …) load(&B[k][0], k); for (int i …) for (int k …) use(k);
      ->  for (int i …) for (int k …) { if (i == 0) load(&B[k][0], k); use(k); }
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """All operands that are loaded before a computing nest, then each alone."""
        loads = {b.tensor: site for b in facts.buffers if b.is_input for site in b.sites("load")[:1] if site.loops}
        together = [list(loads)] if len(loads) > 1 else []
        return [
            Proposal(
                {"tensors": tensors},
                f"load {' and '.join(tensors)} in the iterations that first need them, not all in front of the nest",
                min(contraction_cycles(facts), sum(site_cycles(facts, loads[t], loads[t].loops) for t in tensors)),
            )
            for tensors in (*together, *([tensor] for tensor in loads))
        ]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """Moves the loads of `tensors` before a computing nest into it."""
        tensors = names_of(parameters, "tensors")
        if not tensors:
            raise NotApplicable("no tensor was named")
        left = set(tensors)

        def visit(given: Statements) -> Statements:
            computing = computing_part(facts, given)
            if len(computing) == 1 and peel_nest(computing[0])[0]:
                early = given[: next(n for n, statement in enumerate(given) if statement is computing[0])]
                moving = [(s, site) for s in early if (site := _only_load(facts, s)) is not None]
                chosen = [(s, site) for s, site in moving if site.pointer and site.pointer.tensor in left]
                if chosen:
                    left.difference_update(site.pointer.tensor for _, site in chosen if site.pointer)
                    gone = [id(statement) for statement, _ in chosen]
                    nest = _with_loads(facts, computing[0], chosen)
                    kept = (nest if s is computing[0] else (s,) for s in given if id(s) not in gone)
                    return tuple(statement for part in kept for statement in part)
            result = []
            for statement in given:
                inner = tuple(with_statements(held, visit(held.statements)) for held in blocks(statement))
                result.append(with_blocks(statement, inner))
            return tuple(result)

        body = with_statements(facts.body, visit(facts.body.statements))
        if left:
            raise NotApplicable(f"no loads of {min(left)!r} alone precede a computing nest")
        return with_body(facts.kernel, body)


def _only_load(facts: Facts, statement: ast.Statement) -> Site | None:
    """The load that a nest consists of, or None."""
    held = peel_nest(statement)[2]
    if len(held) != 1 or facts.kinds(statement) != {"load"}:
        return None
    return next((site for site in facts.sites if statement_at(facts.body, site.path) is held[0]), None)


def _with_loads(
    facts: Facts, computing: ast.Statement, loads: Sequence[tuple[ast.Statement, Site]], around: Sequence[Loop] = ()
) -> Statements:
    """The computing nest with the loads in it, as far inside as there are loops that they run over."""
    loops, guards, held = peel_nest(computing)
    reached = (*around, *loops)
    needed = {item.variable for load, _ in loads for item in peel_nest(load)[0]}
    inner = computing_part(facts, held)
    if not needed <= {item.variable for item in reached} and not guards and len(inner) == 1 and inner[0] != computing:
        deeper = _with_loads(facts, inner[0], loads, reached)
        return make_nest(loops, tuple(part for s in held for part in (deeper if s is inner[0] else (s,))))
    first = [statement for load, site in loads for statement in _in_nest(facts, reached, load, site)]
    return make_nest(loops, (*first, *make_if(guards, held)))


def _in_nest(facts: Facts, loops: Sequence[Loop], load: ast.Statement, site: Site) -> Statements:
    """The load as it is in the nest: where its own loops are at its tile and all others at their start."""
    own, conditions, held = peel_nest(load)
    steps = _steps(facts, site, loops, own)
    _check_rows(facts, site, {item.variable for item in own}, steps)
    values: dict[str, ast.Expression] = {}
    guards: list[ast.Expression] = []
    for item in loops:
        now, step = ast.Name(item.variable), literal(steps[item.variable])
        if steps[item.variable] == item.trips:
            guards.append(ast.Binary("==", now, literal(0)))
        elif steps[item.variable] > 1:
            guards.append(ast.Binary("==", ast.Binary("%", now, step), literal(0)))
            values[item.variable] = ast.Binary("/", now, step)
    conditions = tuple(substitute(condition, values) for condition in conditions)
    return make_if((*guards, *conditions), tuple(substitute(statement, values) for statement in held))


def _steps(facts: Facts, load: Site, loops: Sequence[Loop], own: Sequence[Loop]) -> dict[str, int]:
    """By variable, the iterations of the nest that share one of the load: all, if the load does not depend on it."""
    steps = {item.variable: item.trips for item in loops}
    (filled,) = facts.operands_of(load)
    uses = [o for b in facts.buffers if filled in b.operands for o in b.operands if o.site is not load]
    for item in own:
        apart = max((use.row.coefficient(item.variable) for use in uses), default=0)
        step = filled.row.coefficient(item.variable) // apart if apart > 0 else 0
        if item.variable not in steps or step < 1 or -(-steps[item.variable] // step) != item.trips:
            raise NotApplicable(f"the nest does not run over {item.variable!r} as the load does")
        steps[item.variable] = step
    return steps


def _check_rows(facts: Facts, load: Site, own: set[str], steps: Mapping[str, int]) -> None:
    """Raises NotApplicable unless every use reads rows that the iteration of the load fills which its own iteration of
    the nest belongs to: one of the load to `steps` of the nest, by variable."""
    (filled,) = facts.operands_of(load)
    (buffer,) = [b for b in facts.buffers if filled in b.operands]
    if len(buffer.sites("load")) != 1:
        raise NotApplicable(f"{buffer.tensor!r} is loaded in several places")
    for use in buffer.operands:
        if use.site is load:
            continue
        start = Affine(use.row.constant)
        last = use.height
        for atom, factor in use.row.terms:
            name = atom.name if isinstance(atom, ast.Name) else ""
            inside = name in steps and name not in own
            start += Affine(0) if inside else Affine(0, ((atom, factor * steps.get(name, 1)),))
            last += factor * (steps.get(name, 1) - 1)
        around = {item.variable for item in use.site.loops}
        if (start - filled.row) != Affine(0) or last > reach(facts, filled) or not steps.keys() <= around:
            raise NotApplicable(f"a use of {buffer.tensor!r} reads rows that another iteration loads")
