"""Reuse weights: consecutive contractions keep the operand that is already inside the array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.cost import kept_operand_cycles
from autocomp.targets.simulator.transforms.analysis.facts import Facts, Site
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.memory.interleave import used_constants
from autocomp.targets.simulator.transforms.nests.reorder import reordered
from autocomp.targets.simulator.transforms.parameters import names_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.syntax.affine import affine, literal, opposite
from autocomp.targets.simulator.transforms.syntax.loops import conjunction, disjunction
from autocomp.targets.simulator.transforms.syntax.nest import enclosing
from autocomp.targets.simulator.transforms.syntax.rewrite import (
    Path,
    blocks,
    names,
    rewrite_statements,
    substitute,
    with_arguments,
    with_body,
)


class ReuseWeights(Transformation):
    name = "reuse_weights"
    title = "Reuse the operand that is already in the array"
    order = 160
    causes = ("Pairing", "BankConflict", "Busy")
    uses = ("preload", "contraction")
    after = ("stage_window",)
    guidance = """
    Arrange the loops so that successive computations need the same stationary operand, load it into the array for the
    first one only, and tell the others to keep what is there.
    It pays when the compute unit is Busy yet utilisation is low: part of its time goes into loading operands into the
    array rather than into multiplying; also when those loads collide with other reads of a bank (BankConflict).
    Watch for: "keep" refers to the last operand that was put in, so nothing else may come between; each computation
    still needs its own destination.
    """
    example = """
    for (int i …) { preload(w, c(i)); compute(a(i)); }
      ->  preload(w, c(0)); compute(a(0)); for (int i = 1 …) { preload(KEEP, c(i)); compute_again(a(i)); }
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """All loops of the computing nest over which the preloaded operand stays the same, then each alone."""
        loops = [item.variable for site in facts.contractions[:1] for item in reversed(site.loops)]
        together = [_unchanged_over(facts)] if len(_unchanged_over(facts)) > 1 else []
        return [
            Proposal(
                {"loop": names},
                f"the array keeps its operand over {', '.join(names)}, the innermost then",
                _saved_cycles(facts, names),
            )
            for names in (*together, *([name] for name in loops))
        ]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`loop`, one or several from the outside in, become the innermost of the computing nest; only their first
        iteration preloads the operand."""
        variables = names_of(parameters, "loop")
        if not variables:
            raise NotApplicable("no loop was named")
        facts = _innermost(facts, variables)
        preload, position = _preload(facts, variables)
        compute = next((s for s in facts.contractions if s.path[:-1] == preload.path[:-1]), None)
        keeping = None if compute is None else _keeping_form(facts, compute)
        if compute is None or keeping is None:
            raise NotApplicable("the machine has no contraction that keeps the operand of the one before")
        first = conjunction([_is_first(facts, preload, variable, variables) for variable in variables])
        absent = literal(next(s.none for s in facts.accelerator.spaces if s.none is not None))

        def change(statement: ast.Statement, path: Path) -> ast.Statement | None:
            if not isinstance(statement, ast.ExpressionStatement) or not isinstance(statement.expression, ast.Call):
                return None
            call = statement.expression
            if path == preload.path:
                value = ast.Conditional(first, call.arguments[position], absent)
                return ast.ExpressionStatement(with_arguments(call, {position: value}))
            if path == compute.path:
                kept = ast.ExpressionStatement(replace(call, function=keeping))
                return ast.If(first, ast.Block((statement,)), ast.Block((kept,)))
            return None

        return with_body(facts.kernel, rewrite_statements(facts.body, change))


def _is_first(facts: Facts, preload: Site, variable: str, variables: Sequence[str]) -> ast.Expression:
    """The test that an iteration of a loop is the first that its conditions let through: either number 0, or one before
    which a condition that bounds it from below does not hold."""
    tests: list[ast.Expression] = [ast.Binary("==", ast.Name(variable), literal(0))]
    for guard in preload.guards:
        indirect = variable in _variables_behind(facts, preload, guard) - names(guard)
        rises = None if indirect else _rises(guard, variable)
        if rises is None:
            raise NotApplicable(f"which iteration of {variable!r} is the first to preload is not clear")
        if rises and names(guard) & (set(variables) - {variable}):
            raise NotApplicable(f"the first iteration of {variable!r} that preloads is not the same for all others")
        if rises:
            before = {variable: ast.Binary("-", ast.Name(variable), literal(1))}
            tests.append(substitute(opposite(guard), before))
    return disjunction(tests)


def _variables_behind(facts: Facts, site: Site, part: ast.Expression) -> frozenset[str]:
    """The variables that a part of a call or of its conditions depends on, through constants around it as well."""
    around = [held for statement in enclosing(facts.body, site.path) for held in blocks(statement)]
    constants = [s for held in around for s in held.statements if isinstance(s, ast.Declaration)]
    return names(part).union(*map(names, used_constants(constants, (ast.ExpressionStatement(part),))))


def _rises(guard: ast.Expression, variable: str) -> bool | None:
    """True if a condition can come to hold as a variable grows, and then still holds; None where that is unclear."""
    if variable not in names(guard):
        return False
    if not isinstance(guard, ast.Binary) or guard.operator not in ("<", "<=", ">", ">="):
        return None
    difference = affine(guard.left) - affine(guard.right)
    if any(variable in names(atom) for atom, _ in difference.terms if atom != ast.Name(variable)):
        return None
    factor = difference.coefficient(variable) * (1 if guard.operator in (">", ">=") else -1)
    return factor > 0


def _saved_cycles(facts: Facts, variables: Sequence[str]) -> float:
    """Bringing an operand in goes on beside a contraction, and takes longer where that one has few rows."""
    saved = 0.0
    for site in facts.contractions[:1]:
        times = prod(item.trips for item in site.loops)
        kept = prod(item.trips for item in site.loops if item.variable in variables)
        saved = times * (kept_operand_cycles(facts, site, 1) - kept_operand_cycles(facts, site, kept))
    return saved


def _unchanged_over(facts: Facts) -> list[str]:
    """The loops, outermost first, inside the loads of a preloaded operand that do not select it."""
    for buffer in facts.buffers:
        for operand in buffer.operands if buffer.is_input else ():
            if operand.site.kind == "preload":
                used = _variables_behind(facts, operand.site, operand.site.call.arguments[operand.position])
                outside = {path for load in buffer.sites("load") for path in load.loop_paths}
                around = zip(operand.site.loops, operand.site.loop_paths, strict=True)
                return [item.variable for item, path in around if item.variable not in used and path not in outside]
    return []


def _innermost(facts: Facts, variables: Sequence[str]) -> Facts:
    """The facts with loops of the computing nest moved to its inside."""
    for site in facts.contractions[:1]:
        order = [item.variable for item in site.loops]
        if not set(variables) <= set(order):
            break
        if tuple(order[-len(variables) :]) == tuple(variables):
            return facts
        start = min(map(order.index, variables))
        moved = [*(name for name in order[start:] if name not in variables), *variables]
        return facts.with_kernel(with_body(facts.kernel, ast.Block(reordered(facts, moved))))
    raise NotApplicable(f"no contraction is inside loops over {', '.join(variables)}")


def _preload(facts: Facts, variables: Sequence[str]) -> tuple[Site, int]:
    """The call that brings the operand into the array, and which argument that is."""
    if all(space.none is None for space in facts.accelerator.spaces):
        raise NotApplicable("the machine knows no absent operand")
    for buffer in facts.buffers:
        for operand in buffer.operands if buffer.is_input else ():
            site = operand.site
            inner = tuple(item.variable for item in site.loops[-len(variables) :])
            if site.kind != "preload" or inner != tuple(variables):
                continue
            argument = site.call.arguments[operand.position]
            home = len(site.path) - 1
            if any(load.path[:home] == site.path[:home] for load in buffer.sites("load")):
                raise NotApplicable(f"{buffer.tensor} is loaded anew in the loop over {variables[-1]!r}")
            changing = _variables_behind(facts, site, argument) & set(variables)
            if changing:
                raise NotApplicable(f"the preloaded operand changes with {min(changing)!r}")
            if isinstance(argument, ast.Conditional):
                raise NotApplicable("the operand is reused already")
            return site, operand.position
    raise NotApplicable(f"no operand is preloaded in loops over {', '.join(variables)}")


def _keeping_form(facts: Facts, compute: Site) -> str | None:
    """The call form of the same instruction and operands that leaves the array's operand alone."""
    for role in facts.machine.roles.values():
        same = role.instruction == compute.role.instruction and role.arguments == compute.role.arguments
        if same and role.name != compute.role.name and dict(role.fixed) != dict(compute.role.fixed):
            known = facts.accelerator.alias(role.name)
            if known is not None and len(known.parameters) == len(compute.call.arguments):
                return role.name
    return None
