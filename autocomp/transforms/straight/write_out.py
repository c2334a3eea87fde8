"""Write out: the kernel as the commands that it issues, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from autocomp.kernel import ast
from autocomp.transforms.facts import Facts
from autocomp.transforms.protocol import NotApplicable, Parameters, Proposal, Rewriting
from autocomp.transforms.rewrite import walk, with_body
from autocomp.transforms.straight.execution import MAX_STATEMENTS, written_out


class WriteOut(Rewriting):
    name = "write_out"
    title = "Write the commands out one after another"

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """The whole kernel, if it has loops or helpers."""
        if not any(isinstance(node, ast.For | ast.While | ast.DoWhile | ast.If) for node in walk(facts.given.entry)):
            return ()
        if sum(prod(item.trips for item in site.loops) for site in facts.sites) > MAX_STATEMENTS:
            return ()
        return [Proposal({}, "each command with constant operands, so that all that is known of it can be used")]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """Takes no parameters. Control must not depend on data."""
        statements = written_out(facts)
        if statements == facts.given.entry.body.statements:
            raise NotApplicable("the kernel is written out already")
        alone = ast.Kernel(facts.given.functions[-1:], constants=facts.given.constants)
        return with_body(alone, ast.Block(statements))
