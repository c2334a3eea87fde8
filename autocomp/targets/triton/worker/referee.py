"""Judging and timing one kernel: draw, reference, run, compare, in the order of the stages."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from autocomp.targets.triton.worker.cases import (
    Case,
    Task,
    bytes_of,
    operands,
    size_cases,
    smoke_cases,
    value_cases,
)
from autocomp.targets.triton.worker.compare import difference
from autocomp.targets.triton.worker.drawn import Drawn, draw, is_large, own_case
from autocomp.targets.triton.worker.memory import Arena, SharedTensor
from autocomp.targets.triton.worker.process import CandidateProcess, Failed
from autocomp.targets.triton.worker.sanitizer import accesses
from autocomp.targets.triton.worker.statistics import measured, summarise
from autocomp.targets.triton.worker.timing import device_state
from autocomp.targets.triton.worker.turns import Turns
from autocomp.targets.triton.worker.unseen import faster_on_seen
from autocomp.workload.tensor import Expected

COMPILE_SECONDS = 60.0
SAMPLED = 2048  # elements of each timed run's output that are compared
DETERMINISM_RUNS = 3
INTERPRETER_SECONDS = 60.0
SETS = 2  # sets of inputs that timed runs take in turns
KEPT_BYTES = 3 << 30  # of a device's memory that a worker keeps between judgements
CPU_LIMITS = {"file_bytes": 256 << 20, "cpu_seconds": 600, "network": 0}


@dataclass(frozen=True)
class Effort:
    """The limits of a referee's effort: seconds of one run, runs and seconds of timing. Timing ends early where the
    confidence interval is narrower than `precision` of the median. With `sanitize`, compute-sanitizer watches a run."""

    run_seconds: float = 5.0
    fewest: int = 20
    repeats: int = 200
    timing_seconds: float = 0.15
    precision: float = 0.003
    sanitize: float = 0


@dataclass
class Verdict:
    """The outcome of one stage."""

    stage: str
    status: str = "passed"
    message: str = ""
    seconds: float = 0.0

    def document(self) -> dict[str, Any]:
        return {"stage": self.stage, "status": self.status, "message": self.message, "seconds": self.seconds}


@dataclass
class Referee:
    """Judges kernels of any task on one device, in turns with the other processes that use it."""

    device: str
    effort: Effort = field(default_factory=Effort)
    arenas: list[Arena] = field(default_factory=list)

    def arena(self) -> Arena:
        """Memory to share: on a GPU the same pool for all judgements, on a CPU a folder for each."""
        if not self.has_device:
            return Arena(self.device)
        if not self.arenas:
            self.arenas.append(Arena(self.device))
        return self.arenas[0]

    @property
    def has_device(self) -> bool:
        return self.device != "cpu"

    def judge(self, task: Task, kernel: str, phases: Sequence[str], seed: int) -> dict[str, Any]:
        """Verdicts of the stages of some phases in their order, up to the first that fails, and the measurement."""
        with self.room(task):
            return _Judgement(self, task, kernel, seed).run(phases)

    def beside(self, task: Task, kernels: Sequence[str], seed: int, rounds: int) -> list[dict[str, Any] | None]:
        """Measure correct kernels in turns: `rounds` times a few runs of each. None for what could not be timed."""
        with self.room(task):
            return self._beside(task, kernels, seed, rounds)

    def _beside(self, task: Task, kernels: Sequence[str], seed: int, rounds: int) -> list[dict[str, Any] | None]:
        judgements = [_Judgement(self, task, kernel, seed) for kernel in kernels]
        samples: list[list[float]] = [[] for _ in kernels]
        failed: set[int] = set()
        for judgement in judgements:
            judgement.prepare()
        try:
            with self.turns.alone():
                for round_ in range(rounds):
                    for position, judgement in enumerate(judgements):
                        if position in failed:
                            continue
                        try:
                            samples[position] += judgement.time(fewest=5, repeats=5, warm=round_ == 0)["samples"]
                        except Failed:
                            failed.add(position)
        finally:
            for judgement in judgements:
                judgement.close()
        return [None if i in failed or not s else measured(s) for i, s in enumerate(samples)]

    @property
    def turns(self) -> Turns:
        return Turns(self.device)

    def room(self, task: Task) -> AbstractContextManager[None]:
        """Have as much of the device's memory as the judgement of a task may need."""
        shares = self.device.startswith("cuda")
        return self.turns.room(sum(bytes_of(task, own_case(task)))) if shares else nullcontext()

    def draw(self, task: Task, case: Case, seed: int, arena: Arena, within: Sequence[SharedTensor] = ()) -> Drawn:
        """Tensors of a case with inputs drawn from a seed, and the exact results; `within` those of an earlier draw."""
        return draw(self.device, task, case, seed, arena, not self.has_device, within)


class _Judgement:
    """One kernel under judgement, with its candidate process."""

    def __init__(self, referee: Referee, task: Task, kernel: str, seed: int) -> None:
        self._referee = referee
        self._task = task
        self._kernel = kernel
        self._seed = seed
        self._process: CandidateProcess | None = None
        self._arena: Arena | None = None
        self._timed: list[Drawn] = []
        self._log: SharedTensor | None = None
        self._positions: SharedTensor | None = None
        self._draws = 0
        self.resources: list[dict[str, Any]] = []

    def run(self, phases: Sequence[str]) -> dict[str, Any]:
        begun = time.perf_counter()
        measurement: dict[str, Any] | None = None
        verdicts: list[Verdict] = []

        def timing() -> None:
            nonlocal measurement
            measurement = self._timing()

        try:
            for name, action in self._stages(phases, timing):
                verdict = Verdict(name)
                verdicts.append(verdict)
                started = time.perf_counter()
                try:
                    action()
                except Failed as failed:
                    verdict.status, verdict.message = "failed", str(failed)
                verdict.seconds = time.perf_counter() - started
                if verdict.status == "failed":
                    break
        finally:
            self.close()
        return {
            "stages": [verdict.document() for verdict in verdicts],
            "measurement": measurement,
            "resources": self.resources,
            "seconds": time.perf_counter() - begun,
            "seed": self._seed,
        }

    def _stages(self, phases: Sequence[str], timing: Callable[[], None]) -> list[tuple[str, Callable[[], None]]]:
        stages: list[tuple[str, Callable[[], None]]] = []
        interpreted = not self._referee.has_device
        if "screen" in phases:
            if not interpreted:
                stages.append(("compile", self._compile))
            stages.append(("smoke", lambda: self._cases(smoke_cases(self._task, interpreted))))
            if not interpreted:
                stages.append(("timing", timing))
        if "prove" in phases:
            stages.append(("sizes", lambda: self._cases(size_cases(self._task, interpreted))))
            stages.append(("values", lambda: self._cases(value_cases(self._task, interpreted))))
            stages.append(("determinism", self._determinism))
            if self._referee.effort.sanitize and not interpreted:
                stages.append(("accesses", self._accesses))
        return stages

    # --- the candidate -------------------------------------------------------------------------------------------

    @property
    def process(self) -> CandidateProcess:
        """The candidate process with the kernel loaded, started when it is first needed."""
        if self._process is None:
            self._process = CandidateProcess(self._referee.device, CPU_LIMITS)
            self._process.load(self._kernel, self._task.host_computes, COMPILE_SECONDS)
        return self._process

    @property
    def arena(self) -> Arena:
        if self._arena is None:
            self._arena = self._referee.arena()
        return self._arena

    def close(self) -> None:
        if self._process is not None:
            self._process.close()
        self._timed, self._log, self._positions = [], None, None
        if self._arena is not None and not self._referee.has_device:
            self._arena.close()
        self._arena = None
        if self._referee.has_device and is_large(self._task):
            self._referee.arenas.clear()  # its memory goes back to the device only as a whole
        if self._referee.device != "cpu" and torch.cuda.memory_reserved() > KEPT_BYTES:
            torch.cuda.empty_cache()  # other workers share the device's memory

    def _compile(self) -> None:
        """Compile for the cases of the smoke stage, without the device."""
        for case in smoke_cases(self._task, interpreted=False):
            self.resources = self._compiled(case)
            for kernel in self.resources:
                if kernel["shared"] > kernel["shared_limit"]:
                    raise Failed(
                        f"{kernel['name']} needs {kernel['shared']:,} bytes of shared memory, the device has "
                        f"{kernel['shared_limit']:,}; take smaller tiles or fewer stages"
                    )

    def _compiled(self, case: Case) -> list[dict[str, Any]]:
        """The resources of the kernels that a case launches. An interpreter compiles none."""
        described = [{"shape": list(o.shape), "dtype": o.dtype} for o in operands(self._task, case)]
        return list(self.process.compile(described, COMPILE_SECONDS)["kernels"]) if self._referee.has_device else []

    @property
    def _allowance(self) -> float:
        """Seconds more for runs on an interpreter."""
        return 0.0 if self._referee.has_device else INTERPRETER_SECONDS

    # --- correctness ---------------------------------------------------------------------------------------------

    def _cases(self, cases: Sequence[Case]) -> None:
        for case in cases:
            self._compiled(case)
            with self._referee.turns.alone(), self._drawn(case) as drawn:
                self._run(drawn)
                if self._referee.has_device and case == self._own and not self._timed:
                    self._timed = [drawn]

    @property
    def _own(self) -> Case:
        return own_case(self._task)

    def _determinism(self) -> None:
        """The same result, bit for bit, from the same inputs, also where outputs hold what an earlier call left."""
        case = smoke_cases(self._task, interpreted=not self._referee.has_device)[-1]
        self._compiled(case)
        with self._referee.turns.alone(), self._drawn(case) as drawn:
            first: list[torch.Tensor] = []
            for _ in range(DETERMINISM_RUNS):
                self._run(drawn)
                bits = [result.view(torch.uint8).clone() for result in drawn.results()]
                if first and not all(torch.equal(a, b) for a, b in zip(first, bits, strict=True)):
                    raise Failed(f"{case.describe()}: the same inputs gave different results")
                first = bits
            self._run(drawn, left=True)

    def _accesses(self) -> None:
        kernels_accesses = accesses(self._kernel, asdict(self._task), self._referee.device, self._next_seed())
        if kernels_accesses:
            raise Failed(kernels_accesses)

    def _run(self, drawn: Drawn, left: bool = False) -> None:
        """One run on poisoned outputs, or on `left` ones; raises Failed with what is wrong after it."""
        drawn.leave() if left else drawn.poison()
        self._synchronise()
        try:
            self.process.run("case", self._referee.effort.run_seconds + self._allowance)
        except Failed as failed:
            raise Failed(f"{drawn.case.describe()}: {failed}", failed.kind) from None
        fault = drawn.fault()
        if fault:
            where = ", where an earlier run had left results" if left else ""
            raise Failed(f"{drawn.case.describe()}: {fault}{where}")

    @contextmanager
    def _drawn(self, case: Case) -> Iterator[Drawn]:
        """Inputs of a case, drawn and shared."""
        drawn = self._referee.draw(self._task, case, self._next_seed(), self.arena)
        self._synchronise()
        self.process.attach({"case": drawn.handles}, START)
        yield drawn

    def _next_seed(self) -> int:
        self._draws += 1
        return (self._seed * 1_000_003 + self._draws) % (1 << 62)

    def _synchronise(self) -> None:
        if self._referee.has_device:
            torch.cuda.synchronize()

    # --- time ----------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Compile and draw for timing alone."""
        self._compile()

    def _timing(self) -> dict[str, Any]:
        effort = self._referee.effort
        with self._referee.turns.alone():
            answer = self.time(fewest=effort.fewest, repeats=effort.repeats, warm=True)
            state = device_state()
            fault = faster_on_seen(summarise(answer["samples"]).median, self._time_unseen)
            if fault:
                raise Failed(fault)
        if is_large(self._task):
            self._timed, self._log, self._positions = [], None, None  # later stages draw their own
        return {**measured(answer["samples"]), "state": state, "warm_batches": answer["warm_batches"]}

    def time(self, fewest: int, repeats: int, warm: bool) -> dict[str, Any]:
        """Time the kernel and compare what the timed runs gave."""
        effort = self._referee.effort
        if self._log is None:
            self._share_timed(max(repeats, effort.repeats))
        log, positions = self._log, self._positions
        assert log is not None
        assert positions is not None
        log.tensor.fill_(float("nan"))
        self._synchronise()
        answer = self.process.time(
            [f"set{i}" for i in range(len(self._timed))],
            limit=effort.run_seconds * 3 + effort.timing_seconds,
            outputs=len(self._timed[0].outputs),
            fewest=fewest,
            repeats=repeats,
            seconds=effort.timing_seconds,
            precision=effort.precision,
            warm=warm,
        )
        self._check_timed(len(answer["samples"]))
        return answer

    def _time_unseen(self) -> float:
        """Microseconds of one run on inputs drawn anew, in the place of the last ones."""
        last = len(self._timed) - 1
        self._timed[last].forget()
        arena, within = self.arena, self._timed[last].tensors
        drawn = self._timed[last] = self._referee.draw(self._task, self._own, self._next_seed(), arena, within)
        self._synchronise()
        once = {"fewest": 1, "repeats": 1, "seconds": 0.0, "precision": 1.0, "outputs": len(drawn.outputs)}
        answer = self.process.time([f"set{last}"], self._referee.effort.run_seconds * 3, unseen=True, **once)
        fault = drawn.fault()
        if fault:
            raise Failed(f"after a timed run on inputs that it had not seen: {fault}")
        return float(answer["samples"][0])

    def _share_timed(self, repeats: int) -> None:
        while len(self._timed) < (1 if is_large(self._task) else SETS):
            self._timed.append(self._referee.draw(self._task, self._own, self._next_seed(), self.arena))
        elements = self._timed[0].results()[0].numel()
        generator = torch.Generator(self._referee.device).manual_seed(secrets.randbits(62))
        self._positions = self.arena.tensor((min(SAMPLED, elements),), "int64")
        chosen = torch.randint(
            0, elements, self._positions.tensor.shape, device=self._referee.device, generator=generator
        )
        self._positions.tensor.copy_(chosen)
        self._log = self.arena.tensor((repeats, len(chosen)), "float32")
        sets = {f"set{i}": drawn.handles for i, drawn in enumerate(self._timed)}
        self._synchronise()
        self.process.attach({**sets, "log": [self._positions.handle, self._log.handle]}, START)

    def _check_timed(self, runs: int) -> None:
        """Check the results of every timed run at the sampled positions, and those of the last runs as a whole."""
        log, positions = self._log, self._positions
        assert log is not None
        assert positions is not None
        for drawn in self._timed[: min(runs, len(self._timed))]:
            fault = drawn.fault()
            if fault:
                raise Failed(f"after the timed runs: {fault}")
        name, dtype = self._timed[0].outputs[0]
        for run in range(runs):
            expected = self._timed[run % len(self._timed)].expected[name]
            sampled = Expected(
                expected.value.reshape(-1)[positions.tensor], expected.tolerance.reshape(-1)[positions.tensor]
            )
            message = difference(torch, log.tensor[run], sampled, dtype, float("nan"))
            if message:
                raise Failed(f"timed run {run + 1}: {name}: {message}")


START = 60.0  # seconds to open shared memory, which makes the device's context
