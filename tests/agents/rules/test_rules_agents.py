"""The embedded agents plan by the profile, repeat themselves exactly, and improve kernels without any help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import pytest

from autocomp.errors import FaultWarning
from autocomp.targets import menu_file
from autocomp.targets.evaluation import Evaluation
from autocomp.targets.menu import Menu
from autocomp.targets.planning import GENERATED, Context, LineageStep, Plan, Planning
from autocomp.targets.rewriting import RewritingCoder
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.isa.derived.roles import computing_unit
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.profile.limits import limits
from autocomp.targets.simulator.rules import RulesPlanner
from autocomp.targets.simulator.rules.profile import profile
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.story import Diagnosis
from autocomp.targets.simulator.target import SimulatorTarget
from autocomp.targets.simulator.transforms import transformation
from autocomp.workload import Workload, load
from autocomp.workload import parse as parse_workload


@cache
def machine(name: str) -> Accelerator:
    return isa.load(name)


@cache
def gemm(name: str, size: int) -> Workload:
    text = f"operation: gemm\naccelerator: {name}\ndims: {{I: {size}, J: {size}, K: {size}}}\n"
    return parse_workload(text, Path("gemm.yaml"))


def evaluate(name: str, size: int, text: str) -> Evaluation:
    evaluator = SimulatorEvaluator(machine(name), gemm(name, size))
    return evaluator.evaluate(text, stages=("check", "smoke", "discipline"))


def context(
    name: str = "gemmini", size: int = 64, text: str = "", seed: int = 0, tried: frozenset[str] = frozenset()
) -> Context:
    text = text or starting_kernel(gemm(name, size), machine(name))
    found = evaluate(name, size, text)
    options = menu_file.load(["gemm"])
    return Context(SimulatorTarget(machine(name)), gemm(name, size), text, found, [], options, Random(seed), tried)


def planned(given: Context, count: int) -> Planning:
    return RulesPlanner().plan(given, count)


def best_child(given: Context, plans: Sequence[Plan]) -> tuple[int, str]:
    """Cycles and text of the fastest right kernel among a parent and what its plans give."""
    size = given.workload.dims["I"]
    found = [(given.evaluation.value or 0, given.kernel)]
    for plan in plans:
        text = RewritingCoder().implement(given, plan).kernel
        assert text is not None
        evaluation = evaluate(given.target.name, size, text)
        if evaluation.correct and evaluation.value is not None:
            found.append((evaluation.value, text))
    return min(found)


def test_equal_contexts_give_equal_plans() -> None:
    assert planned(context(seed=7), 6) == planned(context(seed=7), 6)


def test_plans_differ_in_what_they_do() -> None:
    plans = planned(context(), 6).plans
    assert len(plans) > 1
    assert len({(plan.transformation, str(plan.parameters)) for plan in plans}) == len(plans)


def test_what_promises_little_comes_last_and_alone() -> None:
    given = context()
    both = Menu(tuple(o for o in given.menu.options if o.transformation in ("schedule", "order_commands")))
    little = Menu(tuple(o for o in given.menu.options if o.transformation == "command_by_command"))
    assert {p.transformation for p in planned(context_with(given, both), 6).plans} == {"schedule"}
    assert len(planned(context_with(given, little), 6).plans) <= 1


def test_a_plan_says_what_it_does_and_why() -> None:
    plan = planned(context(), 1).plans[0]
    assert plan.text.startswith("Choose tiles, blocks, order and buffers together")
    assert "execute was busy" in plan.text
    assert "waited mostly on" in plan.text


def test_a_plan_whose_kernel_was_run_predicts_the_speed_up_that_it_has() -> None:
    given = context(size=32)
    few = Menu((menu_file.load(["general"]).get("schedule"),))
    plan = planned(replace(given, menu=few), 1).plans[0]
    text = RewritingCoder().implement(given, plan).kernel
    assert text is not None
    assert plan.gain is not None
    low, high = plan.gain
    assert low <= (given.evaluation.value or 0) / (evaluate("gemmini", 32, text).value or 1) <= high < low + 0.002


def test_kernels_that_were_tried_are_not_proposed_again() -> None:
    first = context()
    plan = planned(first, 1).plans[0]
    text = RewritingCoder().implement(first, plan).kernel
    assert text is not None
    tried = frozenset({kernel.canonical_hash(kernel.parse(text))})
    again = planned(context(tried=tried), 6).plans
    assert plan not in again


def test_options_that_the_menu_withholds_are_not_proposed() -> None:
    given = context()
    only = Menu(tuple(o for o in given.menu.options if o.id in ("drop_fence", "order_commands")))
    plans = planned(context_with(given, only), 6).plans
    assert {plan.option for plan in plans} <= {"drop_fence", "order_commands"}
    assert plans


@pytest.mark.parametrize("method", ["candidates", "apply"])
def test_a_transformation_that_fails_is_reported_and_the_others_go_on(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(type(transformation("schedule")), method, fail)
    with pytest.warns(FaultWarning, match="'schedule' failed: internal error: ZeroDivisionError: a mistake"):
        planning = planned(context(size=24 if method == "apply" else 48), 6)
    assert planning.plans
    assert any("'schedule' failed" in message for message in planning.messages)


@pytest.mark.long
def test_a_convolution_of_few_channels_is_scheduled_with_its_taps_merged() -> None:
    dims = "{N: 1, H: 8, W: 24, C: 3, K: 16, R: 5, S: 5}"
    text = f"operation: conv2d\naccelerator: gemmini\ndims: {dims}\nstride: 2\npadding: 2\nbias: row\n"
    workload = parse_workload(text, Path("stem.yaml"))
    start = starting_kernel(workload, machine("gemmini"))
    judged = SimulatorEvaluator(machine("gemmini"), workload).evaluate(start, stages=("check", "smoke"))
    options = menu_file.load(["conv2d"])
    given = Context(SimulatorTarget(machine("gemmini")), workload, start, judged, [], options, Random(0))
    plan = planned(given, 1).plans[0]
    assert plan.transformation == "schedule"
    assert plan.parameters["merged"] == {"loops": ["s"], "pad": "inp"}


def context_with(given: Context, options: Menu) -> Context:
    return Context(given.target, given.workload, given.kernel, given.evaluation, [], options, Random(0))


def test_a_plan_in_words_alone_is_declined() -> None:
    answer = RewritingCoder().implement(context(), Plan("", "make it fast"))
    assert answer.kernel is None
    assert "names no transformation" in answer.message


def test_a_transformation_that_does_not_fit_is_declined_with_the_reason() -> None:
    answer = RewritingCoder().implement(context(), Plan("schedule", "", "schedule", {"order": ["z"]}))
    assert answer.kernel is None
    assert "got z" in answer.message


def test_the_profile_names_the_computing_unit_and_what_it_waits_for() -> None:
    given = context()
    assert computing_unit(given.target.accelerator) == "execute"
    found = profile(given.evaluation, given.target.accelerator)
    assert 0 < found.computing < 1
    assert found.main_cause in found.shares


def test_with_the_critical_path_known_no_plan_promises_more_than_what_if_allows() -> None:
    fences = Menu((menu_file.load(["general"]).get("drop_fence"),))
    given = replace(context(text=context().kernel.replace("preload(", "fence(); preload(")), menu=fences)
    known = limits(given.kernel, given.workload, given.target.accelerator)
    scarce = replace(known, what_if=tuple(replace(answer, saved=answer.saved / 50) for answer in known.what_if))
    most = 1 / (1 - scarce.around_computation)

    def promised(given: Context) -> list[float]:
        """The largest speed-ups that plans about moves promise."""
        plans = planned(given, 20).plans
        return [plan.gain[1] for plan in plans if plan.gain and plan.option == "drop_fence"]

    assert max(promised(replace(given, diagnosis=Diagnosis(limits=scarce)))) <= most + 0.001 < max(promised(given))


def test_the_critical_path_names_what_waits_and_what_it_waits_for() -> None:
    given = context()
    found = profile(
        given.evaluation, given.target.accelerator, limits(given.kernel, given.workload, given.target.accelerator)
    )
    assert found.shares["ReadAfterWrite"] > 0.3  # products wait for their loads
    assert found.around > 0.3


def improved(name: str, size: int, steps: int, plans: int) -> tuple[int, int]:
    """Cycles before and after following the best of a few plans a few times."""
    given = context(name, size)
    start = given.evaluation.value or 0
    cycles, text = start, given.kernel
    for step in range(steps):
        cycles, text = best_child(given, planned(given, plans).plans)
        given = context(name, size, text, seed=step)
    return start, cycles


@pytest.mark.long
def test_a_few_greedy_steps_make_a_matrix_multiplication_several_times_faster() -> None:
    start, end = improved("gemmini", 64, steps=3, plans=4)
    assert end * 4 < start


def test_the_kernel_generated_beside_a_users_is_written_anew_as_a_starting_kernel_is() -> None:
    generated = replace(context(), lineage=[LineageStep(Plan(GENERATED, "begin anew"), 1000)])
    assert planned(generated, 1).plans[0].transformation == "schedule"


def test_a_start_is_not_written_anew_where_its_commands_one_by_one_measure_less() -> None:
    workload = load("tinympc_control")
    judge = SimulatorEvaluator(isa.load(workload.accelerator), workload)
    text, options = starting_kernel(workload, judge.accelerator), menu_file.load(["linear_algebra", "general"])
    found = judge.evaluate(text, stages=("check", "smoke"))
    given = Context(SimulatorTarget(judge.accelerator), workload, text, found, [], options, Random(0))
    assert planned(given, 1).plans[0].transformation == "command_by_command"


@pytest.mark.long
def test_the_same_agent_speeds_up_a_machine_with_semaphores() -> None:
    start, end = improved("tiny", 16, steps=3, plans=3)
    assert end * 2 < start
