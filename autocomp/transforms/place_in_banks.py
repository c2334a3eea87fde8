"""Place in banks: operands that are read at the same time get banks of their own."""

from __future__ import annotations

from collections.abc import Sequence

from autocomp.kernel import ast
from autocomp.transforms.addresses import moved, place
from autocomp.transforms.facts import Facts
from autocomp.transforms.parameters import name_of
from autocomp.transforms.protocol import NotApplicable, Parameters, Proposal, Rewriting
from autocomp.transforms.rewrite import with_body


class PlaceInBanks(Rewriting):
    name = "place_in_banks"
    title = "Put operands into banks of their own"

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """Each memory with several banks and several buffers that share one."""
        return [
            Proposal({"memory": memory.name}, f"operands in {memory.name} no longer wait for each other's bank")
            for memory in facts.accelerator.local_memories
        ]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`memory` is the local memory whose buffers are set apart."""
        name = name_of(parameters, "memory")
        if name not in {memory.name for memory in facts.accelerator.local_memories}:
            raise NotApplicable(f"no local memory is called {name!r}")
        buffers = [buffer for buffer in facts.buffers if buffer.memory == name]
        rows = facts.bank_rows(name)
        used = [{row // rows for row in (b.low, b.high)} for b in buffers]
        if not any(used[n] & other for n in range(len(used)) for other in used[n + 1 :]):
            raise NotApplicable(f"no two operands share a bank of {name}")
        starts = place(facts, name, {buffer.low: buffer.rows for buffer in buffers}, by_bank=True)
        return with_body(facts.kernel, moved(facts, {name: starts}))
