"""A search that begins with the plans of earlier schedules."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_search import NAIVE, SMALL, Toy, summary

from autocomp import workload
from autocomp.search import Problem
from autocomp.search.log.journal import read_events
from autocomp.search.strategies import STRATEGIES
from autocomp.targets.distance import distance
from autocomp.targets.planning import LineageStep, Plan, Precedent, Replay, Replayed
from autocomp.targets.rewriting import REUSE
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.replay import replay
from autocomp.targets.simulator.rules.ahead import ahead_of_rules
from autocomp.targets.simulator.rules.given import facts_of
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.transforms import candidates_of, transformation
from autocomp.workload.model import Workload

KEEP = Plan("keep", "text", "schedule", {"block": {"i": 2, "j": 3, "k": 2}})
WIDEN = Plan("widen", "text", "command_by_command", {})


@dataclass(frozen=True)
class Opened(Toy):
    """A toy search that begins with a chain of words."""

    chain: tuple[str, ...] = ("tile", "stage")

    def problem(self) -> Problem:
        texts = [" ".join((NAIVE, *self.chain[:end])) for end in range(1, len(self.chain) + 1)]
        steps = tuple(
            Replayed("record", Plan(word, f"do {word}", author=REUSE), text, position - 1 if position else None)
            for position, (word, text) in enumerate(zip(self.chain, texts, strict=True))
        )
        return replace(super().problem(), opening=lambda: Replay(steps))


def precedent(*plans: Plan, record: str = "record") -> Precedent:
    return Precedent(record, "digest", "gemm", 1.0, 0.9, tuple(LineageStep(plan, 100) for plan in plans))


def problem(sizes: tuple[int, int, int], dim: int = 16) -> tuple[str, Workload, Accelerator]:
    """The starting kernel of a product, with its workload and machine."""
    text = f"operation: gemm\naccelerator: gemmini\ndims: {dict(zip('IJK', sizes, strict=True))}\n"
    product: Workload = workload.parse(text, Path("gemm.yaml"))
    machine = isa.load("gemmini", {"DIM": dim})
    return starting_kernel(product, machine), product, machine


def replayed(sizes: tuple[int, int, int], *precedents: Precedent, dim: int = 16) -> Replay:
    start, product, machine = problem(sizes, dim)
    return replay(precedents, start, machine, product)


def ahead(sizes: tuple[int, int, int], found: Replay) -> Replay:
    start, product, machine = problem(sizes)
    return ahead_of_rules(found, start, machine, product, "cycles")


def test_the_opening_is_a_chain_from_the_naive_kernel_and_no_step(tmp_path: Path) -> None:
    result = Opened(tmp_path / "run", SMALL.replace(max_steps=0)).run()
    assert [(c.id, c.step, c.parent, c.plan and c.plan.option) for c in result.history] == [
        (0, 0, None, None),
        (1, 0, 0, "tile"),
        (2, 0, 1, "stage"),
    ]
    assert (result.history.steps, result.evaluations, result.best.id) == ((), 3, 2)
    assert result.best.correct


def test_a_beam_begins_at_the_starting_kernel_after_an_opening_too(tmp_path: Path) -> None:
    first = Opened(tmp_path / "run", chain=("tile", "stage", "hoist"), dives=True).run().history.steps[0]
    assert first.parents == (0,)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_all_strategies_go_on_from_the_opening(tmp_path: Path, strategy: str) -> None:
    options = SMALL.replace(keep_parents=False, dropout=0.0, plans_per_parent=8, max_steps=9)
    result = Opened(tmp_path / "run", options, strategy=strategy).run()
    assert {step.number for step in result.history.steps} == set(range(1, len(result.history.steps) + 1))
    assert set((tmp_path / "run" / "best.c").read_text().split()) >= {"tile", "stage", "hoist"}


def test_what_follows_a_kernel_that_does_not_hold_is_skipped(tmp_path: Path) -> None:
    opening = Opened(tmp_path / "run", chain=("tile", "wrong", "stage")).run().history.opening
    assert opening is not None
    assert [c.outcome for c in opening.candidates][1:] == ["failed smoke", "skipped"]


def test_the_opening_keeps_to_the_budget_of_evaluations(tmp_path: Path) -> None:
    assert Opened(tmp_path / "run", SMALL.replace(evaluations=2)).run().evaluations == 2


def test_a_run_with_an_opening_resumes_from_any_event_to_the_same_result(tmp_path: Path) -> None:
    toy = Opened(tmp_path / "run", SMALL.replace(max_steps=1))
    whole = toy.run()
    log = toy.folder / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    for kept in range(len(lines)):
        log.write_bytes(b"".join(lines[:kept]))
        assert summary(toy.run()) == summary(whole)
    assert [e["key"] for e in read_events(log)[0]].count("replay") == 1


def test_a_plan_is_applied_to_another_shape_with_its_parameters() -> None:
    result = replayed((96, 112, 80), precedent(KEEP))
    (step,) = result.steps
    assert step.plan.parameters == KEEP.parameters
    assert step.plan.author == REUSE
    assert not result.left_out


def test_parameters_that_do_not_apply_give_way_to_the_nearest_that_do() -> None:
    unknown_loop = replace(KEEP, parameters={"order": ["i", "x"]})
    (step,) = replayed((96, 112, 80), precedent(unknown_loop)).steps
    assert step.plan.parameters != unknown_loop.parameters
    assert "nearest" in step.plan.text


def test_what_two_precedents_have_in_common_is_replayed_once() -> None:
    result = replayed((64, 64, 32), precedent(KEEP, record="one"), precedent(KEEP, WIDEN, record="two"))
    assert [(step.record, step.plan.option, step.parent) for step in result.steps] == [
        ("one", "keep", None),
        ("two", "widen", 0),
    ]


def test_plans_of_transformations_that_are_no_more_become_one_schedule() -> None:
    result = replayed(
        (64, 48, 32),
        precedent(replace(KEEP, transformation="keep_accumulator"), replace(WIDEN, transformation="widen_moves")),
    )
    (step,) = result.steps
    assert step.plan.transformation == "schedule"
    assert "in place of keep in record" in step.plan.text
    assert not result.left_out


def test_plans_for_single_commands_that_are_no_more_become_one_for_all_commands() -> None:
    steps = (replace(WIDEN, transformation=name) for name in ("own_rows", "load_once"))
    (step,) = replayed((33, 17, 20), precedent(*steps)).steps
    assert step.plan.transformation == "command_by_command"


def test_kernels_that_one_schedule_beats_are_left_out_with_their_cycles() -> None:
    found = replayed((40, 24, 30), precedent(replace(KEEP, parameters={"block": {"i": 1, "j": 1, "k": 1}}), WIDEN))
    kept = ahead((40, 24, 30), found)
    assert len(found.steps) == 2
    assert not kept.steps
    assert [re.sub(r"[\d,]+", "N", reason) for _, reason in kept.left_out] == [
        "keep: N cycles; schedule alone makes N",
        "widen: N cycles; schedule alone makes N",
    ]


def test_what_leads_to_a_better_kernel_stays() -> None:
    start = facts_of(*problem((40, 24, 30)))
    first = replace(KEEP, parameters=candidates_of(transformation("schedule"), start)[0].parameters)
    after = Plan("after", "text", "command_by_command", {})
    slow = replace(KEEP, parameters={"block": {"i": 1, "j": 1, "k": 1}})
    found = replayed((40, 24, 30), precedent(slow), precedent(first, after))
    assert [(step.plan.option, step.parent) for step in ahead((40, 24, 30), found).steps] == [
        ("keep", None),
        ("after", 0),
    ]


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (Plan("", "as the model saw fit"), "free plan: names no transformation"),
        (replace(WIDEN, transformation="move_products"), "widen: "),
    ],
)
def test_a_plan_that_cannot_be_replayed_is_left_out_with_the_reason(plan: Plan, reason: str) -> None:
    result = replayed((33, 17, 20), precedent(plan))
    assert not result.steps
    ((record, said),) = result.left_out
    assert record == "record"
    assert said.startswith(reason)


VALUES = st.recursive(
    st.integers(0, 64) | st.sampled_from(["i", "j"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ijk"), inner),
)


@given(VALUES, VALUES)
def test_distance_is_symmetric_and_zero_for_equal_parameters_alone(one: object, other: object) -> None:
    assert distance(one, other) == pytest.approx(distance(other, one))
    assert (distance(one, other) == 0) == (one == other)
