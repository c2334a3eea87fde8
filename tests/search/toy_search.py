"""A toy problem to search in: a "kernel" is a list of words, its cycles follow from them, in no time at all."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autocomp.search import Options, Problem, RunFolder, Search, SearchResult
from autocomp.search.cache import EvaluationCache
from autocomp.search.executors import Executor, InlineExecutor
from autocomp.search.journal import Journal, Listener
from autocomp.search.strategies import make_strategy
from autocomp.search.targets import AgentTarget, EvaluationTarget
from autocomp.targets.menu import Menu, MenuOption
from autocomp.targets.planning import Context, Implementation, Plan, Planning
from autocomp.targets.simulator.evaluate.model import STAGES, Bound, Evaluation, StageVerdict

WORDS = ("tile", "hoist", "unroll", "stage", "pipeline", "broken", "wrong", "nothing")
SAVINGS = {"lucky": 400, "tile": 300, "hoist": 120, "unroll": 50, "stage": 200, "pipeline": 90}
NAIVE = "naive"
SMALL = Options(seed=1, beam=3, plans_per_parent=4, patience=3, max_steps=6)
BOUND = 100
FAILURES = {"broken": "check", "wrong": "smoke", "lucky": "adversarial"}


def cycles_of(kernel: str) -> int:
    words = set(kernel.split())
    return 1000 - sum(SAVINGS[word] for word in words if word in SAVINGS) + len(kernel.split())


@dataclass(frozen=True)
class ToyEvaluator:
    """`broken`, `wrong` and `lucky` fail a stage; `crash` kills the process, `raise` is a fault of the evaluator."""

    accelerator: Any = None
    workload: Any = None
    delay: float = 0.0
    log: Path | None = None

    def evaluate(
        self, kernel_text: str, *, record_commands: bool = False, stages: tuple[str, ...] = STAGES
    ) -> Evaluation:
        words = kernel_text.split()
        if self.log is not None:
            with self.log.open("a") as log:
                log.write(f"{stages[0]}: {kernel_text}\n")
        if "crash" in words:
            os.kill(os.getpid(), signal.SIGKILL)
        if "raise" in words:
            raise ZeroDivisionError("the evaluator has a fault")
        if self.delay:
            # Kernels take unlike times, so that workers finish out of order.
            time.sleep(self.delay * (1 + int(hashlib.sha256(kernel_text.encode()).hexdigest(), 16) % 5))
        failed = next((stage for word, stage in FAILURES.items() if word in words and stage in stages), None)
        position = STAGES.index(failed) if failed else len(STAGES)
        verdicts = tuple(
            StageVerdict(
                stage,
                "passed" if i < position else "failed" if i == position else "skipped",
                f"the word {words[-1]!r} fails {stage}" if i == position else "",
                line=1 if i == position else None,
            )
            for i, stage in enumerate(STAGES)
            if stage in stages
        )
        return Evaluation(
            stages=verdicts,
            cycles=None if failed == "check" else cycles_of(kernel_text),
            bound=Bound(BOUND, BOUND, 10, "toy"),
            utilisation=0.5,
            commands=len(words),
            steps=len(words),
            unit_cycles={"execute": {"Busy": 1, "Idle": 2}},
            memory_rows={"local": (1, 2)},
            dram_bytes=(1, 2),
            lines=(),
            seconds=0.0,
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
        return replace(self, options=replace(self.options, **changes))

    def problem(self) -> Problem:
        menu = Menu(tuple(MenuOption(word, word, word) for word in self.words))
        agents = AgentTarget(
            ToyPlanner(),
            ToyCoder(mends=self.mends),
            None,
            None,
            menu,
            self.options.dropout,
            canonical_hash,  # type: ignore[arg-type]
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
    """What an executor calls."""

    def double(self, number: int) -> int:
        return 2 * number

    def die(self, number: int) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return number

    def fail(self, number: int) -> int:
        raise ValueError(f"no {number}")

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
