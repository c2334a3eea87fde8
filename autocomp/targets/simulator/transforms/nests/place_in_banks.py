"""Place in banks: operands that are read at the same time get banks of their own."""

from __future__ import annotations

from collections.abc import Sequence

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.dependences import reach
from autocomp.targets.simulator.transforms.analysis.facts import Buffer, Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.memory.addresses import moved, place
from autocomp.targets.simulator.transforms.parameters import name_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.syntax.affine import interval_of
from autocomp.targets.simulator.transforms.syntax.rewrite import with_body


class PlaceInBanks(Transformation):
    name = "place_in_banks"
    title = "Put operands into banks of their own"
    order = 150
    causes = ("BankConflict",)
    after = ("keep_accumulator", "stage_operand", "stage_window", "widen_moves", "reuse_weights")
    guidance = """
    Move buffers apart, so that what is read or written in the same cycles lies in different banks: the operands of one
    computation, and the block that is being loaded against the block that is in use.
    It pays when units wait on BankConflict.
    Watch for: a buffer may not run over the end of its bank into the next; every address of the buffer moves with it.
    """
    example = """
    a at row 0, b at row 16  ->  a at row 0, b at the first row of the next bank
    """

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
            raise NotApplicable(f"unknown local memory {name!r}")
        buffers = [buffer for buffer in facts.buffers if buffer.memory == name]
        for buffer in buffers:
            _check_whole(facts, buffer, buffers)
        rows = facts.bank_rows(name)
        used = [{row // rows for row in (b.low, b.high)} for b in buffers]
        if not any(used[n] & other for n in range(len(used)) for other in used[n + 1 :]):
            raise NotApplicable(f"no two operands share a bank of {name}")
        starts = place(facts, name, {buffer.low: buffer.rows for buffer in buffers}, by_bank=True)
        return with_body(facts.kernel, moved(facts, {name: starts}))


def _check_whole(facts: Facts, buffer: Buffer, others: Sequence[Buffer]) -> None:
    """Raises NotApplicable if a move of a known width also covers rows that are counted as another buffer's. That is so
    where an unrolled loop reads the column blocks of a wide load by calls of their own."""
    for operand in buffer.operands:
        bounds, cols = interval_of(operand.row, operand.site.ranges), operand.site.argument("cols")
        if operand.site.kind not in ("load", "store") or bounds is None or not isinstance(cols, ast.IntLiteral):
            continue
        end = bounds[1] + reach(facts, operand)
        if any(buffer.high < other.low < end for other in others):
            raise NotApplicable(f"{operand.site.call.function} moves column blocks that belong to several buffers")
