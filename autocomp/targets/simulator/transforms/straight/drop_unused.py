"""Drop unused: commands whose results nothing reads."""

from __future__ import annotations

from collections.abc import Sequence

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.straight.elements import Liveness
from autocomp.targets.simulator.transforms.straight.program import Program, known_program, program_of

_CYCLES = 20.0  # that a command which nobody needs takes, roughly


class DropUnused(Transformation):
    name = "drop_unused"
    title = "Drop what nothing reads"
    order = 290
    causes = ("Bus", "QueueFull", "Host")
    after = ("keep_results",)
    guidance = """
    Leave out stores that are overwritten before anything reads them, loads and computations into rows that nobody uses,
    and the host's work on them.
    It pays when results are kept in local memory and their trips through DRAM are left over.
    Watch for: tensors that are parameters of the kernel are read by whoever called it.
    """
    example = """
    store(t, r); store(t, q);  ->  store(t, q);
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """All such commands."""
        program = known_program(facts)
        unused = set() if program is None else _unused(program)
        reason = f"{len(unused)} commands write what is overwritten or never read"
        return [Proposal({}, reason, len(unused) * _CYCLES)] if unused else []

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """Takes no parameters. Tensors that are parameters of the kernel are read at its end, local arrays are not."""
        program = program_of(facts)
        unused = _unused(program)
        if not unused:
            raise NotApplicable("everything that is written is read")
        return program.kernel(step for number, step in enumerate(program.steps) if number not in unused)


def _unused(program: Program) -> set[int]:
    """The steps that write only what nothing reads afterwards."""
    alive = Liveness(program)
    unused: set[int] = set()
    for number in reversed(range(len(program.steps))):
        if alive.needs(program.steps[number]):
            alive.before(program.steps[number])
        else:
            unused.add(number)
    return unused
