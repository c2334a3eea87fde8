"""Simplify: fold arithmetic, propagate constants, drop what never runs."""

from __future__ import annotations

from collections.abc import Sequence

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation


class Simplify(Transformation):
    name = "simplify"
    title = "Simplify control flow and address arithmetic"
    order = 210
    causes = ("Host",)
    prior = 0.02
    guidance = """
    Fold constants, drop conditions that are always true or false, remove loops of one iteration and variables that are
    used once, and share address terms.
    It pays when the host is the limit (Host), and it makes the kernel shorter for the next change.
    Watch for: unsigned arithmetic wraps and division truncates; a rewritten expression must agree for every iteration.
    """
    example = """
    uint32_t a = base + (0 * 16) + i * 1;  ->  uint32_t a = base + i;
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """The kernel in normal form, if it is not yet."""
        if facts.given == facts.kernel:
            return ()
        return [Proposal({}, "fold constant arithmetic, propagate scalars and count loops from 0")]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """Takes no parameters."""
        if facts.given == facts.kernel:
            raise NotApplicable("there is nothing to simplify")
        return facts.kernel
