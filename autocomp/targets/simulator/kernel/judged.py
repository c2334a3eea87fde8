"""Kernels as they are judged and rewritten: for the tensors of a workload, without what only observes them."""

from __future__ import annotations

from collections.abc import Sequence

from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.procedures import called_by, with_callees
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.entry import Shaped, with_shapes
from autocomp.targets.simulator.kernel.syntax.observing import unobserved


def for_tensors(kernel: ast.Kernel, tensors: Sequence[Shaped], accelerator: Accelerator) -> ast.Kernel:
    """The kernel for tensors of these shapes. A whole program stays as it is."""
    clocks = {"clock", *(name for name in called_by(kernel) if _reads_the_clock(name, accelerator))}
    return with_shapes(unobserved(kernel, clocks), tensors)


def _reads_the_clock(name: str, accelerator: Accelerator) -> bool:
    """True of a machine's procedure that does nothing else."""
    for tree in with_callees([name], accelerator):
        match tree.entry.body.statements:
            case (ast.Return(value=ast.Call(function="clock")),) if tree.entry.name == name:
                return True
    return False
