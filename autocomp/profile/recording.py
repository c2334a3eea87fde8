"""One timed run of a kernel with everything that a profile needs: what happened when, and the commands to replay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from autocomp import isa, kernel
from autocomp.errors import CandidateFailure
from autocomp.evaluate.simulator import MAX_STEPS
from autocomp.isa.lower import MachineTables
from autocomp.isa.model import Accelerator
from autocomp.kernel import ast
from autocomp.simulator import Accesses, Commands, Options, Spans, Timing, _core, replay_trace, run_program
from autocomp.workload import Cases, Workload

Cycles = npt.NDArray[np.int64]
NO_SETTINGS: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class Recording:
    """`tensors` are the kernel's parameters in the program's order, by the workload's names."""

    tree: ast.Kernel
    accelerator: Accelerator
    workload: Workload
    tables: MachineTables
    timing: Timing
    commands: Commands
    spans: Spans
    accesses: Accesses
    trace: _core.Trace
    tensors: tuple[str, ...]

    @property
    def units(self) -> tuple[str, ...]:
        return tuple(unit.unit for unit in self.timing.units)

    def busy_time(self, unit: int, cause: str) -> tuple[Cycles, Cycles]:
        """Times, and the cycles before each that the unit spent on the cause; linear in between."""
        mine = self.spans.unit == unit
        starts = self.spans.start[mine]
        lengths = np.diff(starts, append=self.timing.cycles)
        lengths[self.spans.cause[mine] != self.timing.cause_names.index(cause)] = 0
        return np.append(starts, self.timing.cycles), np.concatenate(([0], np.cumsum(lengths)))


def record(text: str, workload: Workload, accelerator: Accelerator, source_name: str = "kernel.c") -> Recording:
    """Runs the kernel once on the workload's first input set.

    Raises KernelError if it does not parse or check, CandidateFailure if it stops before its end or issues nothing.
    """
    tables = isa.lower(accelerator)
    tree = kernel.parse(text, source_name)
    checked = kernel.check(tree, accelerator, workload.constants, workload.tensors)
    program = kernel.link(checked.program, tables)
    case = Cases(workload).case(workload.input_sets[0])
    names = [parameter.name for parameter in checked.parameters]
    arrays = {name: case.arrays[tensor.name] for name, tensor in zip(names, workload.tensors, strict=True)}
    options = Options(record_commands=True, record_detail=True, record_trace=True, max_steps=MAX_STEPS)
    result = run_program(tables.machine, program, arrays, options)
    if result.error is not None:
        raise CandidateFailure(f"{source_name}:{result.error.line}: {result.error.message}")
    timing = result.timing
    if timing is None or timing.commands is None or timing.spans is None or result.accesses is None:
        raise CandidateFailure(f"{source_name} issues no command: there is nothing to profile")
    assert isinstance(result.trace, _core.Trace)
    return Recording(
        tree,
        accelerator,
        workload,
        tables,
        timing,
        timing.commands,
        timing.spans,
        result.accesses,
        result.trace,
        tuple(tensor.name for tensor in workload.tensors),
    )


def replayed_cycles(recording: Recording, settings: Mapping[str, int] = NO_SETTINGS, host_scale: float = 1.0) -> int:
    """What the recorded commands take, by their timing alone, where some settings of the machine differ:
    "unit.setting" or "memory.setting"."""
    options = Options(host_scale=host_scale, requirements=False, settings=settings)
    result = replay_trace(recording.tables.machine, recording.trace, options)
    if result.error is not None or result.timing is None:
        raise CandidateFailure(f"the recorded commands do not run on the changed machine: {result.error}")
    return result.timing.cycles
