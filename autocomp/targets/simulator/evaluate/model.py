"""What is known of a kernel after it was evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from autocomp.simulator.results import Timing

if TYPE_CHECKING:
    from autocomp.targets.simulator.isa.model import Accelerator
    from autocomp.workload.model import Workload

STAGES = ("check", "smoke", "adversarial", "discipline", "determinism")


@dataclass(frozen=True)
class StageVerdict:
    """`status` is passed, failed or skipped (an earlier stage failed). The message lets a reader mend the kernel."""

    stage: str
    status: str
    message: str = ""
    line: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Bound:
    """Lower bounds of a workload on a machine, in cycles, with how each came about."""

    cycles: int
    compute_cycles: int
    memory_cycles: int
    explanation: str


@dataclass(frozen=True)
class LineCycles:
    """Cycles lost at a source line: waits of the commands it issued, by cause, and how many it issued."""

    line: int
    text: str
    commands: int
    wait_cycles: int
    causes: Mapping[str, int]


@dataclass(frozen=True)
class Evaluation:
    stages: tuple[StageVerdict, ...]
    cycles: int | None  # None unless the smoke stage ran to its end
    bound: Bound
    utilisation: float  # useful multiply-accumulates / peak of the array / cycles; 0 where not defined
    commands: int
    steps: int
    unit_cycles: Mapping[str, Mapping[str, int]]  # unit -> cause -> cycles; each adds up to `cycles`
    memory_rows: Mapping[str, tuple[int, int]]  # memory -> (rows touched, rows)
    dram_bytes: tuple[int, int]  # read, written
    lines: tuple[LineCycles, ...]  # hottest first
    seconds: float
    timing: Timing | None = None  # per-command record; only on request, never serialised

    @property
    def correct(self) -> bool:
        return bool(self.stages) and all(stage.status == "passed" for stage in self.stages)

    @property
    def failure(self) -> StageVerdict | None:
        return next((stage for stage in self.stages if stage.status == "failed"), None)

    @property
    def ratio(self) -> float:
        """Bound over cycles: 1.0 is the best conceivable."""
        return self.bound.cycles / self.cycles if self.cycles else 0.0

    def timing_only(self) -> Evaluation:
        """The verdict and the cycles, without anything of where they went."""
        return replace(
            self,
            utilisation=0.0,
            commands=0,
            steps=0,
            unit_cycles={},
            memory_rows={},
            dram_bytes=(0, 0),
            lines=(),
            timing=None,
        )


class Evaluator(Protocol):
    """Evaluates kernel text for one workload on one machine. Never raises for what a kernel does wrong: that is a
    failed stage. Must be picklable, since evaluations run in worker processes."""

    accelerator: Accelerator
    workload: Workload

    def evaluate(
        self, kernel_text: str, *, record_commands: bool = False, stages: tuple[str, ...] = STAGES
    ) -> Evaluation: ...
