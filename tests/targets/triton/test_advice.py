"""What a recording calls for, and that the rules' planner listens to it."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from autocomp.targets import menu_file
from autocomp.targets.evaluation import Evaluation
from autocomp.targets.planning import Context
from autocomp.targets.triton.advice import Advice, Seen, advise, excess_of
from autocomp.targets.triton.connection import Host
from autocomp.targets.triton.evaluator import MICROSECONDS
from autocomp.targets.triton.phases import Phase
from autocomp.targets.triton.pipelining import Forecast, Round
from autocomp.targets.triton.planner import TritonPlanner
from autocomp.targets.triton.profile import Advised
from autocomp.targets.triton.target import TritonTarget
from autocomp.targets.triton.transformations import SEQUENCE
from tests.targets.triton.fake_worker import DEVICE
from tests.targets.triton.workloads import load

LAUNCH: dict[str, Any] = {"name": "k", "grid": [140], "warps": 8, "stages": 2, "registers": 100, "shared": 98_000}
SHARED = 233_472


def seen(*phases: Phase, model: Forecast | str = "none", excess: float = 0.0) -> Seen:
    return Seen({**LAUNCH, "loops": {"0": {"bytes": 32_768}}}, phases, model, SHARED, excess)


def phase(kind: str, share: float, loop: int = 0) -> Phase:
    return Phase(kind, 7, loop, share, 100, 50.0)


def model(cycles: float, products: float = 500.0) -> Forecast:
    return Forecast(100.0, 100.0, Round(cycles, 2, 2, products, 300.0), 64.0, 1.0, 1.5)


def rewrites(found: tuple[Advice, ...]) -> list[str]:
    return [advice.rewrites[0] for advice in found]


def test_a_loop_that_waits_for_copies_wants_more_stages_and_says_what_they_save() -> None:
    first = advise(seen(phase("Wait", 0.6), phase("Product", 0.4), model=model(1500.0)))[0]
    assert first.values["num_stages"] > 2
    assert 0.0 < first.gain < 1.0
    assert f"{first.values['num_stages']} pipelining stages in place of 2" in str(first)


def test_tensor_cores_that_idle_without_waiting_want_warps_of_their_own() -> None:
    found = advise(seen(phase("Product", 1.0), model=model(1000.0)))
    assert "attention_groups" in found[0].rewrites or "attention_groups" in found[1].rewrites


def test_products_beyond_need_are_masked_ones() -> None:
    found = advise(seen(phase("Product", 1.0), excess=2.0))
    assert rewrites(found) == ["skip_masked"]
    assert found[0].gain == pytest.approx(0.5)


def test_rows_that_are_read_by_three_loops_want_one_pass() -> None:
    found = advise(seen(*(phase("Arithmetic", 1 / 3, loop) for loop in range(3))))
    assert rewrites(found) == ["one_block"]
    assert found[0].gain == pytest.approx(2 / 3)


def test_the_products_of_a_call_are_compared_with_those_it_needs() -> None:
    work = {"operations": 1000, "bits": 16, "bytes": 64}
    launch = {"warps": 4, "grid": [5, 2], "loops": {"0": work}}
    marked = {"marks": [{"loop": 0}, {"loop": 0}], "made": 2 * 4 * 3 * 8, "blocks": 3}  # 8 rounds a block
    answer = {"launches": [launch], "marked": [marked]}
    assert excess_of(answer, 40_000) == pytest.approx(2.0)
    assert excess_of({"launches": [launch], "marked": [{}]}, 40_000) == 0.0


def test_the_planner_takes_stated_numbers_and_names_the_profile() -> None:
    workload = load("matmul")
    target = TritonTarget("gpu", Host(), DEVICE, None)
    menu = menu_file.load(["triton"])
    menu = replace(menu, options=tuple(option for option in menu.options if option.transformation != SEQUENCE))
    advice = (
        Advice("matmul_kernel", 0.99, "5 pipelining stages in place of 3", ("set_parameters",), {"num_stages": 5}),
        Advice("matmul_kernel", 0.2, "larger tiles", ("tensor_descriptors",)),
    )
    context = Context(
        target=target,
        workload=workload,
        kernel=target.starting_kernel(workload),
        evaluation=Evaluation((), MICROSECONDS, None, None),
        lineage=(),
        menu=menu,
        random=Random(1),
        diagnosis=Advised(advice=advice),
    )
    plans = TritonPlanner(target.device).plan(context, 40).plans
    assert plans[0].parameters == {"kernel": "matmul_kernel", "values": {"num_stages": 5}}
    assert plans[0].text == "profile: 5 pipelining stages in place of 3"
    assert any("profile: larger tiles" in plan.text for plan in plans[1:])
