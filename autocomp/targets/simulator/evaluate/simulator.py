"""The evaluator that runs kernels on the simulator."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from autocomp.simulator import MemoryUse, SimulationOptions, Timing
from autocomp.targets.evaluation import (
    PHASES,
    Evaluation,
    Evidence,
    Measurement,
    Number,
    Phase,
    StageVerdict,
)
from autocomp.targets.protocol import Evaluator
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.evaluate.bounds import bound, utilisation
from autocomp.targets.simulator.evaluate.compiled import CompiledKernel, compile_kernel
from autocomp.targets.simulator.evaluate.hotspots import line_cycles
from autocomp.targets.simulator.evaluate.objectives import ENERGY, bound_of, measured, objective_of
from autocomp.targets.simulator.evaluate.session import Judgement, StageFailure
from autocomp.targets.simulator.evaluate.stages import STAGE_FUNCTIONS, STAGES
from autocomp.targets.simulator.evaluate.version import version_on
from autocomp.targets.simulator.isa.energy import Energy, energy
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.workload import Workload, fresh_seed

MAX_STEPS = 1 << 28  # bytecode steps of one run
MAX_HOST_STEPS = 1 << 30  # of one whose host computes
MAX_BYTES = 1 << 31  # of memory of one run, for what it keeps of its commands
MAX_CYCLES_OVER_BOUND = 10_000  # a run is cut off when it needs this many times the lower bound


class SimulatorEvaluator(Evaluator):
    """Evaluates kernels for one workload on one machine. Picklable.

    `source_name` is what messages call the kernel, `objective` the name of what kernels are measured by.
    """

    stages = STAGES

    def __init__(
        self, accelerator: Accelerator, workload: Workload, source_name: str = "kernel.c", objective: str = "cycles"
    ) -> None:
        self.objective = objective
        self._objective = objective_of(accelerator, objective)
        self.accelerator = accelerator
        self.workload = workload
        self.source_name = source_name
        self.version = version_on(accelerator)
        self._least_cycles = int(bound(workload, accelerator).value)
        self._bound = bound_of(objective, workload, accelerator)

    @property
    def max_cycles(self) -> int:
        """Where a run is cut off."""
        return self._least_cycles * MAX_CYCLES_OVER_BOUND + 1_000_000

    @property
    def tables(self) -> isa.MachineTables:
        """The machine's native tables."""
        return isa.lower(self.accelerator)

    def compile(self, kernel_text: str) -> CompiledKernel:
        """Raises KernelError if the kernel does not parse or check."""
        return compile_kernel(kernel_text, self.workload, self.accelerator, self.tables, self.source_name)

    def evaluate(
        self,
        kernel: str,
        phases: Collection[Phase] = PHASES,
        seed: int | None = None,
        *,
        stages: Collection[str] | None = None,
    ) -> Evaluation:
        """Run the stages of the phases, or of some names alone, in order up to the first that fails; the rest are
        skipped.

        Inputs and initial contents are drawn from `seed`, and from fresh entropy without one.

        Nothing that a kernel does wrong raises. A workload whose own reference function fails raises ConfigError.
        """
        started = time.perf_counter()
        session = self.session(kernel, seed)
        verdicts: list[StageVerdict] = []
        failed = False
        chosen = [s.name for s in STAGES if s.phase in phases and (stages is None or s.name in stages)]
        for stage in chosen:
            verdict = StageVerdict(stage, "skipped") if failed else _verdict(stage, session)
            failed = failed or verdict.status == "failed"
            verdicts.append(verdict)
        run = session.timed
        timing = run.timing if run is not None and run.error is None else None
        spent = energy(self.accelerator, run.work, timing.cycles) if run is not None and timing is not None else None
        return Evaluation(
            stages=tuple(verdicts),
            objective=self._objective,
            measurement=None if timing is None else Measurement(measured(self.objective, timing.cycles, spent)),
            bound=self._bound,
            evidence=self._evidence(session, timing, spent),
            seconds=time.perf_counter() - started,
            seed=session.seed,
        )

    def session(self, kernel: str, seed: int | None = None) -> Judgement:
        """A judgement of a kernel that has not begun."""
        computes = self.workload.host != "control"
        max_steps = MAX_HOST_STEPS if computes else MAX_STEPS
        limits = SimulationOptions(max_cycles=self.max_cycles, max_steps=max_steps, max_bytes=MAX_BYTES)
        drawn = fresh_seed() if seed is None else seed
        return Judgement(self.workload, self.accelerator, self.compile, kernel, drawn, limits, self.objective)

    def _evidence(self, session: Judgement, timing: Timing | None, spent: Energy | None) -> Evidence:
        """The figures of those runs that the stages needed."""
        run = session.timed
        figures: dict[str, Number] = {}
        if run is not None:
            figures |= {"commands": run.command_count, "host_steps": run.steps}
            figures |= {"dram_bytes_read": run.dram_bytes_read, "dram_bytes_written": run.dram_bytes_written}
        if timing is None:
            return Evidence(figures, resources=_touched(session))
        figures["utilisation"] = utilisation(self.workload, self.accelerator, timing.cycles)
        if self.objective != "cycles":
            figures["cycles"] = timing.cycles
        if spent is not None:
            figures[ENERGY] = spent.total / 1000
            figures |= {f"{ENERGY}_{component}": amount / 1000 for component, amount in spent.components.items()}
        return Evidence(
            figures,
            parts={unit.unit: dict(unit.causes) for unit in timing.units},
            resources=_touched(session),
            lines=line_cycles(timing, session.kernel_text),
            unit="" if self.objective == "cycles" else "cycles",
        )


def _touched(session: Judgement) -> Mapping[str, tuple[int, int]]:
    """Rows of each memory that the run under watch touched, and how many there are."""
    memory: Sequence[MemoryUse] = session.watched.memory if session.watched is not None else ()
    return {use.memory: (use.rows_touched, use.rows) for use in memory}


def _verdict(stage: str, session: Judgement) -> StageVerdict:
    started = time.perf_counter()
    try:
        message = STAGE_FUNCTIONS[stage](session)
    except StageFailure as failure:
        return StageVerdict(stage, "failed", failure.message, failure.line, time.perf_counter() - started)
    return StageVerdict(stage, "passed", message, None, time.perf_counter() - started)
