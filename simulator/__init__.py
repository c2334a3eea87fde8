"""Simulate an accelerator: what a kernel computes, how many cycles it takes and why, and what it did wrong.

Machines, programs and traces are built with `simulator._core` (their tables come from `isa` and `kernel`); the two
functions here run them and return the plain data of `simulator.results`. Both release the GIL, keep no state between
calls and may be called from several threads at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _core
from .results import (
    Accesses,
    Commands,
    MemoryUse,
    ProgramError,
    SimulationResult,
    Spans,
    Timing,
    UnitCycles,
    UnitWork,
    Violation,
)

# Element types that NumPy has not, or names otherwise, by the names of NumPy and of the ml_dtypes package.
NARROW_FLOATS = {"f16": "float16", "bf16": "bfloat16", "f8e5m2": "float8_e5m2", "f8e4m3": "float8_e4m3fn"}

__all__ = [
    "Accesses",
    "Commands",
    "MemoryUse",
    "ProgramError",
    "SimulationOptions",
    "SimulationResult",
    "Spans",
    "Timing",
    "UnitCycles",
    "UnitWork",
    "Violation",
    "replay_trace",
    "run_program",
]


@dataclass(frozen=True)
class SimulationOptions:
    """The options of a simulation.

    `record_commands` keeps the times of each command; `record_detail` what units do from cycle to cycle, and what each
    command accesses. `seed` sets the initial contents of local memories (0: zeros), and where tensors lie. `host_scale`
    multiplies the host's cycles between commands. `settings` overrides, for timing, settings of the machine or of a
    unit, such as `dram.latency`. `outputs` names the tensors of which every element must be written, and before it is
    read; `inputs` those that may not be written (both checked with `discipline`). Unless `host_data`, the program's own
    code may not read or write elements of its parameters, nor (checked with `discipline`) read what the machine wrote.
    `generic` interprets every instruction without the recognised fast forms; results are the same. `memoise` lets
    timing replay the recorded transition when a known state recurs, as in the iterations of a loop; results are the
    same. Timing follows the program in windows of `window` commands; results do not depend on it, and only commands
    that timing still needs are kept. `clock` is what a program reads from the clock, one reading after the other; then
    it is a number that grows. `record_trace` keeps the commands that a program issues; of a replayed trace those that
    the units get, with what its hardware loops send. A replay takes the first `max_commands` of its trace. A run that
    needs more than `max_bytes` of memory for what it keeps ends with an error of kind `memory`. `machine_code` is what
    the functional engine runs, one of `_core.machine_codes()`: plain, avx2, avx512; empty for the fastest. Results are
    the same.
    """

    timing: bool = True
    discipline: bool = False
    record_commands: bool = False
    record_detail: bool = False
    record_trace: bool = False
    generic: bool = False
    memoise: bool = True
    requirements: bool = True
    max_cycles: int = 1 << 40
    max_steps: int = 1 << 32
    max_commands: int = 1 << 40
    max_bytes: int = 1 << 32
    window: int = 1024
    machine_code: str = ""
    seed: int = 0
    host_scale: float = 1.0
    settings: Mapping[str, int] = field(default_factory=dict)
    outputs: Sequence[str] = ()
    inputs: Sequence[str] = ()
    host_data: bool = True
    clock: Sequence[int] = ()

    def _fields(self, tensor_names: Sequence[str]) -> dict[str, Any]:
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        fields["settings"] = dict(self.settings)
        fields["clock"] = list(self.clock)
        for role in ("outputs", "inputs"):
            unknown = [name for name in fields[role] if name not in tensor_names]
            if unknown:
                known = ", ".join(tensor_names)
                raise ValueError(f"{role}: no parameter named {', '.join(unknown)}; there are {known}")
            fields[role] = [tensor_names.index(name) for name in fields[role]]
        return fields


def run_program(
    machine: _core.Machine,
    program: _core.Program,
    tensors: Mapping[str, np.ndarray],
    options: SimulationOptions | None = None,
    before: Mapping[str, np.ndarray] | None = None,
) -> SimulationResult:
    """Run `program` on copies of `tensors`, which must have the shapes and element types of its parameters.

    With `before`, the program first runs on these, and leaves the machine's memories and configuration to the run that
    counts. An error of the program is in the result's `error`; ValueError and TypeError tell of wrong use of this
    function.
    """
    options = options or SimulationOptions()
    copies = _copies(program, tensors)
    earlier = {} if before is None else _copies(program, before)
    plain, used = ([_plain(array) for array in arrays.values()] for arrays in (copies, earlier))
    raw = _core.run(machine, program, plain, used, options._fields(list(copies)))
    return _result(raw, copies)


def _copies(program: _core.Program, tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Copies of the program's parameters, in its order."""
    copies: dict[str, np.ndarray] = {}
    for name, dtype, shape in program.parameters:
        if name not in tensors:
            raise ValueError(f"tensor {name!r} is missing; given: {', '.join(tensors) or 'none'}")
        expected = NARROW_FLOATS.get(dtype) or np.dtype(f"{dtype[0]}{int(dtype[1:]) // 8}").name
        given = tensors[name]
        if given.shape != shape or given.dtype.name != expected:
            raise ValueError(f"tensor {name!r} is {given.dtype}{list(given.shape)}, expected {expected}{list(shape)}")
        copies[name] = np.array(given, order="C", copy=True)
    return copies


def _plain(array: np.ndarray) -> np.ndarray:
    """The array, or one of the same bits for an element type that is not of NumPy's own."""
    return array if array.dtype.isbuiltin == 1 else array.view(f"u{array.itemsize}")


def replay_trace(
    machine: _core.Machine, trace: _core.Trace, options: SimulationOptions | None = None
) -> SimulationResult:
    """Time `trace` without data: configuration is followed, memory contents are not. A requirement that fails is a
    note of the timing; an access outside a local memory is an error."""
    return _result(_core.replay(machine, trace, (options or SimulationOptions())._fields([])), {})


def _result(raw: dict[str, Any], outputs: Mapping[str, np.ndarray]) -> SimulationResult:
    return SimulationResult(
        error=None if raw["error"] is None else ProgramError(*raw["error"]),
        steps=raw["steps"],
        command_count=raw["command_count"],
        outputs=outputs,
        timing=_timing(raw["timing"], raw["notes"]),
        accesses=None if raw["accesses"] is None else Accesses(**raw["accesses"]),
        violations=tuple(Violation(*violation) for violation in raw["violations"]),
        memory=tuple(MemoryUse(*use) for use in raw["memory"]),
        dram_bytes_read=raw["dram_bytes_read"],
        dram_bytes_written=raw["dram_bytes_written"],
        multiply_accumulates=raw["multiply_accumulates"],
        work=tuple(
            UnitWork(unit, commands, products, {memory: (read, written) for memory, read, written in traffic})
            for unit, commands, products, traffic in raw["work"]
        ),
        stream=raw["stream"],
        printed=raw["printed"],
        not_printed=raw["not_printed"],
        clock_readings=raw["clock_readings"],
        exit_code=raw["exit_code"],
        seconds=raw["seconds"],
        trace=raw["trace"],
    )


def _timing(raw: dict[str, Any] | None, notes: Sequence[str]) -> Timing | None:
    if raw is None:
        return None
    names: list[str] = raw["cause_names"]
    return Timing(
        cycles=raw["cycles"],
        segment_cycles=tuple(raw["segment_cycles"]),
        units=tuple(UnitCycles(unit, dict(zip(names, row, strict=True))) for unit, row in raw["units"]),
        cause_names=tuple(names),
        commands=None if raw["commands"] is None else Commands(**raw["commands"]),
        spans=None if raw["spans"] is None else Spans(**raw["spans"]),
        notes=(*notes, *raw["notes"]),
    )
