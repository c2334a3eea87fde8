"""The moves in a loop's body that may run an iteration early or late.

Both need a buffer that alternates, so that the other half is free. A load may run early if it is one of those that fill
its buffer before anything reads it. A store may run late if it is one of those that empty its buffer after everything.
"""

from __future__ import annotations

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Buffer, Facts, Site
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.nests.double_buffer import alternates_with
from autocomp.targets.simulator.transforms.syntax.nest import Statements
from autocomp.targets.simulator.transforms.syntax.rewrite import statement_at, walk


def early_loads(facts: Facts, body: Statements, indices: frozenset[str]) -> Statements:
    """The statements of a loop's body that load operands for it and nothing else, into buffers that alternate with
    the loop; `indices` are its variable and the constants made of it. Raises NotApplicable if they fill a buffer that
    other statements of the body have used before."""
    return _moving(facts, body, "load", [b for b in facts.buffers if b.is_input and alternates_with(b, indices)])


def late_stores(facts: Facts, body: Statements, indices: frozenset[str]) -> Statements:
    """The statements of a loop's body that store its results and nothing else, from buffers that alternate with the
    loop. Raises NotApplicable if other statements of the body use the buffer again afterwards."""
    return _moving(facts, body, "store", [b for b in facts.buffers if b.is_result and alternates_with(b, indices)])


def early_fills(facts: Facts, body: Statements, indices: frozenset[str]) -> Statements:
    """The statements of a loop's body that load what its results start from and nothing else, into buffers that
    alternate with the loop. Empty if they follow other uses of the buffer."""
    results = [b for b in facts.buffers if b.is_result and b.sites("load") and alternates_with(b, indices)]
    try:
        return _moving(facts, body, "load", results)
    except NotApplicable:
        return ()


def _moving(facts: Facts, body: Statements, kind: str, buffers: list[Buffer]) -> Statements:
    held = [_sites_below(facts, statement) for statement in body]
    kinds = [{site.kind for site in sites} for sites in held]
    able = {operand.site.path for buffer in buffers for operand in buffer.operands}
    moving: set[int] = set()
    for buffer in buffers:
        paths = {operand.site.path for operand in buffer.operands}
        used = [{site.kind for site in sites if site.path in paths} for sites in held]
        movers = [n for n, each in enumerate(used) if kind in each]
        others = [n for n, each in enumerate(used) if each - {kind}]
        if not movers or any(kinds[n] != {kind} or any(site.path not in able for site in held[n]) for n in movers):
            continue
        in_order = movers[-1] < others[0] if others and kind == "load" else not others or others[-1] < movers[0]
        if not in_order:
            raise NotApplicable(f"{buffer.tensor!r} is moved between the computations of one iteration")
        moving.update(movers)
    return tuple(body[n] for n in sorted(moving))


def _sites_below(facts: Facts, statement: ast.Statement) -> list[Site]:
    below = {id(node) for node in walk(statement)}
    return [site for site in facts.sites if id(statement_at(facts.body, site.path)) in below]
