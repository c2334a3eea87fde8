"""Transformations that a model chooses by name and that are carried out exactly."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from autocomp import workload
from autocomp.agents.config import Agents, Member
from autocomp.agents.llm import Client, Ensemble, LlmCoder, LlmPlanner
from autocomp.agents.llm.moves import moves
from autocomp.targets.menu_file import load
from autocomp.targets.planning import Context, Plan
from autocomp.targets.rewriting import RewritingCoder
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.target import SimulatorTarget

from .conftest import ScriptedServer, an_evaluation, completion

WORKLOAD = "operation: gemm\naccelerator: gemmini\ndims: {I: 128, J: 128, K: 128}\n"


@pytest.fixture
def naive(monkeypatch: pytest.MonkeyPatch) -> Context:
    """The naive kernel of a small GEMM, with a part of the shipped menu."""
    monkeypatch.setattr("autocomp.targets.simulator.knowledge.brief", lambda *_: "")
    menu = load(["general"])
    few = replace(menu, options=tuple(menu.get(name) for name in ("schedule", "write_out", "tile")))
    small = workload.parse(WORKLOAD, Path("small.yaml"))
    accelerator = isa.load(small.accelerator)
    text = starting_kernel(small, accelerator)
    return Context(SimulatorTarget(accelerator), small, text, an_evaluation(), (), few, Random(1))


def one_model(server: ScriptedServer, cache: Path) -> Ensemble:
    return Ensemble([Client(Member(server.spec), cache_dir=cache)])


def test_moves_fit_the_kernel_and_belong_to_the_menu(naive: Context) -> None:
    options = {move.option for move in moves(naive)}
    assert "schedule" in options
    assert options <= {option.id for option in naive.menu.options}
    one = replace(naive, menu=replace(naive.menu, options=(naive.menu.get("schedule"),)))
    assert {move.option for move in moves(one)} == {"schedule"}


def test_every_move_can_be_applied_after_a_trip_through_json(naive: Context) -> None:
    for move in moves(naive):
        parameters = json.loads(json.dumps(move.parameters))
        applied = RewritingCoder().implement(naive, Plan(move.option, "", move.transformation, parameters))
        assert applied.kernel is not None, applied.message
        assert kernel.parse(applied.kernel)


def test_a_chosen_move_is_carried_out_without_asking_the_model(
    server: ScriptedServer, naive: Context, tmp_path: Path
) -> None:
    chosen = next(move for move in moves(naive) if move.option == "schedule")
    plan = {"option": "schedule", "plan": "p", "transformation": "schedule", "parameters": chosen.parameters}
    server.script(completion(json.dumps({"plans": [plan]})))
    (made,) = LlmPlanner(one_model(server, tmp_path), Agents()).plan(naive, 1).plans
    implementation = LlmCoder(one_model(server, tmp_path), Agents()).implement(naive, made)
    assert implementation.kernel == RewritingCoder().implement(naive, made).kernel
    assert len(server.requests) == 1
    assert json.dumps(chosen.parameters) in server.requests[0].prompt


@pytest.mark.parametrize("parameters", [{"order": ["nowhere"]}, {"block": 7}, {"part": 3}])
def test_the_model_is_asked_where_a_move_does_not_fit(
    server: ScriptedServer, naive: Context, tmp_path: Path, parameters: dict[str, object]
) -> None:
    server.script(completion(f"```c\n{naive.kernel}```"))
    plan = Plan("schedule", "Schedule it.", "schedule", parameters)
    assert LlmCoder(one_model(server, tmp_path), Agents()).implement(naive, plan).kernel == naive.kernel
    assert "Not applicable mechanically" in server.requests[0].prompt


def test_no_estimate_promises_more_than_the_bound_leaves_and_ranges_are_told(naive: Context) -> None:
    found = moves(naive)
    assert naive.evaluation.bound is not None
    assert max(move.saving for move in found) <= (naive.evaluation.value or 0) - naive.evaluation.bound.value
    first = next(move for move in found if move.option == "schedule")
    assert "to" in first.ranges


def test_a_move_that_was_run_saves_what_it_was_measured_to(naive: Context) -> None:
    small = workload.parse(WORKLOAD.replace("128", "32"), Path("small.yaml"))
    menu = load(["general"])
    kernel = starting_kernel(small, isa.load("gemmini"))
    evaluation = naive.target.evaluator(small).evaluate(kernel)
    few = replace(menu, options=(menu.get("schedule"),))
    run = [
        m for m in moves(replace(naive, workload=small, kernel=kernel, evaluation=evaluation, menu=few)) if m.measured
    ]
    assert run
    for move in run:
        assert f"{evaluation.value - move.saving:,.0f} cycles when it was run" in move.reason
