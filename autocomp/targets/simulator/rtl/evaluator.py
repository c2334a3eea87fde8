"""The evaluator that asks the hardware: a kernel's commands, as the simulator recorded them, on the RTL."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Literal

from autocomp.errors import ConfigError
from autocomp.simulator import SimulationOptions, _core
from autocomp.targets.evaluation import PHASES, Evaluation, Evidence, Measurement, Phase, Stage, StageVerdict
from autocomp.targets.protocol import Evaluator
from autocomp.targets.simulator.evaluate import STAGES, SimulatorEvaluator
from autocomp.targets.simulator.evaluate.bounds import utilisation
from autocomp.targets.simulator.evaluate.compiled import CompiledKernel
from autocomp.targets.simulator.evaluate.simulator import MAX_STEPS
from autocomp.targets.simulator.evaluate.stages import first_difference
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.rtl.machine import RtlMachine, RtlResult, most_cycles
from autocomp.targets.simulator.rtl.model.build import RtlModel
from autocomp.workload import Case, Workload, fresh_seed, input_sets, make_case

RTL = Stage("rtl", "prove", "the same results on the hardware description, which gives the cycles")


@dataclass(frozen=True)
class Confirmation:
    """The hardware's verdict on a kernel. `status` is passed, failed, or skipped (it cannot be told, or the simulator
    found it wrong). `cycles` of the first input set; `simulated` the simulator's; `steps` of the clock in `seconds`."""

    status: Literal["passed", "failed", "skipped"]
    message: str
    cycles: int | None = None
    simulated: int | None = None
    steps: int = 0
    seconds: float = 0.0

    @property
    def error(self) -> float | None:
        """The simulator's relative error, signed: simulated / measured - 1."""
        return self.simulated / self.cycles - 1.0 if self.cycles and self.simulated else None


class RtlEvaluator(Evaluator):
    """The simulator's stages, then the same commands on the RTL: results bit for bit, cycles as measured there.

    Of where cycles go the RTL tells nothing, so its evaluations do not either.
    """

    stages = (*STAGES, RTL)

    def __init__(
        self, accelerator: Accelerator, workload: Workload, model: RtlModel, source_name: str = "kernel.c"
    ) -> None:
        self.accelerator = accelerator
        self.workload = workload
        self.model = model
        self.simulator = SimulatorEvaluator(accelerator, workload, source_name)
        self.version = self.simulator.version
        self._machine: RtlMachine | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_machine": None}

    @property
    def machine(self) -> RtlMachine:
        """Made on first use in each process. Raises ConfigError when the model does not fit the accelerator."""
        if self._machine is None:
            self._machine = RtlMachine(self.accelerator, self.simulator.tables, self.model)
        return self._machine

    def evaluate(self, kernel: str, phases: Collection[Phase] = PHASES, seed: int | None = None) -> Evaluation:
        """The simulator's evaluation with one stage more and the RTL's cycles; no cycles if that stage did not pass."""
        simulated = self.simulator.evaluate(kernel, phases, seed)
        if RTL.phase not in phases:
            return simulated
        confirmation = self.confirm(kernel, seed=simulated.seed) if simulated.correct else Confirmation("skipped", "")
        verdict = StageVerdict(RTL.name, confirmation.status, confirmation.message, seconds=confirmation.seconds)
        figures = {
            "commands": simulated.evidence.figures.get("commands", 0),
            "utilisation": utilisation(self.workload, self.accelerator, confirmation.cycles),
        }
        return replace(
            simulated,
            stages=(*simulated.stages, verdict),
            measurement=None if confirmation.cycles is None else Measurement(confirmation.cycles),
            evidence=Evidence(figures),
            seconds=simulated.seconds + confirmation.seconds,
        )

    def confirm(self, kernel_text: str, most_sets: int | None = None, seed: int | None = None) -> Confirmation:
        """The hardware's verdict on a kernel that the simulator finds correct: on every draw of a judgement, or on the
        first `most_sets`. The first draw is timed.

        Raises ConfigError when the model does not fit the accelerator.
        """
        compiled = self.simulator.compile(kernel_text)
        cycles, simulated, steps, seconds, reads = None, None, 0, 0.0, ""
        draws = input_sets(self.workload, "rtl", fresh_seed() if seed is None else seed)[:most_sets]
        for case in (make_case(self.workload, draw) for draw in draws):
            try:
                predicted, result = self._run(compiled, case)
            except ConfigError as error:
                return Confirmation("skipped", f"not confirmed: {error}", cycles, simulated, steps, seconds)
            steps, seconds, reads = steps + result.run.steps, seconds + result.seconds, reads or result.reads
            wrong = self._wrong(case, result)
            if wrong is not None and compiled.host_writes:
                message = "not confirmed: the kernel's own code writes to memory, which its commands do not show"
                return Confirmation("skipped", message, None, predicted, steps, seconds)
            if wrong is not None:
                return Confirmation("failed", wrong, None, predicted, steps, seconds)
            if cycles is None:
                cycles, simulated = result.run.cycles, predicted
        names = ", ".join(draw.name for draw in draws)
        confirmation = Confirmation("passed", "", cycles, simulated, steps, seconds)
        right = "right bit for bit" if self.workload.exact else "right within the tolerance"
        rate = f"{steps / seconds:,.0f} cycles a second" if seconds else ""
        says = f"the simulator says {simulated:,} cycles ({confirmation.error or 0:+.2%})"
        words = (f"{right} on {names}", says, rate, reads)
        return replace(confirmation, message="; ".join(word for word in words if word))

    def _run(self, compiled: CompiledKernel, case: Case) -> tuple[int, RtlResult]:
        recorded = compiled.run(case.arrays, SimulationOptions(record_trace=True, max_steps=MAX_STEPS))
        assert isinstance(recorded.trace, _core.Trace)
        assert recorded.timing is not None
        simulated = recorded.timing.cycles
        arrays = {tensor.name: case.arrays[tensor.name] for tensor in self.workload.tensors} | compiled.own_arrays()
        return simulated, self.machine.run(recorded.trace, arrays, most_cycles(simulated))

    def _wrong(self, case: Case, result: RtlResult) -> str | None:
        """The fault of a run in words, or None."""
        run, input_set = result.run, case.input_set
        where = f"with input set {input_set.name!r}, after {run.accepted:,} commands and {run.cycles:,} cycles"
        if run.status == "cycles":
            return f"{where}, the design is still busy: it hangs, or is far slower than the simulator says"
        if run.status != "done":
            return f"{where}: {run.message}"
        if result.writes:
            return f"with input set {input_set.name!r}, {result.writes}"
        differing = first_difference(self.workload, case, result.outputs)
        return None if differing is None else f"with input set {input_set.name!r}, {differing}"
