"""The results of a search, its counts and its refusals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from toy_search import NAIVE, SMALL, STAGES, Toy, ToyCoder, ToyPlanner, canonical_hash, cycles_of, summary

from autocomp.errors import CandidateFailure, ConfigError, DeviceError, KernelError
from autocomp.search import Options, Problem
from autocomp.search.drafts import KNOWN
from autocomp.search.executors import Executor, InlineExecutor, ProcessExecutor, ThreadExecutor, make_executor
from autocomp.search.log.journal import read_events
from autocomp.search.strategies import STRATEGIES
from autocomp.targets.evaluation import Evaluation, Evidence
from autocomp.targets.planning import Attempt, Context, Implementation, Plan, Planning

ALL_GOOD = ("tile", "hoist", "unroll", "stage", "pipeline")


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    return Toy(tmp_path / "run")


def test_finds_the_best_kernel(toy: Toy) -> None:
    result = toy.with_options(beam=6, plans_per_parent=8, dropout=0.0, max_steps=9).run()
    assert set((toy.folder / "best.c").read_text().split()) == {NAIVE, *ALL_GOOD}
    assert result.best.value < result.naive.value == cycles_of(NAIVE)


def test_lineage_leads_from_the_naive_kernel_to_the_best(toy: Toy) -> None:
    result = toy.run()
    chain = result.history.ancestry(result.best)
    assert chain[0] == result.naive
    assert [c.parent for c in chain[1:]] == [c.id for c in chain[:-1]]
    assert [step.value for step in result.history.lineage(result.best)] == [c.value for c in chain[1:]]


def test_every_candidate_is_counted_by_outcome(toy: Toy) -> None:
    result = toy.with_options(dropout=0.0, plans_per_parent=8).run()
    outcomes = result.history.outcomes()
    assert sum(outcomes.values()) == sum(len(step.candidates) for step in result.history.steps)
    expected = {"correct", "screened", "duplicate", "not implemented", "failed check", "failed smoke"}
    assert set(outcomes) == expected
    not_implemented = next(c for c in result.history if c.outcome == "not implemented")
    assert not_implemented.message == "nothing to do here"


def test_no_kernel_is_evaluated_twice(toy: Toy, tmp_path: Path) -> None:
    log = tmp_path / "evaluated"
    result = Toy(toy.folder, toy.options, log=log).run()
    lines = [line.split(": ") for line in log.read_text().splitlines()]
    evaluated = [canonical_hash(text) for stage, text in lines if stage == "check"]
    assert len(evaluated) == len(set(evaluated)) == result.evaluations


def test_only_what_is_expanded_or_best_is_proven_and_all_of_that(toy: Toy) -> None:
    result = toy.run()
    expanded = {parent for step in result.history.steps for parent in step.parents}
    for candidate in result.history:
        proven = candidate.evaluation is not None and len(candidate.evaluation.stages) == len(STAGES)
        assert proven == (candidate.id in expanded | {result.best.id})


def test_a_kernel_that_fails_its_proof_is_neither_expanded_nor_best(toy: Toy) -> None:
    words = ("tile", "lucky", "hoist")
    result = replace(toy, words=words).with_options(dropout=0.0).run()
    failed = {c.id for c in result.history if c.outcome == "failed adversarial"}
    assert failed
    assert not failed & {parent for step in result.history.steps for parent in step.parents}
    assert "lucky" not in (toy.folder / "best.c").read_text()


def test_the_last_word_is_proven_even_when_time_is_up(toy: Toy) -> None:
    ticks = iter(range(10_000))
    result = replace(toy, words=("lucky", "tile")).with_options(seconds=20.0).run(clock=lambda: float(next(ticks)))
    assert result.reason == "budget of seconds spent"
    assert result.best.correct


def test_same_seed_gives_the_same_run_and_another_seed_another(tmp_path: Path) -> None:
    runs = [summary(Toy(tmp_path / str(i)).with_options(seed=seed).run()) for i, seed in enumerate((5, 5, 6))]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


@pytest.mark.parametrize(
    "executor", [lambda: ProcessExecutor(2), lambda: ThreadExecutor(5)], ids=["processes", "threads"]
)
def test_workers_and_their_order_have_no_influence(tmp_path: Path, executor: Callable[[], Executor]) -> None:
    alone = Toy(tmp_path / "alone").run()
    together = Toy(tmp_path / "together", executor=executor, delay=0.0005).run()
    assert summary(together) == summary(alone)


def test_budget_of_evaluations_is_kept_exactly(toy: Toy) -> None:
    result = toy.with_options(evaluations=8).run()
    assert result.evaluations == 8
    assert result.reason == "budget of evaluations spent"
    assert result.history.outcomes()["skipped"] > 0


def test_budget_of_seconds_ends_the_search_and_is_an_event(toy: Toy) -> None:
    ticks = iter(range(10_000))
    result = toy.with_options(seconds=60.0).run(clock=lambda: float(next(ticks)))
    assert result.reason == "budget of seconds spent"
    events, _ = read_events(toy.folder / "events.jsonl")
    assert [event["kind"] for event in events].count("expired") == 1
    assert summary(toy.with_options(seconds=60.0).run()) == summary(result), "replayed, it stops in the same place"


def test_no_seconds_still_evaluates_the_naive_kernel(toy: Toy) -> None:
    result = toy.with_options(seconds=0.0).run()
    assert result.best == result.naive
    assert result.reason == "budget of seconds spent"


def test_stops_when_nothing_gets_better(toy: Toy) -> None:
    result = Toy(toy.folder, toy.options, words=("nothing", "wrong", "vain", "idle")).with_options(patience=1).run()
    assert result.reason == "no better kernel in 1 steps"


def test_stops_when_every_parent_is_exhausted(toy: Toy) -> None:
    result = Toy(toy.folder, toy.options, words=("nothing",)).with_options(patience=9).run()
    assert result.reason == "nothing left to expand"


def test_stops_at_the_target_ratio(toy: Toy) -> None:
    result = toy.with_options(ratio=0.12).run()
    assert result.reason == "target ratio reached"


def test_a_repaired_kernel_takes_the_place_of_the_broken_one(toy: Toy) -> None:
    result = Toy(toy.folder, toy.options, words=("wrong",), mends=True).run()
    first = result.history[1]
    assert (first.outcome, first.repaired) == ("correct", True)


def test_faults_of_agents_and_evaluator_are_counted_not_fatal(toy: Toy) -> None:
    result = Toy(toy.folder, toy.options, words=("fault", "raise", "mute", "tile")).run()
    messages = {c.message.split(" (in ")[0] for c in result.history if c.outcome == "error"}
    assert messages == {
        "internal error: ValueError: the coder has a fault",
        "internal error: ZeroDivisionError: the evaluator has a fault",
        "internal error: RuntimeError: the planner has a fault",
    }
    assert result.best.correct


def test_a_kernel_that_kills_its_worker_is_counted_and_the_rest_goes_on(toy: Toy) -> None:
    toy = Toy(toy.folder, toy.options, words=("crash", "tile", "hoist"), executor=lambda: ProcessExecutor(2))
    result = toy.with_options(max_steps=2, dropout=0.0).run()
    assert result.history.outcomes()["worker lost"] >= 1
    assert result.best.value == cycles_of("naive tile hoist")


@pytest.mark.parametrize(("kernel", "error"), [("naive broken", KernelError), ("naive wrong", CandidateFailure)])
def test_a_wrong_starting_kernel_is_refused_with_the_reason(toy: Toy, kernel: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"starting kernel is not correct.*fails"):
        Toy(toy.folder, toy.options, starting_kernel=kernel).run()


def test_a_search_without_measurements_is_refused(toy: Toy) -> None:
    with pytest.raises(DeviceError, match="passed all stages, and toy does not measure it"):
        Toy(toy.folder, toy.options, starting_kernel="naive untimed").run()


@pytest.mark.parametrize(
    "change", [{"beam": 0}, {"dropout": 1.0}, {"patience": 0}, {"seconds": -1.0}, {"evaluations": 0}]
)
def test_impossible_options_are_refused_by_name(change: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=next(iter(change))):
        Options(**change)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_finds_something_and_the_same_again(tmp_path: Path, strategy: str) -> None:
    toys = [Toy(tmp_path / name, SMALL, strategy=strategy) for name in ("a", "b")]
    first, second = (toy.with_options(evaluations=25).run() for toy in toys)
    assert summary(first) == summary(second)
    assert first.best.correct
    assert first.best.value < first.naive.value
    assert first.evaluations <= 25


def test_random_search_differs_by_seed(tmp_path: Path) -> None:
    runs = [Toy(tmp_path / str(s), SMALL.replace(seed=s), strategy="random").run() for s in (1, 2)]
    assert summary(runs[0]) != summary(runs[1])


def test_evolution_keeps_its_findings_in_the_run_folder_and_shows_them_to_later_designs(tmp_path: Path) -> None:
    seen: list[str] = []

    class Reading(ToyPlanner):
        def plan(self, context: Context, count: int) -> Planning:
            seen.append(context.findings)
            assert count == 10, "ten avenues"
            return super().plan(context, count)

    class ReadingToy(Toy):
        def problem(self) -> Problem:
            problem = super().problem()
            return replace(problem, agents=replace(problem.agents, planner=Reading()))

    toy = ReadingToy(tmp_path / "run", SMALL.replace(max_steps=3, dropout=0.0), strategy="evolve")
    result = toy.run()
    assert seen[0] == ""
    for step, document in zip(result.history.steps, seen[1:], strict=False):
        for candidate in step.candidates:
            assert candidate.plan is not None
            assert f"- {candidate.plan.option} on kernel {candidate.parent}" in document
    assert all(len(step.candidates) <= 3 for step in result.history.steps)
    assert "The best kernel takes" in (toy.folder / "findings.md").read_text()


def test_a_black_box_shows_cycles_and_nothing_of_where_they_went(tmp_path: Path) -> None:
    shown: list[Evaluation] = []

    class Looking(ToyPlanner):
        def plan(self, context: Context, count: int) -> Planning:
            shown.extend([context.evaluation, *(peer.evaluation for peer in context.peers)])
            return super().plan(context, count)

    class LookingToy(Toy):
        def problem(self) -> Problem:
            problem = super().problem()
            return replace(problem, agents=replace(problem.agents, planner=Looking()))

    LookingToy(tmp_path / "run", SMALL.replace(black_box=True)).run()
    assert len(shown) > 2
    for evaluation in shown:
        assert evaluation.value
        assert evaluation.evidence == Evidence()


def test_planners_see_what_was_tried_on_a_kernel_and_what_it_gained(tmp_path: Path) -> None:
    seen: list[Sequence[Attempt]] = []

    class Looking(ToyPlanner):
        def plan(self, context: Context, count: int) -> Planning:
            if context.kernel == NAIVE:
                seen.append(context.attempts)
            return super().plan(context, count)

    class LookingToy(Toy):
        def problem(self) -> Problem:
            problem = super().problem()
            return replace(problem, agents=replace(problem.agents, planner=Looking()))

    LookingToy(tmp_path / "run", SMALL.replace(dropout=0.0, beam=9), words=("tile", "wrong")).run()
    assert seen[0] == ()
    by_option = {attempt.plan.option: attempt for attempt in reversed(seen[-1])}
    assert by_option["tile"].gain == pytest.approx(cycles_of(NAIVE) / cycles_of("naive tile"))
    assert (by_option["wrong"].outcome, by_option["wrong"].gain) == ("failed smoke", None)


def test_one_worker_runs_in_this_process_and_more_are_processes() -> None:
    assert isinstance(make_executor(None, 1), InlineExecutor)
    executor = make_executor(None, 3)
    assert (type(executor), executor.capacity) == (ProcessExecutor, 3)
    executor.shutdown()


@pytest.mark.parametrize("spec", ["processes", "processes:0", "processes:x", "dask://here", "dask:here:1", "threads:0"])
def test_an_executor_that_is_none_is_refused(spec: str) -> None:
    with pytest.raises(ConfigError, match=f"executor '{spec}'"):
        make_executor(spec, 1)


def test_a_written_kernel_that_is_known_is_asked_for_once_more(tmp_path: Path) -> None:
    class Repeating(ToyCoder):
        """Gives the parent again, unless it is told that the kernel is known."""

        def implement(self, context: Context, plan: Plan) -> Implementation:
            return super().implement(context, plan) if KNOWN in plan.text else Implementation(context.kernel)

    class WritingToy(Toy):
        def problem(self) -> Problem:
            problem = super().problem()
            return replace(problem, agents=replace(problem.agents, coder=Repeating(), writes=True))

    toy = WritingToy(tmp_path / "run", SMALL.replace(max_steps=2))
    result = toy.run()
    assert result.best.value < result.naive.value
    assert all(c.plan is None or KNOWN not in c.plan.text for c in result.history)
    assert summary(toy.run()) == summary(result)
    keys = [event.get("key", "") for event in read_events(toy.folder / "events.jsonl")[0]]
    assert any(key.endswith("/again") for key in keys)


def test_credit_is_what_the_plans_of_an_author_gained(tmp_path: Path) -> None:
    history = Toy(tmp_path / "run", SMALL.replace(max_steps=2)).run().history
    gains = [math.log(max(1.0, history.gain(c) or 1.0)) for c in history if c.plan is not None]
    assert history.credit() == {"rules": pytest.approx(sum(gains) / len(gains))}
