"""The results of a simulation, as plain frozen data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class ProgramError:
    """A kernel did something that the machine or the language forbids; execution stopped there.

    `kind` is one of: bounds, requirement, steps, cycles, commands, memory, division, stack, deadlock, undefined (a
    variable is read before it has a value), host (the program's own code touches data and may not). A deadlock's and
    the cycles' line is that of the oldest command that is not done.
    """

    kind: str
    message: str
    line: int


@dataclass(frozen=True)
class Violation:
    """One breach of the memory discipline; `count` says how often it occurred, the rest describes the first.

    `kind` is one of:

    - uninitialised-read: of memory that was never written
    - unwritten-output, input-written
    - unordered-local: two accesses of local memory that the machine does not order
    - shared-adders: two commands in different banks that share adders, which the machine does not order
    - unordered-dram: two such accesses of DRAM, by the device or the host
    - unfinished-store: nothing waits for it before the program returns
    - signal-left: a semaphore's signal that nothing waits for before the program returns
    - host: the program's own code reads what the machine wrote, and may not
    """

    kind: str
    message: str
    line: int
    other_line: int | None
    count: int


@dataclass(frozen=True)
class MemoryUse:
    """Rows of a local memory that a run touched."""

    memory: str
    rows: int
    rows_touched: int
    rows_live_peak: int


@dataclass(frozen=True)
class UnitCycles:
    """Cycles of a unit by cause; they add up to the makespan."""

    unit: str
    causes: Mapping[str, int]

    @property
    def busy(self) -> int:
        return self.causes.get("Busy", 0)


@dataclass(frozen=True)
class Commands:
    """One entry per issued command, in program order; times in cycles."""

    instruction: npt.NDArray[np.int32]
    unit: npt.NDArray[np.int32]  # -1: front end
    line: npt.NDArray[np.int32]
    offered: npt.NDArray[np.int64]
    accepted: npt.NDArray[np.int64]
    allocated: npt.NDArray[np.int64]
    issued: npt.NDArray[np.int64]
    started: npt.NDArray[np.int64]
    completed: npt.NDArray[np.int64]
    cause: npt.NDArray[np.int32]  # index into Timing.cause_names
    wait_cycles: npt.NDArray[np.int64]
    sender: npt.NDArray[np.int32]  # unit that sent it out of a hardware loop; -1: the host issued it
    released_by: npt.NDArray[np.int64]  # command waited for last to issue; -1: none
    release: npt.NDArray[np.int32]  # … and why, a hazard or Semaphore: index into Timing.cause_names


@dataclass(frozen=True)
class Spans:
    """The activity of units: each entry holds from its start, in cycles, to the next of the same unit."""

    start: npt.NDArray[np.int64]
    unit: npt.NDArray[np.int32]
    cause: npt.NDArray[np.int32]  # index into Timing.cause_names


@dataclass(frozen=True)
class Accesses:
    """The accesses of commands, in program order. Rows of local memories; bytes of a tensor in DRAM."""

    command: npt.NDArray[np.int64]
    memory: npt.NDArray[np.int32]
    write: npt.NDArray[np.int8]
    parameter: npt.NDArray[np.int32]  # of the instruction, that gives the address; -1: none does
    tensor: npt.NDArray[np.int32]  # DRAM only, by its place in the program
    first: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]  # exclusive: all lies in [first, last)
    points: npt.NDArray[np.int64]  # rows; DRAM: contiguous pieces
    bytes: npt.NDArray[np.int64]  # DRAM only


@dataclass(frozen=True)
class Timing:
    cycles: int
    segment_cycles: Sequence[int]
    units: Sequence[UnitCycles]
    cause_names: Sequence[str]
    commands: Commands | None
    spans: Spans | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class UnitWork:
    """The work of a unit: commands, multiply-accumulates, and reads and writes of each memory, in elements of a local
    memory or in bytes of DRAM. `unit` is empty for the front end."""

    unit: str
    commands: int
    multiply_accumulates: int
    traffic: Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class SimulationResult:
    """`outputs` holds every parameter tensor after the run; empty for a trace."""

    error: ProgramError | None
    steps: int
    command_count: int
    outputs: Mapping[str, np.ndarray]
    timing: Timing | None
    violations: Sequence[Violation] = ()
    memory: Sequence[MemoryUse] = ()
    accesses: Accesses | None = None
    dram_bytes_read: int = 0
    dram_bytes_written: int = 0
    multiply_accumulates: int = 0
    work: Sequence[UnitWork] = ()  # of the front end, then of each unit
    stream: int = 0  # a hash of the commands that the program issued, with their arguments, in order
    printed: Sequence[int] = ()  # by a program: number of the message, number of arguments, arguments, …
    not_printed: int = 0  # messages that were too many
    clock_readings: Sequence[int] = ()  # commands before each reading of the clock
    exit_code: int = 0
    seconds: float = 0.0
    trace: object | None = field(default=None, repr=False)
