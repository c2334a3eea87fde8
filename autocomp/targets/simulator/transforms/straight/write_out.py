"""Write out: the kernel as the commands that it issues, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from autocomp.targets.simulator.kernel.host.costs import host_costs
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.legality import commands, value
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation, applied
from autocomp.targets.simulator.transforms.straight.execution import written_out
from autocomp.targets.simulator.transforms.straight.program import is_written_out
from autocomp.targets.simulator.transforms.straight.single import MAX_STATEMENTS
from autocomp.targets.simulator.transforms.syntax.rewrite import with_body

_REASON = "each command with constant operands, so that all that is known of it can be used"
_SHORT = 1_000  # commands of kernels that are worth looking at one by one; in longer ones their order matters less


class WriteOut(Transformation):
    name = "write_out"
    title = "Write the commands out one after another"
    order = 240
    causes = ("Host", "Fence")
    prior = 0.1
    guidance = """
    Execute loops, helpers and scalar arithmetic now, and leave the sequence of commands with constant operands. Put the
    commands that hardware loops and library routines issue in their place. What a command reads and writes is then
    plain to see, also across what used to be iterations, and the host computes nothing.
    It pays when units wait for the Host or at a Fence in small operations of up to a few thousand commands, and as the
    step before giving values rows of their own.
    Watch for: control that depends on data cannot be executed ahead; the kernel gets long.
    """
    example = """
    for (int k = 0; k < 8; k += 4) { load(&x[k], 0); multiply(0); }
      ->  load(&x[0], 0); multiply(0); load(&x[4], 0); multiply(0);
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """The whole kernel, if it is more than commands one after another. Where the host's code takes time, with what
        the commands alone measure."""
        if is_written_out(facts):
            return ()
        if host_costs(facts.accelerator) is not None:
            return self._measured(facts)
        if _commands(facts) > MAX_STATEMENTS:
            return ()
        return [Proposal({}, _REASON)]

    def _measured(self, facts: Facts) -> Sequence[Proposal]:
        issued, before = commands(facts), value(facts)
        if issued is None or issued > MAX_STATEMENTS or before is None:
            return ()
        try:
            after = value(applied(self, facts, {}))
        except NotApplicable:
            return ()
        return [Proposal({}, _REASON, before - after, after)] if after is not None else ()

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """Takes no parameters. Control must not depend on data. Hardware loops are written out where kernels can call
        what they send."""
        statements = written_out(facts)
        if statements == facts.given.entry.body.statements:
            raise NotApplicable("the kernel is written out already")
        alone = ast.Kernel(facts.given.functions[-1:], facts.given.globals, constants=facts.given.constants)
        return with_body(alone, ast.Block(statements))


def in_sequence(facts: Facts) -> Facts:
    """The facts of a kernel as its commands one after another, which it may be already. Raises NotApplicable."""
    return facts if is_written_out(facts) else applied(WriteOut(), facts, {})


def is_short(facts: Facts) -> bool:
    """True if a kernel is written out, or would have few commands if it were."""
    return is_written_out(facts) or _commands(facts) <= _SHORT


def _commands(facts: Facts) -> int:
    """The number of commands that a kernel issues; an upper bound where conditions leave some out."""
    return sum(prod(item.trips for item in site.loops) for site in facts.sites)
