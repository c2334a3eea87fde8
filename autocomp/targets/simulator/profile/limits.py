"""The limits of a kernel, in short: its critical path and the what-ifs, from the first commands that it issues.

Cheap enough to be asked for every kernel that a search expands: the time does not grow with the commands after those.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from autocomp.remember import Recent
from autocomp.targets.profile import PathSegment, WhatIf
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.profile.path import causes_of, path_segments
from autocomp.targets.simulator.profile.recording import record
from autocomp.targets.simulator.profile.walk import critical_path
from autocomp.targets.simulator.profile.what_if import ALONE, what_if
from autocomp.workload import Workload

COMMANDS = 20_000  # a tiled matrix multiplication has reached its steady state long before


@dataclass(frozen=True)
class Limits:
    """`path` and `what_if` as in a profile, of the first `commands` commands, which take `cycles`."""

    commands: int
    cycles: int
    path: tuple[PathSegment, ...]
    what_if: tuple[WhatIf, ...]

    @property
    def shares(self) -> Mapping[tuple[str, str], float]:
        """Shares of the critical path by unit and cause; the cause is also why a later command had to wait for it."""
        cycles: dict[tuple[str, str], float] = {}
        for segment in self.path:
            for cause in {segment.cause, segment.link or segment.cause}:
                cycles[segment.unit, cause] = cycles.get((segment.unit, cause), 0.0) + segment.share
        return cycles

    def share(self, causes: Collection[str]) -> float:
        """Share of the critical path that any of these causes account for."""
        return sum(s.share for s in self.path if s.cause in causes or s.link in causes)

    @property
    def around_computation(self) -> float:
        """Share of the cycles that is left to save where computation alone stays as it is; 1 where none is known."""
        return next((answer.saved for answer in self.what_if if answer.name.endswith(ALONE)), 1.0)


_LAST = Recent[Limits](16)  # kernels that stay in the beam come again in the next step


def limits(text: str, workload: Workload, accelerator: Accelerator, commands: int = COMMANDS) -> Limits:
    """The limits of the kernel on the workload's first input set.

    Raises KernelError if it does not parse or check, CandidateFailure if it does not run to its end or issues nothing.
    """
    given = (text, workload.problem, workload.digest, accelerator.digest, commands)
    return _LAST.of(given, lambda: _limits(text, workload, accelerator, commands))


def _limits(text: str, workload: Workload, accelerator: Accelerator, commands: int) -> Limits:
    recording = record(text, workload, accelerator, most_commands=commands)
    steps = critical_path(recording)
    path = path_segments(recording, steps, causes_of(recording, steps))
    return Limits(len(recording.commands.line), recording.timing.cycles, path, what_if(recording))
