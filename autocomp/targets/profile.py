"""Where every cycle of one kernel went: plain frozen data, which `serial` turns into JSON.

Cycles count from the first command that the host has ready to an idle machine. Whatever is said to be "over time" is
given for equal windows of `window` cycles, the last of which may be shorter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Causes = Mapping[str, int]  # cycles by cause, as the simulator names them; "Busy" is work


@dataclass(frozen=True)
class UnitProfile:
    """`causes` add up to the makespan; `occupancy` is the share of each window that the unit was busy."""

    name: str
    causes: Causes
    occupancy: tuple[float, ...]


@dataclass(frozen=True)
class OverTime:
    """The activity of units, and the most rows live in each local memory, in each window of `window` cycles."""

    cycles: int
    window: int
    units: tuple[UnitProfile, ...]
    live: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class MemoryProfile:
    """Rows are live from a write to the last read of that value. `live` gives the most rows in each window."""

    name: str
    rows: int
    live: tuple[int, ...]
    conflict_cycles: int  # by which removing every bank conflict of this memory would shorten the kernel

    @property
    def live_peak(self) -> int:
        return max(self.live, default=0)


@dataclass(frozen=True)
class Operand:
    """A tensor of the workload and its traffic. `reuse` is the local rows that were read (of an input) or written (of
    an output) for each row moved between DRAM and local memory."""

    tensor: str
    bytes: int  # of the tensor
    read: int  # bytes from DRAM
    written: int
    reuse: float

    @property
    def transfers(self) -> float:
        """The number of times that each byte crosses the DRAM bus, on average."""
        return (self.read + self.written) / self.bytes if self.bytes else 0.0


@dataclass(frozen=True)
class Cost:
    """The cost of some lines. `path` are the cycles of the critical path spent on their commands, by cause: over all
    lines these add up to the makespan, so they are exposed, while `waits` of several commands overlap."""

    commands: int
    bytes_read: int
    bytes_written: int
    busy: int  # cycles between first work and completion, added up over the commands
    waits: Causes
    path: Causes

    @property
    def path_cycles(self) -> int:
        return sum(self.path.values())

    @property
    def stalls(self) -> Causes:
        """Exposed cycles other than work."""
        return {cause: cycles for cause, cycles in self.path.items() if cause != "Busy"}


@dataclass(frozen=True)
class LineProfile:
    line: int
    text: str
    cost: Cost


@dataclass(frozen=True)
class Region:
    """A loop, or a part that the kernel's author marked, with everything inside. `depth` counts what encloses it."""

    kind: str  # "loop" or "region"
    name: str  # the loop's header, or the name given
    first: int
    last: int
    depth: int
    cost: Cost


@dataclass(frozen=True)
class PathSegment:
    """One kind of stretch of the critical path on one line, over all its turns: `count` stretches of `cycles` together.

    `unit` is a unit's name, "host" or "front". `following` is the line whose commands these release, `link` why those
    had to wait: a cause as the simulator names it (None and "" where the path stays on the line, or in the unit).
    """

    line: int
    unit: str
    cause: str
    following: int | None
    link: str
    cycles: int
    count: int
    share: float  # of the makespan
    words: str


@dataclass(frozen=True)
class WhatIf:
    """An answer of the simulator: the kernel's cycles if one thing about the machine were different."""

    name: str  # stable: "execute.instant", "dram.bus*2"
    words: str
    cycles: int
    saved: float  # share of the makespan; negative where it takes longer


@dataclass(frozen=True)
class Profile:
    cycles: int
    window: int  # cycles
    accelerator: str
    workload: str
    source: tuple[str, ...]  # the kernel's lines
    units: tuple[UnitProfile, ...]
    overlap: Mapping[str, Mapping[str, int]]  # cycles in which both units were busy; with itself, busy cycles
    memories: tuple[MemoryProfile, ...]
    operands: tuple[Operand, ...]
    lines: tuple[LineProfile, ...]  # those that issue commands, in order
    regions: tuple[Region, ...]  # in the order of their first lines, outer ones first
    path: tuple[PathSegment, ...]  # most cycles first; adds up to the makespan
    what_if: tuple[WhatIf, ...]  # most saving first


class Recorded(ABC):
    """A kernel that was run once under observation; its results are not checked."""

    @abstractmethod
    def over_time(self) -> OverTime | None:
        """The activity of its units and memories; None where it moves no data."""

    @abstractmethod
    def profile(self) -> Profile:
        """Raises KernelError where the kernel marks regions that are not closed."""

    def story(self) -> tuple[str, ...]:
        """In sentences, what the profile does not show: what limits the kernel, and what to change."""
        return ()

    @abstractmethod
    def timeline(self) -> dict[str, Any]:
        """A document in the trace event format that Perfetto opens."""

    @abstractmethod
    def spans(self) -> dict[str, Any]:
        """Its commands over time in columns, bounded in size, as the report's page draws them."""
