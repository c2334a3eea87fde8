"""A kernel compiled for a workload and a machine, to be run on the workload's cases."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from autocomp.remember import Recent
from autocomp.simulator import SimulationOptions, SimulationResult, _core, run_program
from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.isa.lowering.lower import MachineTables
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.code.bytecode import Code, CompiledTensor
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.workload import Workload
from autocomp.workload.inputs import Array
from autocomp.workload.model import Arrays


@dataclass(frozen=True)
class CompiledKernel:
    """`names` are what the kernel calls the workload's tensors, in order; `arrays` are those of its own, which pointers
    number after them. `host_writes`: its own code, not only the machine, writes to memory."""

    tree: ast.Kernel
    workload: Workload
    tables: MachineTables
    program: _core.Program
    names: tuple[str, ...]
    arrays: tuple[CompiledTensor, ...]
    host_writes: bool

    def named(self, role: str) -> tuple[str, ...]:
        """The kernel's names of the tensors of a role."""
        pairs = zip(self.names, self.workload.tensors, strict=True)
        return tuple(name for name, tensor in pairs if tensor.role == role)

    def own_arrays(self) -> dict[str, Array]:
        """The kernel's own arrays as they are when it starts. Their names are numbered, since several may share one."""
        contents = {}
        for number, array in enumerate(self.arrays):
            empty = np.zeros(array.shape, f"{array.dtype[0]}{int(array.dtype[1:]) // 8}")
            initial = None if array.initial is None else np.frombuffer(array.initial, empty.dtype).reshape(array.shape)
            contents[f"{array.name} ({number})"] = empty if initial is None else initial
        return contents

    def run(self, arrays: Arrays, options: SimulationOptions, before: Arrays | None = None) -> SimulationResult:
        """One run on arrays with the workload's names; its outputs have them too. `before` it, on the same machine, one
        on other arrays."""
        tensors = self.workload.tensors
        own, earlier = self._own(arrays), None if before is None else self._own(before)
        result = run_program(self.tables.machine, self.program, own, options, earlier)
        outputs = {tensor.name: result.outputs[name] for name, tensor in zip(self.names, tensors, strict=True)}
        return replace(result, outputs=outputs)

    def _own(self, arrays: Arrays) -> dict[str, Array]:
        """Arrays by what the kernel calls them."""
        return {name: arrays[tensor.name] for name, tensor in zip(self.names, self.workload.tensors, strict=True)}


_LAST = Recent[CompiledKernel](16)  # a candidate is screened and then proved, the routine measured in every condition


def compile_kernel(
    text: str, workload: Workload, accelerator: Accelerator, tables: MachineTables, source_name: str
) -> CompiledKernel:
    """Compiled once for a text that was compiled a little earlier. Raises KernelError if the kernel does not parse or
    check."""
    given = (text, source_name, accelerator.digest, workload.problem)
    return _LAST.of(given, lambda: _compiled(text, workload, accelerator, tables, source_name))


def _compiled(
    text: str, workload: Workload, accelerator: Accelerator, tables: MachineTables, source_name: str
) -> CompiledKernel:
    tree = kernel.parse(text, source_name, {**accelerator.all_constants, **workload.constants})
    checked = kernel.check(
        tree,
        accelerator,
        workload.constants,
        workload.tensors,
        host_time=None if workload.host == "control" else True,
        fixed_commands=workload.host == "compute",
    )
    return CompiledKernel(
        tree=checked.kernel,
        workload=workload,
        tables=tables,
        program=kernel.link(checked.program, tables),
        names=tuple(parameter.name for parameter in checked.parameters),
        arrays=tuple(tensor for tensor in checked.program.tensors if not tensor.parameter),
        host_writes=bool({Code.Store, Code.HostCall} & set(checked.program.code[:, 0].tolist())),
    )
