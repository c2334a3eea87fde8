"""Hoist: configuration and synchronisation that do not change move out of the loops."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts, Site
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.memory.records import with_own_records
from autocomp.targets.simulator.transforms.memory.synchronisation import outside_loops
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.syntax.rewrite import (
    Path,
    names,
    rewrite_statements,
    statement_at,
    with_body,
)

_CYCLES = 8.0  # that a command which configures takes, roughly


class Hoist(Transformation):
    name = "hoist"
    title = "Move what does not change out of the loop"
    order = 60
    causes = ("Host", "Drain", "Bus", "QueueFull", "Semaphore")
    guidance = """
    Move a configuration, a data move or an address computation to the outermost loop in which its operands still
    change.
    It pays when the same configuration is issued again and again (Drain: the unit empties its pipeline each time;
    Host and QueueFull: commands that do nothing), or when the same block is loaded in every iteration (Bus).
    Watch for: nothing between the new place and the use may overwrite the rows or the configuration; if two settings
    alternate, use separate configuration slots where the machine has them.
    """
    example = """
    for (…) { config(s); load(p); … }  ->  config(s); for (…) { load(p); … }
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """All that can move out, at once."""
        configuring = (site for site in facts.sites if site.kind == "configuration" and site.loops)
        gain = _CYCLES * sum(prod(item.trips for item in site.loops) for site in configuring)
        return [Proposal({}, "configure and synchronise outside of the loops where nothing changes", gain)]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """Takes no parameters. Every configuration whose operands do not change and that no other one overrides moves
        in front of the loops around it. Settings of one record that alternate get records of their own before that,
        as far as there are any. Every signal and its wait move out of the loops where they order nothing."""
        facts = with_own_records(facts)
        body = outside_loops(facts.machine, _configured_once(facts).statements)
        if body == facts.body.statements:
            raise NotApplicable("nothing in a loop is the same in every iteration")
        return with_body(facts.kernel, ast.Block(body))


def settled(facts: Facts) -> Facts:
    """The facts with what configures moves in front of the loops, as far as it can be, so that moves can leave them."""
    if not any(site.kind == "configuration" and site.loops for site in facts.sites):
        return facts
    facts = with_own_records(facts)
    return facts.with_kernel(with_body(facts.kernel, _configured_once(facts)))


def _configured_once(facts: Facts) -> ast.Block:
    moving = [site for site in facts.sites if site.kind == "configuration" and _moves(facts, site)]
    going = {site.path for site in moving}
    homes: dict[Path, list[ast.Statement]] = {}
    for site in moving:
        homes.setdefault(site.path[:1], []).append(statement_at(facts.body, site.path))

    def change(statement: ast.Statement, path: Path) -> tuple[ast.Statement, ...] | None:
        if path in going:
            return ()
        return (*dict.fromkeys(homes[path]), statement) if path in homes else None

    return rewrite_statements(facts.body, change)


def _moves(facts: Facts, site: Site) -> bool:
    variables = {item.variable for item in site.loops}
    if not site.loops or any(names(argument) & variables for argument in site.call.arguments):
        return False
    rivals = [
        other
        for other in facts.sites
        if other.path != site.path and other.role.role.states_written & site.role.role.states_written
    ]
    return all(other.call == site.call or _selects_another(other, site) for other in rivals)


def _selects_another(one: Site, other: Site) -> bool:
    """True if two configurations write different records of the same state."""
    return None not in (one.selector, other.selector) and one.selector != other.selector
