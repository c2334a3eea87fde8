"""One kernel under judgement: compiled once, run on the draws of each stage under the conditions of that stage."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from autocomp.errors import KernelError
from autocomp.simulator import SimulationOptions, SimulationResult, Violation
from autocomp.targets.simulator.evaluate.compiled import CompiledKernel
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.workload import Case, InputSet, Workload, derived_seed, input_sets, make_case, make_inputs
from autocomp.workload.model import Arrays

HOST_COMPUTES = "a workload with `host: compute` lets the host compute, and counts its time"
DATA_DECIDES = "a workload with `host: data_dependent` lets data decide, and is judged on every draw"


class StageFailure(Exception):
    """A failed stage: the reason, and the kernel's line if it is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


@dataclass(frozen=True)
class Conditions:
    """Under which conditions to simulate. `used`: on a machine that the kernel has run on before, with other data."""

    timing: bool = False
    discipline: bool = False
    used: bool = False


PLAIN, TIMED, WATCHED = Conditions(), Conditions(timing=True), Conditions(discipline=True)
USED = Conditions(used=True)


@dataclass
class Judgement:
    """All that one judgement has found out so far. Everything random in it follows from `seed`.

    Where the host only controls, commands do not depend on data: the native core stops a kernel that reads an element,
    so that all runs have the time and the order of one. Otherwise every run is timed and watched.
    """

    workload: Workload
    accelerator: Accelerator
    compiler: Callable[[str], CompiledKernel]
    kernel_text: str
    seed: int
    limits: SimulationOptions  # of steps and cycles
    objective: str = "cycles"
    compiled: CompiledKernel | None = None
    timed: SimulationResult | None = None  # the slowest run whose cycles count
    watched: SimulationResult | None = None  # the first that was watched for memory discipline
    violations: dict[str, Violation] = field(default_factory=dict)
    stream: tuple[InputSet, int] | None = None  # of the first run

    @property
    def data_free(self) -> bool:
        """True where commands, their time and their order cannot depend on data."""
        return self.workload.host == "control"

    def compile(self) -> CompiledKernel:
        """Raises StageFailure if the kernel does not parse or check."""
        if self.compiled is None:
            try:
                self.compiled = self.compiler(self.kernel_text)
            except KernelError as error:
                raise StageFailure(str(error), error.place.line if error.place is not None else None) from None
        return self.compiled

    def draws(self, stage: str) -> Iterator[Case]:
        """The cases of a stage. Raises ConfigError where the user's reference fails."""
        for input_set in input_sets(self.workload, stage, self.seed):
            yield make_case(self.workload, input_set)

    def run(self, case: Case, conditions: Conditions) -> SimulationResult:
        """One run. Raises StageFailure for an error of the program, and for commands that depend on data."""
        if not self.data_free:
            conditions = dataclasses.replace(conditions, timing=True, discipline=True)
        before = self._other_data(case) if conditions.used else None
        result = self.compile().run(case.arrays, self._options(conditions, case), before)
        if conditions.discipline:
            self.watched = self.watched or result
            for violation in result.violations:
                self.violations.setdefault(violation.message, violation)
        if result.error is not None:
            hint = f" ({HOST_COMPUTES})" if result.error.kind == "host" else ""
            words = f"{result.error.message}{hint} (input set {case.input_set.name!r})"
            raise StageFailure(words, result.error.line or None)
        self._compare_streams(case, result)
        if conditions.timing and _cycles(result) > _cycles(self.timed):
            self.timed = result
        return result

    def _compare_streams(self, case: Case, result: SimulationResult) -> None:
        if self.stream is None:
            self.stream = case.input_set, result.stream
        first, stream = self.stream
        if stream != result.stream and self.workload.host != "data_dependent":
            raise StageFailure(
                f"with input set {case.input_set.name!r} the kernel issues other commands than with {first.name!r}: "
                f"what the accelerator does must not depend on data ({DATA_DECIDES})"
            )

    def _other_data(self, case: Case) -> Arrays:
        seed = derived_seed(case.input_set.seed, "before")
        return make_inputs(self.workload, dataclasses.replace(case.input_set, seed=seed))

    def _options(self, conditions: Conditions, case: Case) -> SimulationOptions:
        compiled = self.compile()
        return dataclasses.replace(
            self.limits,
            timing=conditions.timing,
            discipline=conditions.discipline,
            record_commands=conditions.timing,
            seed=derived_seed(case.input_set.seed, "contents") + 1,
            outputs=compiled.named("output"),
            inputs=compiled.named("input"),
            host_data=not self.data_free,
        )


def _cycles(result: SimulationResult | None) -> int:
    return -1 if result is None or result.timing is None else result.timing.cycles
