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
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import commands_of
from autocomp.targets.simulator.transforms.scheduling.lowering.layout import Buffer, placed, waiting
from autocomp.targets.simulator.transforms.scheduling.neighbours import neighbours
from autocomp.targets.simulator.transforms.scheduling.raised import as_data
from autocomp.workload import Workload
from autocomp.workload import parse as parse_workload

from .conftest import PROOF, Prove, facts_of, machine, naive, with_best
from .convolutions import convolution, convolutions, pooled_convolutions
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


DEPTHWISE = convolution({"N": 1, "H": 5, "W": 7, "C": 48, "K": 48, "R": 3, "S": 3}, padding=1, groups=48)


def proposals(facts: Facts) -> list[Parameters]:
    return [proposal.parameters for proposal in candidates_of(transformation("schedule"), facts)]


def loads(facts: Facts, tensor: str) -> list[int]:
    """The places of the moves of a tensor among the commands of a kernel."""
    commands = commands_of(facts.written, facts.accelerator, facts.constants)
    (number,) = (n for n, given in enumerate(commands.tensors) if given.name == tensor)
    forms = [n for n, form in enumerate(commands.forms) if form.name in ("move_in", "load_tile")]
    moves = np.flatnonzero(np.isin(commands.form, forms))
    return moves[commands.place(moves, "src")[0] == number].tolist()


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


def test_a_channel_by_itself_is_not_scheduled_where_several_fill_the_array() -> None:
    first, *_ = proposals(started(DEPTHWISE))
    assert first["diagonal"] == {"loop": "g"}
    scheduled = applied(transformation("schedule"), started(DEPTHWISE), first)
    computation = raised_of(scheduled).computation
    assert {name: computation.extents[name] for name in "qjk"} == {"q": 3, "j": 16, "k": 16}
    assert cycles_of(DEPTHWISE, scheduled) < cycles_of(DEPTHWISE, started(DEPTHWISE)) / 20


def test_channels_of_several_groups_come_by_one_move() -> None:
    apart, together = (
        applied(transformation("schedule"), started(DEPTHWISE), {"diagonal": {"loop": "g"}, "width": {"left": width}})
        for width in (1, 3)
    )
    assert len(loads(apart, "inp")) == 3 * len(loads(together, "inp"))
    cycles_of(DEPTHWISE, together)


@settings(max_examples=6, deadline=None)
@given(st.integers(2, 3), st.integers(16, 40), st.integers(16, 40), st.integers(1, 2), st.integers(0, 1), st.booleans())
def test_groups_of_many_channels_are_a_dimension_of_a_computation(
    groups: int, channels: int, filters: int, stride: int, padding: int, ahead: bool
) -> None:
    dims = {"N": 1, "H": 5, "W": 9, "C": groups * channels, "K": groups * filters, "R": 2, "S": 3}
    workload = convolution(dims, groups=groups, stride=stride, padding=padding)
    schedule: dict[str, Any] = {"ahead": ["left", "right"], "deferred": True} if ahead else {}
    scheduled = applied(transformation("schedule"), started(workload), {**schedule, "block": {"p": 2, "q": 1}})
    extents = raised_of(scheduled).computation.extents
    assert (extents["q"], extents["j"], extents["k"]) == (groups, filters, channels)
    cycles_of(workload, scheduled)


@pytest.mark.parametrize(("taps", "padding", "stride"), [((2, 2), 2, 1), ((1, 3), 3, 1), ((3, 2), 4, 2)])
def test_an_image_may_be_padded_by_as_much_as_its_filter(taps: tuple[int, int], padding: int, stride: int) -> None:
    dims = {"N": 1, "H": 6, "W": 8, "C": 5, "K": 9, "R": taps[0], "S": taps[1]}
    workload = convolution(dims, padding=padding, stride=stride)
    facts = started(workload)
    rows = raised_of(facts).computation.left.subscripts[2]
    assert (rows.constant, rows.factor("i"), rows.factor("s")) == (-padding, stride, 1)
    cycles_of(workload, applied(transformation("schedule"), facts, {"block": {"p": 2}, "kept": True}))


FEW_CHANNELS = convolution({"N": 1, "H": 5, "W": 7, "C": 5, "K": 20, "R": 3, "S": 3}, padding=1, stride=2)
PADDED = {"loops": ["s"], "pad": "inp"}


@pytest.mark.long
def test_taps_of_few_channels_are_multiplied_together() -> None:  # 3 s
    first, *_ = proposals(started(FEW_CHANNELS))
    assert first["merged"] == PADDED
    scheduled = applied(transformation("schedule"), started(FEW_CHANNELS), first)
    assert "static int8_t inp_padded[1][7][9][5];" in kernel.print_kernel(scheduled.written)
    assert raised_of(scheduled).computation.extents["k"] == 15
    assert cycles_of(FEW_CHANNELS, scheduled) < cycles_of(FEW_CHANNELS, started(FEW_CHANNELS)) / 5


@pytest.mark.parametrize(
    ("options", "rows"), [({}, 30), ({"bias": "none"}, 30), ({"stride": 2}, 3), ({"padding": 1}, 7)]
)
def test_lines_of_images_are_rows_of_one_matrix_where_a_filter_has_one_pixel(
    options: Mapping[str, int | str], rows: int
) -> None:
    workload = convolution({"N": 2, "H": 3, "W": 5, "C": 20, "K": 18, "R": 1, "S": 1}, **options)
    facts = applied(transformation("schedule"), started(workload), {"ahead": ["left", "right"], "block": {}})
    assert raised_of(started(workload)).computation.extents["i"] == rows
    assert raised_of(facts).given  # also where tiles cross the ends of lines
    cycles_of(workload, facts)


def test_taps_of_one_channel_are_one_depth() -> None:
    workload = convolution({"N": 1, "H": 8, "W": 14, "C": 1, "K": 27, "R": 4, "S": 2}, stride=3)
    facts = applied(transformation("schedule"), started(workload), {"merged": {"loops": ["s"]}})
    assert raised_of(facts).computation.extents["k"] == 2
    cycles_of(workload, facts)


def test_a_kernel_with_a_padded_input_is_scheduled_again_beside_its_copy() -> None:
    facts = applied(transformation("schedule"), started(FEW_CHANNELS), {"merged": PADDED})
    given = raised_of(facts)
    assert given.given
    again = applied(transformation("schedule"), facts, {"block": {"p": 2}})
    assert raised_of(again).part.before == given.part.before
    cycles_of(FEW_CHANNELS, again)


@pytest.mark.parametrize("taps", [1, 3])
@pytest.mark.parametrize(("stride", "lines"), [(1, 6), (2, 9)])
def test_lines_of_an_image_that_several_taps_need_are_loaded_once(stride: int, lines: int, taps: int) -> None:
    workload = convolution(
        {"N": 1, "H": 6 if stride == 1 else 9, "W": 8, "C": 16, "K": 16, "R": 3, "S": 1}, stride=stride
    )
    block: Parameters = {"ahead": ["left", "right"], "block": {"r": taps}, "level": {"left": 0, "right": 4}}
    apart, shared = (
        applied(transformation("schedule"), started(workload), {**block, "shared": shared}) for shared in (False, True)
    )
    assert [len(loads(facts, "inp")) for facts in (apart, shared)] == [12, lines]
    cycles_of(workload, shared)


@pytest.mark.parametrize("padding", [0, 1])
def test_pixels_of_a_line_that_several_taps_need_are_loaded_once(padding: int) -> None:
    dims = {"N": 1, "H": 6, "W": 9, "C": 8, "K": 4, "R": 3, "S": 3}
    workload = convolution(dims, accelerator="tiny", padding=padding)
    schedule = {"ahead": ["left", "right"], "block": {"p": 2, "k": 1, "s": 2}, "shared": True, "lined": True}
    schedule |= {"level": {"left": 1, "right": 6}}
    if padding:
        with pytest.raises(NotApplicable, match="row after row"):
            applied(transformation("schedule"), started(workload), schedule)
        return
    lined = applied(transformation("schedule"), started(workload), schedule)
    assert len(loads(lined, "inp")) == 2 * 2 * 4 * 3  # blocks of lines, depths, lines, three for nine pixels
    assert raised_of(lined).given
    cycles_of(workload, lined)


@settings(max_examples=6, deadline=None)
@given(
    convolutions(("gemmini",), channels=20, pixels=16),
    st.booleans(),
    st.sampled_from([0, 3, 8]),
    st.integers(1, 4),
    st.integers(0, 6),
    st.booleans(),
)
def test_convolutions_are_right_with_shared_lines_and_loads_ahead(
    workload: Workload, ahead: bool, lead: int, lines: int, level: int, lined: bool
) -> None:  # 4 s
    schedule: dict[str, Any] = {"shared": True, "lead": lead, "block": {"p": lines, "r": 1}, "kept": True}
    schedule["lined"] = lined
    schedule["level"] = {"left": level, "right": 7}
    merged = transformation("merge_depth").proposals(started(workload))
    schedule |= {"merged": merged[0].parameters} if merged else {}
    schedule |= {"ahead": ["left", "right"], "deferred": True, "spread": lead > 0} if ahead else {}
    try:
        scheduled = applied(transformation("schedule"), started(workload), schedule)
    except NotApplicable:
        return  # local memory is too small, or no contraction was seen
    cycles_of(workload, scheduled)


@settings(max_examples=4, deadline=None)
@given(pooled_convolutions(), st.lists(st.integers(0, 999), min_size=2, max_size=2), st.integers(1, 6), st.booleans())
def test_pooled_convolutions_are_right_in_blocks_that_overlap(
    workload: Workload, choices: list[int], lines: int, beside: bool
) -> None:
    facts = started(workload)
    offered = changes(facts)
    for choice in choices:
        schedule = offered[choice % len(offered)]
        block = {**schedule.get("block", {}), "p": lines}
        try:
            facts = applied(transformation("schedule"), facts, {**schedule, "block": block, "deferred": beside})
        except NotApplicable:
            continue
        assert raised_of(facts).given
    cycles_of(workload, facts)


def test_a_pooled_image_that_the_machine_orders_in_part_is_stored_behind_a_fence() -> None:
    dims = {"N": 1, "H": 26, "W": 26, "C": 16, "K": 32, "R": 1, "S": 1}
    workload = convolution(dims, pool="{size: 2, stride: 2}")  # 676 sums, and 512 in a bank
    apart, whole = (
        applied(transformation("schedule"), started(workload), {"block": {"p": lines, "j": 1}}) for lines in (6, 13)
    )
    assert [kernel.print_kernel(facts.written).count("fence") for facts in (apart, whole)] == [1, 3]
    cycles_of(workload, whole)
    one = convolution({**dims, "K": 16}, pool="{size: 2, stride: 2}")
    with pytest.raises(NotApplicable, match="does not order a store that pools"):
        applied(transformation("schedule"), started(one), {"ahead": ["left"], "lead": 1, "deferred": True})


def test_a_proposal_says_where_its_cycles_are_from() -> None:
    facts = naive(35, 48, 64)
    first = candidates_of(transformation("schedule"), facts)[0]
    found = value(applied(transformation("schedule"), facts, first.parameters))
    assert first.reason.endswith(f" tiles a block; {found:,.0f} cycles when it was run")


def changes(facts: Facts) -> list[Parameters]:
    """Schedules to go on with, none of them timed: the best by estimates, or of a kernel with a schedule those that
    differ in one decision."""
    given = raised_of(facts)
    offered = neighbours(given) if given.given else (item.schedule for item in ranked(given.model))
    return [as_data(schedule) for schedule in offered]


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
