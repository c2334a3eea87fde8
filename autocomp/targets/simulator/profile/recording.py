"""One timed run of a kernel with everything that a profile needs: what happened when, and the commands to replay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from autocomp.errors import CandidateFailure
from autocomp.simulator import Accesses, Commands, SimulationOptions, Spans, Timing, _core, replay_trace
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.evaluate.compiled import compile_kernel
from autocomp.targets.simulator.evaluate.simulator import MAX_STEPS
from autocomp.targets.simulator.isa.lowering.lower import MachineTables
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.workload import InputSet, Workload
from autocomp.workload.inputs import make_inputs

Cycles = npt.NDArray[np.int64]
ALL_COMMANDS = 1 << 40
EXAMPLE = InputSet("random", "random", 0)  # no judgement: the same profile each time
NO_SETTINGS: Mapping[str, int] = MappingProxyType({})


class Unfinished(CandidateFailure):
    """A kernel stops before its end."""


@dataclass(frozen=True)
class Recording:
    """`tensors` are the kernel's parameters in the program's order, by the workload's names. Of the commands in `trace`
    the first `most_commands` were timed."""

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
    most_commands: int

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


def record(
    text: str,
    workload: Workload,
    accelerator: Accelerator,
    source_name: str = "kernel.c",
    most_commands: int = ALL_COMMANDS,
    *,
    stuck: bool = False,
) -> Recording:
    """Runs the kernel once on one random input, and times the first `most_commands` commands. With `stuck`, commands
    may wait for each other: all accesses are recorded, and times until then.

    Raises KernelError if it does not parse or check, Unfinished if it stops before its end, CandidateFailure if it
    moves nothing.
    """
    tables = isa.lower(accelerator)
    compiled = compile_kernel(text, workload, accelerator, tables, source_name)
    whole = most_commands >= ALL_COMMANDS
    options = SimulationOptions(
        timing=whole, record_commands=whole, record_detail=whole, record_trace=True, max_steps=MAX_STEPS
    )
    run = compiled.run(make_inputs(workload, EXAMPLE), options)
    if run.error is not None and not (stuck and run.error.kind == "deadlock"):
        raise Unfinished(f"{source_name}:{run.error.line}: {run.error.message}")
    assert isinstance(run.trace, _core.Trace)
    result = run
    if not whole:
        options = SimulationOptions(
            record_commands=True, record_detail=True, requirements=False, max_commands=most_commands
        )
        result = replay_trace(tables.machine, run.trace, options)
    timing = result.timing
    if timing is None or timing.commands is None or timing.spans is None or result.accesses is None:
        raise CandidateFailure(f"{source_name} moves no data: there is nothing to profile")
    return Recording(
        compiled.tree,
        accelerator,
        workload,
        tables,
        timing,
        timing.commands,
        timing.spans,
        result.accesses,
        run.trace,
        tuple(tensor.name for tensor in workload.tensors),
        most_commands,
    )


def replayed_cycles(recording: Recording, settings: Mapping[str, int] = NO_SETTINGS, host_scale: float = 1.0) -> int:
    """The cycles of the recorded commands, by their timing alone, where some settings of the machine differ:
    "unit.setting" or "memory.setting"."""
    options = SimulationOptions(
        host_scale=host_scale, requirements=False, settings=settings, max_commands=recording.most_commands
    )
    result = replay_trace(recording.tables.machine, recording.trace, options)
    if result.error is not None or result.timing is None:
        raise CandidateFailure(f"the recorded commands do not run on the changed machine: {result.error}")
    return result.timing.cycles
