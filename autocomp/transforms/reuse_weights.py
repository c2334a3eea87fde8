"""Reuse weights: consecutive contractions keep the operand that is already inside the array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autocomp.kernel import ast
from autocomp.transforms.affine import literal
from autocomp.transforms.facts import Facts, Site
from autocomp.transforms.parameters import name_of
from autocomp.transforms.protocol import NotApplicable, Parameters, Proposal, Rewriting
from autocomp.transforms.reorder import reordered
from autocomp.transforms.rewrite import Path, names, rewrite_statements, with_body


class ReuseWeights(Rewriting):
    name = "reuse_weights"
    title = "Reuse the preloaded operand"

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """Each loop of the computing nest over which the preloaded operand stays the same."""
        loops = [item.variable for site in facts.contractions[:1] for item in reversed(site.loops)]
        return [
            Proposal({"loop": name}, f"the array keeps its operand over {name}, which becomes the innermost loop")
            for name in loops
        ]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`loop` becomes the innermost loop of the computing nest; only its first iteration preloads the operand."""
        variable = name_of(parameters, "loop")
        facts = _innermost(facts, variable)
        preload, position = _preload(facts, variable)
        compute = next((s for s in facts.contractions if s.path[:-1] == preload.path[:-1]), None)
        keeping = None if compute is None else _keeping_form(facts, compute)
        if compute is None or keeping is None:
            raise NotApplicable("the machine has no contraction that keeps the operand of the one before")
        first = ast.Binary("==", ast.Name(variable), literal(0))
        absent = literal(next(s.none for s in facts.accelerator.spaces if s.none is not None))

        def change(statement: ast.Statement, path: Path) -> ast.Statement | None:
            if not isinstance(statement, ast.ExpressionStatement) or not isinstance(statement.expression, ast.Call):
                return None
            call = statement.expression
            if path == preload.path:
                value = ast.Conditional(first, call.arguments[position], absent)
                arguments = (*call.arguments[:position], value, *call.arguments[position + 1 :])
                return ast.ExpressionStatement(replace(call, arguments=arguments))
            if path == compute.path:
                kept = ast.ExpressionStatement(replace(call, function=keeping))
                return ast.If(first, ast.Block((statement,)), ast.Block((kept,)))
            return None

        return with_body(facts.kernel, rewrite_statements(facts.body, change))


def _innermost(facts: Facts, variable: str) -> Facts:
    """The facts with a loop of the computing nest moved to its inside."""
    for site in facts.contractions[:1]:
        order = [item.variable for item in site.loops]
        if variable not in order:
            break
        position = order.index(variable)
        if position == len(order) - 1:
            return facts
        moved = [*order[position + 1 :], variable]
        return facts.with_kernel(with_body(facts.kernel, ast.Block(reordered(facts, moved))))
    raise NotApplicable(f"no contraction is inside a loop over {variable!r}")


def _preload(facts: Facts, variable: str) -> tuple[Site, int]:
    """The call that brings the operand into the array, and which argument that is."""
    if all(space.none is None for space in facts.accelerator.spaces):
        raise NotApplicable("the machine knows no absent operand")
    for buffer in facts.buffers:
        for operand in buffer.operands if buffer.is_input else ():
            site = operand.site
            if site.kind != "preload" or not site.loops or site.loops[-1].variable != variable:
                continue
            argument = site.call.arguments[operand.position]
            home = len(site.path) - 1
            if any(load.path[:home] == site.path[:home] for load in buffer.sites("load")):
                raise NotApplicable(f"{buffer.tensor} is loaded anew in the loop over {variable!r}")
            if variable in names(argument):
                raise NotApplicable(f"the preloaded operand changes with {variable!r}")
            if isinstance(argument, ast.Conditional):
                raise NotApplicable("the operand is reused already")
            return site, operand.position
    raise NotApplicable(f"no operand is preloaded in the loop over {variable!r}")


def _keeping_form(facts: Facts, compute: Site) -> str | None:
    """The call form of the same instruction and operands that leaves the array's operand alone."""
    for role in facts.machine.roles.values():
        same = role.instruction == compute.role.instruction and role.arguments == compute.role.arguments
        if same and role.name != compute.role.name and dict(role.fixed) != dict(compute.role.fixed):
            known = facts.accelerator.alias(role.name)
            if known is not None and len(known.parameters) == len(compute.call.arguments):
                return role.name
    return None
