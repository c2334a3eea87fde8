"""Kernels written anew from what they compute, by a schedule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.transforms import Facts, NotApplicable, analyse, applied, candidates_of, transformation
from autocomp.targets.simulator.transforms.legality import value
from autocomp.targets.simulator.transforms.nests.schedule import raised_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.scheduling.choose import plain, ranked
from autocomp.targets.simulator.transforms.scheduling.cost import CostModel
from autocomp.targets.simulator.transforms.scheduling.lowering.layout import Buffer, placed, waiting
from autocomp.workload import parse as parse_workload

from .conftest import PROOF, Prove, changes, facts_of, loads, machine, naive, proposals, with_best
from .convolutions import cycles as cycles_of
from .convolutions import naive as started

FLAT = """
void solution(int8_t A[35][64], int8_t B[64][48], int8_t C[35][48]) {
    int8_t* a = (int8_t*)A;
    gemmini_extended_config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 0, 1, false, false);
    gemmini_extended3_config_ld(64 * sizeof(int8_t), 1.0f, false, 0);
    gemmini_extended3_config_ld(48 * sizeof(int8_t), 1.0f, false, 1);
    gemmini_config_st(48 * sizeof(int8_t));
    for (int tile = 0; tile < 9; tile++) {
        int i = tile / 3 * DIM, j = tile % 3 * DIM;
        int rows = 35 - i < DIM ? 35 - i : DIM;
        for (int k = 0; k < 64; k += DIM) {
            gemmini_extended_mvin(a + i * 64 + k, 64 + k, DIM, rows);
            gemmini_extended_mvin2(&B[k][j], 0, DIM, DIM);
            gemmini_extended_preload(0, (1u << 31) | (k > 0 ? 1u << 30 : 0), DIM, DIM, DIM, rows);
            gemmini_extended_compute_preloaded(64 + k, GARBAGE_ADDR, DIM, rows, DIM, rows);
        }
        gemmini_extended_mvout(&C[i][j], 1u << 31, DIM, rows);
    }
    gemmini_fence();
}
"""


LAYERS = """
void solution(int8_t X[32][48], int8_t V[48][64], int8_t W[64][16], int8_t Y[32][16]) {
    static int8_t hidden[32][64];
    const uint32_t sums = 0x80000000;
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(48, 1.0f, 16, 0);
    config_ld(64, 1.0f, 16, 1);
    gemmini_extended_config_st(64, RELU, 0.0078125f);
    for (int i = 0; i < 32; i += 16) {
        for (int j = 0; j < 64; j += 16) {
            for (int k = 0; k < 48; k += 16) {
                mvin(&X[i][k], 0, 16, 16);
                mvin2(&V[k][j], 16, 16, 16);
                preload(16, k == 0 ? sums : sums | 0x40000000, 16, 16, 16, 16);
                compute_preloaded(0, 0xffffffff, 16, 16, 16, 16);
            }
            mvout(&hidden[i][j], sums, 16, 16);
        }
    }
    fence();
    config_ld(64, 1.0f, 16, 0);
    config_ld(16, 1.0f, 16, 1);
    gemmini_extended_config_st(16, NO_ACTIVATION, 0.0078125f);
    for (int i = 0; i < 32; i += 16) {
        for (int k = 0; k < 64; k += 16) {
            mvin(&hidden[i][k], 0, 16, 16);
            mvin2(&W[k][0], 16, 16, 16);
            preload(16, k == 0 ? sums : sums | 0x40000000, 16, 16, 16, 16);
            compute_preloaded(0, 0xffffffff, 16, 16, 16, 16);
        }
        mvout(&Y[i][0], sums, 16, 16);
    }
    fence();
}
"""


_AHEAD: Mapping[str, Any] = {"ahead": frozenset({"left", "right"}), "early": 8, "deferred": True, "kept": True}


@pytest.mark.parametrize(
    "shape",
    [
        (35, 140, 60),
        pytest.param((1, 100, 90), marks=pytest.mark.long),
        pytest.param((48, 32, 64), marks=pytest.mark.long),
        pytest.param((300, 18, 70), marks=pytest.mark.long),
    ],
)
def test_the_schedule_of_least_estimate_is_much_faster(prove: Prove, shape: tuple[int, int, int]) -> None:
    facts = naive(*shape)
    assert prove(with_best(facts, "schedule"), *shape) < prove(facts, *shape) / 2


@pytest.mark.parametrize(("accelerator", "shape"), [("gemmini", (64, 48, 30)), ("tiny", (20, 28, 16))])
def test_schedules_that_are_not_estimated_would_not_be_among_the_best(
    accelerator: str, shape: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = raised_of(naive(*shape, accelerator)).model
    best = ranked(model)
    monkeypatch.setattr(CostModel, "least", lambda *given: 0.0)
    assert best == ranked(model)


def test_schedules_of_short_kernels_are_ranked_by_their_cycles() -> None:
    facts = naive(35, 48, 64)
    timed = [one for one in candidates_of(transformation("schedule"), facts) if one.result is not None]
    found = [value(applied(transformation("schedule"), facts, one.parameters)) for one in timed]
    assert found == sorted({one.result for one in timed})
    assert len(found) > 4


def test_a_short_block_hides_little_of_the_starts_of_a_long_one() -> None:
    """17 tiles in blocks of 8 leave a block of one, beside which 32 tiles of bias come; blocks of 3 are more even."""
    text = "operation: gemm\naccelerator: gemmini\ndims: {I: 261, J: 179, K: 30}\nbias: row\n"
    facts = facts_of(starting_kernel(parse_workload(text, Path("gemm.yaml")), machine()))
    given = raised_of(facts)
    base = replace(plain(given.computation, given.leaves), inner=("k", "j", "i"), width={}, **_AHEAD)
    uneven = replace(base, block={"i": 8, "j": 4, "k": 2}, order=("j", "i", "k"), level={"left": 0, "right": 1})
    even = replace(base, block={"i": 3, "j": 4, "k": 2}, order=("i", "j", "k"), level={"left": 1, "right": 0})
    assert given.estimate(even) < given.estimate(uneven)


def test_what_a_kernel_computes_decides_and_not_its_text(prove: Prove) -> None:
    flat = facts_of(FLAT)
    assert proposals(flat) == proposals(naive(35, 64 - 16, 64))
    prove(with_best(flat, "schedule"), 35, 48, 64)


def test_a_kernel_says_how_it_was_scheduled_and_is_offered_schedules_near_that() -> None:
    facts = with_best(naive(35, 48, 64), "schedule")
    stated = proposals(naive(35, 48, 64))[0]
    near = proposals(facts)
    assert near
    assert all(sum(stated.get(name) != one.get(name) for name in {*stated, *one}) <= 2 for one in near)
    assert any(one["tile"] == {**stated["tile"], "i": 12} for one in changes(facts))  # of 35 rows: 3 tiles alike


def test_another_schedule_of_a_scheduled_kernel_is_that_of_the_computation(prove: Prove) -> None:
    facts = with_best(naive(35, 48, 64), "schedule")
    plain = {"block": {"i": 1, "j": 1, "k": 1}, "width": {"left": 1, "right": 1, "result": 1}}
    again = applied(transformation("schedule"), facts, plain)
    assert again.digest == applied(transformation("schedule"), naive(35, 48, 64), plain).digest
    prove(again, 35, 48, 64)


SUMS_OF_TWO = """
void solution(int8_t x[16][16], int8_t y[16][16], int8_t z[16][16]) {
    gemmini_extended3_config_ld(16, 1.0f, true, 0);
    config_st(16);
    mvin(&x[0][0], 0x80000000, 16, 16);
    mvin(&y[0][0], 0xC0000000, 16, 16);
    fence();
    mvout(&z[0][0], 0x80000000, 16, 16);
    fence();
}
"""


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"tile": {"i": 17}}, "not one of this machine's"),
        ({"blocks": {}}, "unknown decision 'blocks'"),
        ({"block": 3}, "maps names to numbers"),
        ({"block": {"i": 0}}, "'block.i' is a whole number from 1 on"),
        ({"order": ["k", "i", "j"], "block": {"i": 1, "j": 1, "k": 1}}, "reduced dimensions come last"),
        ({"inner": ["i"]}, "leaves out"),
    ],
)
def test_a_schedule_that_does_not_fit_is_refused_with_the_reason(parameters: Parameters, reason: str) -> None:
    with pytest.raises(NotApplicable, match=reason):
        transformation("schedule").apply(naive(64, 64, 64), parameters)


def test_a_kernel_without_products_is_left_alone() -> None:
    assert not proposals(facts_of(SUMS_OF_TWO))


def test_what_is_more_than_one_contraction_is_left_alone() -> None:
    text = kernel.print_kernel(naive(16, 16, 16).given).replace("fence();", "C[0][0] = 1; fence();")
    assert not proposals(facts_of(text))


def test_computations_with_fences_between_are_scheduled_by_themselves() -> None:
    facts, schedule = facts_of(LAYERS), transformation("schedule")
    with pytest.raises(NotApplicable, match="'part' must be one of the parts with a computation, 0, 1, and is None"):
        schedule.apply(facts, {})
    both = applied(schedule, applied(schedule, facts, {"part": 0, "kept": True}), {"part": 1})
    assert raised_of(both, 0).given
    assert raised_of(both, 1).given
    assert kernel.print_kernel(both.written).count("// schedule") == 2
    assert 2 * (value(both) or 0) < (value(facts) or 0)


@settings(max_examples=4, deadline=None)
@given(
    st.tuples(st.integers(1, 50), st.integers(1, 90), st.integers(1, 70)),
    st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(1, 5)),
    st.permutations(["i", "j", "k"]),
    st.sampled_from(["row", "full"]),
    st.integers(1, 4),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    st.booleans(),
)
def test_results_are_stored_beside_products_whatever_the_blocks(
    extents: tuple[int, int, int],
    blocks: tuple[int, int, int],
    inner: list[str],
    bias: str,
    wide: int,
    levels: tuple[int, int],
    spread: bool,
) -> None:
    given = dict(zip("IJK", extents, strict=True))
    workload = parse_workload(
        f"operation: gemm\naccelerator: gemmini\ndims: {given}\nbias: {bias}\n", Path("gemm.yaml")
    )
    block = {d: min(b, -(-e // 16)) for d, b, e in zip("ijk", blocks, extents, strict=True)}
    schedule = {**_AHEAD, "block": block, "inner": inner, "lead": 8, "width": {"result": wide}, "turns": 1 + wide}
    schedule |= {"level": dict(zip(("left", "right"), levels, strict=True)), "spread": spread}
    schedule |= {"ahead": sorted(_AHEAD["ahead"]), "kept": inner[-1] == "i", "short_first": inner[-1] == "i"}
    cycles_of(workload, applied(transformation("schedule"), started(workload), schedule))


def test_the_next_panel_comes_beside_all_steps_of_this_one_or_the_last() -> None:
    """Four steps use a panel of four tiles: one of the next panel comes in each, or all in the last."""
    block = {"block": {"i": 1, "j": 1}, "level": {"left": 1, "right": 0}}
    schedule = {**block, "ahead": ["left", "right"], "width": {"left": 1}}
    last, all_steps = (
        loads(applied(transformation("schedule"), naive(32, 64, 64), {**schedule, "spread": spread}), "A")
        for spread in (False, True)
    )
    assert len(last) == len(all_steps) == 8
    assert max(np.diff(last[4:])) <= 4 < 8 <= min(np.diff(all_steps[4:]))


def test_results_of_one_block_are_stored_beside_the_products_that_follow() -> None:
    facts = naive(35, 140, 250)
    one = {"block": {"k": 4}, "ahead": ["left", "right"], "inner": ["j", "k", "i"], "kept": True, "lead": 8}
    at_the_end, beside = (
        value(applied(transformation("schedule"), facts, {**one, "deferred": deferred})) or 0 for deferred in (0, 1)
    )
    assert 100 < at_the_end - beside < 1000


def test_sums_that_moves_and_products_add_to_lie_in_one_bank_where_banks_share_their_adders() -> None:
    sums = Buffer("acc", 200, 2, 1000.0, 4000.0)
    assert placed(machine(), {"result": sums})["result"] == (0, 512)
    assert placed(machine(), {"result": replace(sums, summed=True)})["result"] == (0, 200)
    with pytest.raises(NotApplicable, match="in one bank"):
        placed(machine(), {"result": replace(sums, rows=300, summed=True)})


def test_panels_that_are_filled_while_others_are_read_lie_in_banks_of_their_own() -> None:
    often = Buffer("spad", 2688, 2, 100_000.0, 450_000.0)
    seldom = Buffer("spad", 1536, 6, 9_000.0, 60_000.0)  # in more than two banks, whatever the place
    starts = placed(machine(), {"often": often, "seldom": seldom})["often"]
    banks = [set(range(start // 4096, (start + 2687) // 4096 + 1)) for start in starts]
    assert not banks[0] & banks[1]
    assert 0 < waiting(machine(), {"often": often, "seldom": seldom}) < 20_000


def test_operands_that_enter_in_two_passes_are_kept_for_many_rows() -> None:
    text = "operation: gemm\naccelerator: gemmini\ndims: {I: 256, J: 64, K: 64}\ntranspose_b: true\n"
    facts = facts_of(starting_kernel(parse_workload(text, Path("gemm.yaml")), machine()))
    assert raised_of(facts).model.passes == 2
    assert proposals(facts)[0]["block"]["i"] > 4  # three would do for one pass


def test_a_proposal_says_where_its_cycles_are_from() -> None:
    facts = naive(35, 48, 64)
    first = candidates_of(transformation("schedule"), facts)[0]
    found = value(applied(transformation("schedule"), facts, first.parameters))
    assert first.reason.endswith(f" tiles a block; {found:,.0f} cycles when it was run")


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 90), st.integers(1, 90), st.integers(1, 90), st.lists(st.integers(0, 99), min_size=1, max_size=3))
def test_schedules_in_any_order_compute_the_same(
    prove: Prove, rows: int, cols: int, depth: int, choices: list[int]
) -> None:
    facts = naive(rows, cols, depth)
    for choice in choices:
        offered = changes(facts)
        try:
            facts = applied(transformation("schedule"), facts, offered[choice % len(offered)])
        except NotApplicable:
            continue
    prove(facts, rows, cols, depth)


@pytest.mark.parametrize(
    "extra",
    [
        "bias: row\nactivation: relu\nscale: 0.0078125\ntranspose_b: true",
        pytest.param("bias: full\ntranspose_b: true", marks=pytest.mark.long),
    ],
)
def test_what_is_done_to_results_and_operands_stays(extra: str) -> None:
    text = f"operation: gemm\naccelerator: gemmini\ndims: {{I: 35, J: 50, K: 70}}\n{extra}\n"
    workload = parse_workload(text, Path("gemm.yaml"))
    start = starting_kernel(workload, machine())
    facts = with_best(analyse(kernel.parse(start), machine(), workload.constants), "schedule")
    evaluator = SimulatorEvaluator(machine(), workload)
    before = evaluator.evaluate(start, stages=PROOF)
    after = evaluator.evaluate(kernel.print_kernel(facts.written), stages=PROOF)
    assert after.correct, after.failure
    assert after.value is not None
    assert before.value is not None
    assert after.value < before.value / 2


class _Wrong(Transformation):
    """Leaves out text that matters."""

    name = "wrong"
    title = "Wrong"
    takes = ("without",)

    def candidates(self, facts: Facts) -> list[Proposal]:
        return []

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        return kernel.parse(kernel.print_kernel(facts.given).replace(parameters["without"], ""))


@pytest.mark.parametrize(
    ("without", "reason"),
    [
        ("mvin2(&B[k][j], b_tile, 16, 16);", "rely on luck"),
        ("config_st(48);", "."),
        ("k == 0 ? c_tile : ", "rely on luck"),
    ],
)
def test_a_rewriting_that_changes_results_is_refused_where_it_is_applied(without: str, reason: str) -> None:
    with pytest.raises(NotApplicable, match=reason):
        applied(_Wrong(), naive(35, 48, 64), {"without": without})
