"""Write out: the kernel as the commands that it issues, one after another."""

from __future__ import annotations

from math import prod

from autocomp.remember import remember_or_raise
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.legality import check
from autocomp.targets.simulator.transforms.straight.execution import written_out
from autocomp.targets.simulator.transforms.straight.program import is_written_out
from autocomp.targets.simulator.transforms.syntax.rewrite import with_body

_SHORT = 1_000  # commands of kernels that are worth looking at one by one; in longer ones their order matters less


def in_sequence(facts: Facts) -> Facts:
    """The facts of a kernel as its commands one after another, which it may be already. Loops, helpers and scalar
    arithmetic are executed, and the commands that hardware loops and library routines issue come in their place. Raises
    NotApplicable where control depends on data, and where kernels cannot call what hardware loops send."""

    def outcome() -> Facts:
        alone = ast.Kernel(facts.given.functions[-1:], facts.given.globals, constants=facts.given.constants)
        changed = facts.with_kernel(with_body(alone, ast.Block(written_out(facts))))
        check(facts, changed)
        return changed

    return facts if is_written_out(facts) else remember_or_raise(facts, "in sequence", "", outcome, NotApplicable)


def is_short(facts: Facts) -> bool:
    """True if a kernel is written out, or would have few commands if it were."""
    return is_written_out(facts) or sum(prod(item.trips for item in site.loops) for site in facts.sites) <= _SHORT
