"""Drop unused: stores that are overwritten before anything reads them, and commands into rows that nobody uses."""

from __future__ import annotations

from collections.abc import Iterator

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.straight.elements import Liveness
from autocomp.targets.simulator.transforms.straight.program import Program


def drop_unused(program: Program) -> Iterator[ast.Kernel]:
    """The kernel without them, and without the host's work on them. Tensors that are parameters of the kernel are read
    at its end, local arrays are not."""
    alive = Liveness(program)
    unused: set[int] = set()
    for number in reversed(range(len(program.steps))):
        if alive.needs(program.steps[number]):
            alive.before(program.steps[number])
        else:
            unused.add(number)
    if unused:
        yield program.kernel(step for number, step in enumerate(program.steps) if number not in unused)
