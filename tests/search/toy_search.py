"""A toy problem to search in: a "kernel" is a list of words, its cycles follow from them, in no time at all."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autocomp.search import Options, Problem, RunFolder, Search, SearchResult
from autocomp.search.cache import EvaluationCache
from autocomp.search.executors import Executor, InlineExecutor
from autocomp.search.log.journal import Journal, Listener
from autocomp.search.strategies import make_strategy
from autocomp.search.targets import AgentTarget, EvaluationTarget
from autocomp.targets.evaluation import (
    PHASES,
    Bound,
    Evaluation,
    Evidence,
    Measurement,
    Objective,
    Phase,
    Stage,
    StageVerdict,
)
from autocomp.targets.menu import Menu, MenuOption
from autocomp.targets.planning import Context, Implementation, Plan, Planning
from autocomp.targets.protocol import Evaluator, Focus, Knowledge, Language, Target

WORDS = ("tile", "hoist", "unroll", "stage", "pipeline", "broken", "wrong", "nothing")
SAVINGS = {"lucky": 400, "tile": 300, "hoist": 120, "unroll": 50, "stage": 200, "pipeline": 90}
NAIVE = "naive"
SMALL = Options(seed=1, beam=3, plans_per_parent=4, patience=3, max_steps=6)
BOUND = 100
FAILURES = {"broken": "check", "wrong": "smoke", "lucky": "adversarial"}


def cycles_of(kernel: str) -> int:
    words = set(kernel.split())
    return 1000 - sum(SAVINGS[word] for word in words if word in SAVINGS) + len(kernel.split())


STAGES = (
    Stage("check", "screen"),
    Stage("smoke", "screen"),
    Stage("adversarial", "prove"),
    Stage("discipline", "prove"),
    Stage("determinism", "prove"),
)


@dataclass(frozen=True)
class ToyEvaluator(Evaluator):
    """`broken`, `wrong` and `lucky` fail a stage; `crash` kills the process, `raise` is a fault of the evaluator;
    `untimed` passes and is not measured."""

    delay: float = 0.0
    log: Path | None = None
    stages = STAGES
    version = "toy"

    def evaluate(self, kernel: str, phases: Collection[Phase] = PHASES, seed: int | None = None) -> Evaluation:
        words = kernel.split()
        stages = [stage.name for stage in STAGES if stage.phase in phases]
        if self.log is not None:
            with self.log.open("a") as log:
                log.write(f"{stages[0]}: {kernel}\n")
        if "crash" in words:
            os.kill(os.getpid(), signal.SIGKILL)
        if "raise" in words:
            raise ZeroDivisionError("the evaluator has a fault")
        if self.delay:
            # Kernels take unlike times, so that workers finish out of order.
            time.sleep(self.delay * (1 + int(hashlib.sha256(kernel.encode()).hexdigest(), 16) % 5))
        failed = next((stage for word, stage in FAILURES.items() if word in words and stage in stages), None)
        position = stages.index(failed) if failed else len(stages)
        verdicts = tuple(
            StageVerdict(
                stage,
                "passed" if i < position else "failed" if i == position else "skipped",
                f"the word {words[-1]!r} fails {stage}" if i == position else "",
                line=1 if i == position else None,
            )
            for i, stage in enumerate(stages)
        )
        return Evaluation(
            stages=verdicts,
            objective=Objective("cycles"),
            measurement=None if failed == "check" or "untimed" in words else Measurement(cycles_of(kernel)),
            bound=Bound(BOUND, "toy", {"compute": BOUND, "memory": 10}),
            evidence=Evidence({"utilisation": 0.5}, {"execute": {"Busy": 1, "Idle": 2}}, {"local": (1, 2)}),
        )


@dataclass(frozen=True)
class ToyPlanner:
    name: str = "toy"
    words: tuple[str, ...] = WORDS

    def plan(self, context: Context, count: int) -> Planning:
        if "mute" in context.kernel.split():
            raise RuntimeError("the planner has a fault")
        options = [option.id for option in context.menu.options]
        return Planning(
            tuple(Plan(word, f"do {word}", parameters={"chance": context.random.random()}) for word in options[:count])
        )


@dataclass(frozen=True)
class ToyCoder:
    """Appends the plan's word; mends `wrong` when `mends`."""

    name: str = "toy"
    mends: bool = False

    def implement(self, context: Context, plan: Plan) -> Implementation:
        if plan.option == "nothing":
            return Implementation(None, "nothing to do here")
        if plan.option == "fault":
            raise ValueError("the coder has a fault")
        return Implementation(f"{context.kernel} {plan.option}")

    def repair(self, context: Context, plan: Plan, kernel: str, failure: str) -> Implementation:
        if self.mends and "wrong" in kernel:
            return Implementation(kernel.replace("wrong", "mended"))
        return Implementation(None)


def canonical_hash(kernel: str) -> str:
    """The order of words does not matter, nor does repetition."""
    return hashlib.sha256(" ".join(sorted(set(kernel.split()))).encode()).hexdigest()


class ToyLanguage(Language):
    name, suffix, fence = "words", ".txt", "text"

    def check(self, kernel: str, workload: Any, source: str = "kernel") -> None:
        """Anything is a kernel."""

    def signature(self, workload: Any) -> str:
        return "words"

    def fingerprint(self, kernel: str) -> str:
        return canonical_hash(kernel)


class ToyTarget(Target):
    kind, name, digest, parameters = "toy", "toy", "0", {}
    language = ToyLanguage()
    objective = Objective("cycles")

    @classmethod
    def load(cls, name: str, parameters: Any, paths: Any, trust: bool = False) -> ToyTarget:
        return cls()

    @classmethod
    def restore(cls, snapshot: Any, trust: bool = False) -> ToyTarget:
        return cls()

    def snapshot(self) -> dict[str, Any]:
        return {}

    def starting_kernel(self, workload: Any) -> str:
        return NAIVE

    def evaluator(self, workload: Any, source: str = "kernel") -> ToyEvaluator:
        return ToyEvaluator()

    def knowledge(self, workload: Any, focus: Focus) -> Knowledge:
        return Knowledge("role", "language", "machine", "a list of words", "words")


@dataclass(frozen=True)
class Toy:
    """A search set up in a folder; `run` starts it, or continues what is there."""

    folder: Path
    options: Options = SMALL
    words: tuple[str, ...] = WORDS
    mends: bool = False
    delay: float = 0.0
    log: Path | None = None
    starting_kernel: str = NAIVE
    strategy: str = "beam"
    dives: bool = False  # a beam search
    cache: EvaluationCache | None = None
    executor: Callable[[], Executor] = field(default=InlineExecutor)

    def with_options(self, **changes: Any) -> Toy:
        return replace(self, options=self.options.replace(**changes))

    def problem(self) -> Problem:
        menu = Menu(tuple(MenuOption(word, word, word) for word in self.words))
        agents = AgentTarget(
            ToyPlanner(),
            ToyCoder(mends=self.mends),
            ToyTarget(),
            None,  # type: ignore[arg-type]
            menu,
            self.options.dropout,
            self.options.black_box,
        )
        return Problem(self.starting_kernel, agents, EvaluationTarget(ToyEvaluator(delay=self.delay, log=self.log)))

    def run(self, listener: Listener | None = None, clock: Callable[[], float] = time.monotonic) -> SearchResult:
        fresh = not (self.folder / "config.json").exists()
        folder = RunFolder.create(self.folder, {}) if fresh else RunFolder.open(self.folder)
        executor = self.executor()
        with folder.locked():
            journal = Journal(folder.events, listener, clock)
            try:
                strategy = make_strategy(self.strategy, self.options, enumerates=self.dives or self.strategy != "beam")
                search = Search(self.problem(), strategy, self.options, folder, journal, executor, executor, self.cache)
                return search.run()
            finally:
                journal.close()
                executor.shutdown()


def summary(result: SearchResult) -> list[tuple[Any, ...]]:
    """All that must not depend on workers, interruptions or time."""
    return [
        (c.id, c.step, c.parent, c.plan, c.kernel, c.hash, c.outcome, c.message, c.repaired, c.evaluation)
        for c in result.history
    ] + [(result.reason, result.evaluations)]


class Worker:
    """The object whose methods an executor calls."""

    def double(self, number: int) -> int:
        return 2 * number

    def die(self, number: int) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return number

    def fail(self, number: int) -> int:
        raise ValueError(f"no {number}")

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
