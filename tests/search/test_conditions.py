"""The result of a search in other conditions, and the kernels that it plans for when the worst one counts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import pytest
from toy_search import SMALL, Toy, ToyCoder, ToyEvaluator, ToyPlanner, ToyTarget

from autocomp import workload as workloads
from autocomp.agents.config import Agents
from autocomp.errors import ConfigError
from autocomp.report.runs.run import RunView
from autocomp.search import Options, Problem
from autocomp.search.log.snapshot import Request, create, restore
from autocomp.search.session import Means, run_session
from autocomp.search.targets import AgentCall, AgentTarget, EvaluationTarget
from autocomp.targets.conditions import conditions_of
from autocomp.targets.evaluation import PHASES, Evaluation, Measurement, Objective, Phase
from autocomp.targets.menu import Menu, MenuOption
from autocomp.targets.planning import Context, Planning
from autocomp.targets.registry import load_target


@dataclass(frozen=True)
class Slower(ToyEvaluator):
    """The toy's machine in a condition in which everything takes so much longer, and `stage` fails."""

    by: int = 1

    def evaluate(self, kernel: str, phases: Collection[Phase] = PHASES, seed: int | None = None) -> Evaluation:
        found = super().evaluate(f"{kernel} broken" if "stage" in kernel else kernel, phases, seed)
        return found if found.value is None else replace(found, measurement=Measurement(found.value * self.by))


class Compared(Toy):
    """A toy search that ends with a comparison."""

    def problem(self) -> Problem:
        conditions = {"nominal": EvaluationTarget(ToyEvaluator()), "slow": EvaluationTarget(Slower(by=3))}
        return replace(super().problem(), routine="naive tile", conditions=conditions)


def test_a_search_records_how_its_result_and_the_routine_hold(tmp_path: Path) -> None:
    toy = Compared(tmp_path / "run", words=("tile", "hoist"))
    best = int(toy.run().best.value)
    found = RunView.of(toy.folder / "events.jsonl").conditions
    assert [(event["name"], event["value"], event["routine"]) for event in found] == [
        ("nominal", best, 702),
        ("slow", 3 * best, 3 * 702),
    ]


def test_a_kernel_that_does_not_hold_in_a_condition_has_no_value_there(tmp_path: Path) -> None:
    toy = Compared(tmp_path / "run", words=("stage", "tile"))
    toy.run()
    assert [event["value"] is None for event in RunView.of(toy.folder / "events.jsonl").conditions] == [False, True]


def test_a_comparison_is_made_once_and_when_time_is_up_too(tmp_path: Path) -> None:
    toy = Compared(tmp_path / "run", options=SMALL.replace(seconds=0.0))
    toy.run()
    log = (toy.folder / "events.jsonl").read_bytes()
    assert log.count(b'"kind":"condition"') == 2
    toy.run()
    assert (toy.folder / "events.jsonl").read_bytes() == log


def test_the_routine_is_the_result_where_nothing_that_was_found_is_better(tmp_path: Path) -> None:
    """Within the budget, and the same when the run is replayed."""
    toy = Compared(tmp_path / "run", options=SMALL.replace(max_steps=1), words=("hoist", "unroll"))
    assert toy.run().best.value == 702
    result = toy.run()
    best = result.best
    assert (best.parent, best.plan and best.plan.option, best.outcome) == (0, "routine", "correct")
    assert (toy.folder / "best.c").read_text() == "naive tile"
    assert RunView.of(toy.folder / "events.jsonl").conditions[0]["value"] == 702


def test_a_routine_that_becomes_the_result_counts_against_no_budget(tmp_path: Path) -> None:
    toy = Compared(tmp_path / "run", options=SMALL.replace(evaluations=2), words=("hoist", "unroll"))
    result = toy.run()
    assert result.best.plan is not None
    assert (result.best.plan.option, result.evaluations) == ("routine", 2)
    assert RunView.of(toy.folder / "events.jsonl").evaluations == 2


def test_a_routine_that_does_not_hold_is_no_result(tmp_path: Path) -> None:
    class Broken(Compared):
        def problem(self) -> Problem:
            return replace(super().problem(), routine="naive tile stage pipeline lucky")

    toy = Broken(tmp_path / "run", options=SMALL.replace(max_steps=1), words=("hoist",))
    result = toy.run()
    assert (result.best.plan and result.best.plan.option) == "hoist"
    assert [c.outcome for c in result.history][-1] == "failed adversarial"


class Elsewhere(ToyTarget):
    digest = "1"


@dataclass(frozen=True)
class Noting(ToyPlanner):
    """Says which machine it was asked about."""

    def plan(self, context: Context, count: int) -> Planning:
        return Planning((), messages=(context.target.digest,))


@pytest.mark.parametrize(("values", "digest"), [({"nominal": 1, "slow": 2}, "1"), ({"nominal": 3, "slow": 2}, "0")])
def test_agents_are_asked_about_the_condition_in_which_a_kernel_is_worst(values: dict[str, int], digest: str) -> None:
    menu = Menu((MenuOption("tile", "tile", "tile"),))
    agents = AgentTarget(
        Noting(),
        ToyCoder(),
        ToyTarget(),
        None,  # type: ignore[arg-type]
        menu,
        0.0,
        conditions={"slow": Elsewhere()},
    )
    evaluation = Evaluation((), Objective("cycles"), Measurement(2), conditions=values)
    answer = agents.plan(AgentCall("naive", evaluation, (), frozenset(), "0"))
    assert answer["messages"] == [digest]


def test_a_robust_search_finds_what_is_best_at_its_worst(tmp_path: Path) -> None:
    text = "accelerator: gemmini\noperation: gemm\ndims: {I: 32, J: 32, K: 64}\n"
    workload = workloads.parse(text, Path("w.yaml"))
    target = load_target("simulator:gemmini")
    options = Options(evaluations=8, robust=True, conditions=("MEM_LATENCY=20", "MEM_LATENCY=120,HOST=1"))
    menu = Menu((MenuOption("one", "o", "o", transformation="command_by_command"),))
    request = Request(workload, target, menu, Agents(), options)
    folder = create(tmp_path / "run", request, datetime.now())
    assert restore(folder).options == options
    best = run_session(restore(folder), folder, Means(executor="inline", cache=False)).best
    assert best.evaluation is not None
    values = best.evaluation.conditions
    assert list(values) == ["nominal", *options.conditions]
    assert best.value == values["MEM_LATENCY=120,HOST=1"] == max(values.values()) > min(values.values())
    told = {event["name"]: event["value"] for event in RunView.of(folder.events).conditions}
    assert told == values


def test_conditions_that_a_target_does_not_have_are_refused() -> None:
    with pytest.raises(ConfigError, match="no parameter LATENCY"):
        conditions_of(load_target("simulator:gemmini"), ["LATENCY=20"])
    with pytest.raises(ConfigError, match="cannot be changed"):
        conditions_of(ToyTarget(), ["A=1"])
    with pytest.raises(ConfigError, match="at most 16"):
        Options(conditions=("A=1",) * 17)
