"""Drop fences: the host and DRAM need not wait where the machine keeps the order by itself."""

from __future__ import annotations

from collections.abc import Sequence

from autocomp.kernel import ast
from autocomp.transforms.facts import Facts
from autocomp.transforms.parameters import number_of
from autocomp.transforms.protocol import NotApplicable, Parameters, Proposal, Rewriting
from autocomp.transforms.rewrite import Path, call_of, rewrite_statements, with_body
from autocomp.transforms.straight.fences import unneeded
from autocomp.transforms.straight.program import is_written_out, known_program, program_of
from autocomp.transforms.synchronisation import is_fence

_CYCLES = 60.0  # that everything stands still at a fence, roughly


class DropFence(Rewriting):
    name = "drop_fence"
    title = "Drop a fence that orders nothing"

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """Each fence but the one that ends the kernel: whether one is needed is for the memory discipline to say. In a
        kernel that is written out it is known, and all that are not go at once."""
        if is_written_out(facts):
            program = known_program(facts)
            count = 0 if program is None else len(unneeded(program))
            reason = f"{count} fences order no two accesses of the same elements"
            return [Proposal({}, reason, count * _CYCLES)] if count else []
        return [
            Proposal({"fence": number}, f"commands go on without waiting at fence number {number}")
            for number, path in enumerate(_fences(facts))
            if path != (len(facts.body.statements) - 1,)
        ]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`fence` numbers the fences in source order, from 0. The result is right only where no DRAM access of the host
        or of another unit relied on this fence, which the memory discipline proves or refutes. Without it, all go that
        order nothing, in a kernel that is written out."""
        if "fence" not in parameters:
            program = program_of(facts)
            gone = unneeded(program)
            if not gone:
                raise NotApplicable("every fence orders something")
            return program.kernel(step for number, step in enumerate(program.steps) if number not in gone)
        number = number_of(parameters, "fence", 0)
        found = _fences(facts)
        if not 0 <= number < len(found):
            raise NotApplicable(f"the kernel has {len(found)} fences, and none is number {number}")

        def change(statement: ast.Statement, path: Path) -> tuple[ast.Statement, ...] | None:
            return () if path == found[number] else None

        return with_body(facts.kernel, rewrite_statements(facts.body, change))


def _fences(facts: Facts) -> list[Path]:
    """Where the entry function calls what the description says is a fence."""
    fences: list[Path] = []

    def look(statement: ast.Statement, path: Path) -> None:
        call = call_of(statement)
        if call is not None and is_fence(facts.machine, call):
            fences.append(path)

    rewrite_statements(facts.body, look)
    return sorted(fences)
