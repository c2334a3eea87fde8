"""Simplify: fold arithmetic, propagate constants, drop what never runs."""

from __future__ import annotations

from collections.abc import Sequence

from autocomp.targets.simulator.kernel import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Rewriting


class Simplify(Rewriting):
    name = "simplify"
    title = "Simplify arithmetic and drop dead code"

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
