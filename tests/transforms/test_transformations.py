"""Each transformation does to a naive matrix multiplication what its name says, and the result is still right."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.transforms import TRANSFORMATIONS, NotApplicable, predecessors, transformation
from autocomp.targets.simulator.transforms.analysis.registers import timing
from autocomp.workload import parse as parse_workload

from .conftest import Prove, apply, facts_of, machine, naive

SHAPE = (48, 35, 70)  # partial tiles in columns and depth, three tiles of rows
BLOCKED = ("keep_accumulator", {"loops": {"i": 2, "j": 3}, "stage": {"k": 2}})


def test_tile_nests_loops_inside_a_block_under_loops_over_blocks(prove: Prove) -> None:
    facts = apply(naive(*SHAPE), ("tile", {"loops": {"i": 2, "j": 2}}))
    assert [item.variable for item in facts.contractions[0].loops] == ["i_block", "j_block", "i", "j", "k"]
    prove(facts, *SHAPE)


def test_tile_guards_the_remainder_of_a_loop() -> None:
    facts = apply(naive(*SHAPE), ("tile", {"loops": {"i": 2}}))
    assert [kernel.print_expression(guard) for guard in facts.contractions[0].guards] == ["i_block * 2 + i < 3"]


def test_tile_says_which_loop_is_missing() -> None:
    with pytest.raises(NotApplicable, match="no counted loop over 'z'"):
        apply(naive(*SHAPE), ("tile", {"loops": {"z": 2}}))


def test_reorder_exchanges_loops(prove: Prove) -> None:
    facts = apply(naive(*SHAPE), ("reorder", {"loops": ["j", "i"]}))
    assert [item.variable for item in facts.contractions[0].loops] == ["j", "i", "k"]
    prove(facts, *SHAPE)


@pytest.mark.parametrize(("transposed", "passes"), [(False, 1), (True, 2)])
def test_weights_that_take_a_second_pass_are_kept_the_longest(transposed: bool, passes: int) -> None:
    dims = "dims: {I: 256, J: 256, K: 256}"
    text = f"operation: gemm\naccelerator: gemmini\n{dims}\ntranspose_b: {str(transposed).lower()}\n"
    facts = facts_of(starting_kernel(parse_workload(text, Path("gemm.yaml")), machine()))
    assert timing(facts, facts.contractions[0], "passes", 1) == passes
    best = transformation("keep_accumulator").candidates(facts)[0].parameters["loops"]
    assert (best["i"] == 16) == transposed


def test_keep_accumulator_moves_the_reduction_outside_a_block_of_results(prove: Prove) -> None:
    facts = apply(naive(*SHAPE), ("keep_accumulator", {"loops": {"i": 2, "j": 3}}))
    assert [item.variable for item in facts.contractions[0].loops] == ["i_block", "k", "i", "j"]
    result = facts.buffer_of("C")
    assert result is not None
    assert result.rows == 2 * 3 * 16
    prove(facts, *SHAPE)


def test_keep_accumulator_refuses_blocks_that_do_not_fit() -> None:
    with pytest.raises(NotApplicable, match="acc has 1024 rows, and 1152 are needed"):
        apply(naive(144, 128, 64), ("keep_accumulator", {"loops": {"i": 9, "j": 8}}))


def test_stage_operand_loads_a_panel_at_an_outer_loop(prove: Prove) -> None:
    facts = apply(naive(*SHAPE), ("stage_operand", {"tensors": ["A"], "loop": "i"}))
    staged = facts.buffer_of("A")
    assert staged is not None
    assert [item.variable for item in staged.sites("load")[0].loops] == ["i", "k"]
    assert staged.rows == 5 * 16
    prove(facts, *SHAPE)


def test_stage_operand_moves_a_whole_operand_in_front_of_the_nest(prove: Prove) -> None:
    before = naive(*SHAPE)
    facts = apply(before, ("stage_operand", {"tensors": ["A", "B"], "loop": "", "wide": True}))
    assert prove(facts, *SHAPE) < prove(before, *SHAPE)


def test_widen_moves_covers_several_column_tiles_and_sets_their_distance(prove: Prove) -> None:
    facts = apply(naive(*SHAPE), ("stage_operand", {"tensors": ["A"], "loop": "i"}))
    facts = apply(facts, ("widen_moves", {"tensors": ["A"]}))
    load = next(site for site in facts.sites if site.call.function == "mvin")
    assert [item.trips for item in load.loops] == [3, 2]
    assert load.highest("cols") == 64
    prove(facts, *SHAPE)


def test_widen_moves_asks_for_a_staged_operand() -> None:
    with pytest.raises(NotApplicable, match="stage the operand first"):
        apply(naive(*SHAPE), ("widen_moves", {"tensors": ["A"]}))


def test_place_in_banks_sets_operands_apart(prove: Prove) -> None:
    before = apply(naive(*SHAPE), BLOCKED)
    facts = apply(before, ("place_in_banks", {"memory": "spad"}))
    banks = {buffer.low // 4096 for buffer in facts.buffers if buffer.memory == "spad"}
    assert len(banks) == 2
    assert prove(facts, *SHAPE) < prove(before, *SHAPE)


def test_double_buffer_alternates_between_banks(prove: Prove) -> None:
    facts = apply(naive(*SHAPE), BLOCKED, ("double_buffer", {"tensors": ["A", "B"]}))
    load = next(site for site in facts.sites if site.call.function == "mvin")
    assert "% 2 * 4096" in kernel.print_expression(load.call.arguments[1])
    prove(facts, *SHAPE)


def test_more_places_let_the_units_run_further_apart(prove: Prove) -> None:
    shape = (160, 16, 16)
    before = apply(naive(*shape), ("stage_operand", {"tensors": ["B"], "loop": ""}))
    two, four = (apply(before, ("double_buffer", {"tensors": ["A", "C"], "places": places})) for places in (2, 4))
    assert prove(four, *shape) < prove(two, *shape) < prove(before, *shape)


def test_tiles_that_one_move_fills_lie_side_by_side(prove: Prove) -> None:
    facts = apply(naive(*SHAPE), ("stage_operand", {"tensors": ["B"], "loop": "", "wide": True}))
    settings = [site for site in facts.sites if site.kind == "configuration" and site.selector == 1]
    assert [kernel.print_expression(site.argument("block stride")) for site in settings] == ["16"]
    prove(facts, *SHAPE)


def test_collapse_counts_nested_loops_in_one(prove: Prove) -> None:
    facts = apply(naive(*SHAPE), ("collapse", {"loops": ["i", "j", "k"]}))
    assert [(item.variable, item.trips) for item in facts.contractions[0].loops] == [("step", 3 * 3 * 5)]
    prove(facts, *SHAPE)


def test_collapse_refuses_a_counter_that_starts_anew_for_each_inner_loop() -> None:
    text = (
        kernel.print_kernel(naive(*SHAPE).given)
        .replace("for (int j = 0;", "int count = 0;\nfor (int j = 0;", 1)
        .replace("for (int k = 0;", "count = 2 * count + 1;\nif (count > 2) gemmini_fence();\nfor (int k = 0;", 1)
    )
    with pytest.raises(NotApplicable, match="'count' is set before the loop over 'j', which changes it"):
        apply(facts_of(text), ("collapse", {"loops": ["i", "j", "k"]}))


def test_prefetch_runs_loads_one_iteration_ahead(prove: Prove) -> None:
    before = apply(naive(*SHAPE), BLOCKED)
    facts = apply(before, ("prefetch", {"loops": ["i_block", "k_block"]}))
    assert prove(facts, *SHAPE) < prove(before, *SHAPE)


CHAIN = ["i_block", "j_block", "k_block"]


def test_the_last_load_of_a_prefetch_does_not_end_beside_the_next_iteration() -> None:
    """Eight moves in 64 iterations: every eighth would leave the last one to the last iteration."""
    blocks = ("keep_accumulator", {"loops": {"i": 4, "j": 4}, "stage": {"k": 4}})
    facts = apply(naive(128, 128, 128), blocks, ("prefetch", {"loops": CHAIN}))
    assert "(k * 16 + i * 4 + j) % 7 == 6" in kernel.print_kernel(facts.kernel)


def test_prefetch_spreads_the_loads_of_an_outer_loop_over_all_that_is_computed_in_it(prove: Prove) -> None:
    shape = (100, 100, 200)
    block = ("keep_accumulator", {"loops": {"i": 2, "j": 2}, "stage": {"k": 4}})
    before = apply(naive(*shape), block, ("stage_operand", {"tensors": ["A"], "loop": "i_block", "wide": True}))
    within, across = (apply(before, ("prefetch", {"loops": loops})) for loops in (CHAIN[1:], CHAIN))
    assert "step < 48" in kernel.print_kernel(across.kernel)  # four panels of A, each for sixteen steps
    assert prove(across, *shape) < prove(within, *shape) < prove(before, *shape)


def test_loads_at_first_use_let_the_nest_begin_earlier(prove: Prove) -> None:
    whole = ("keep_accumulator", {"loops": {"i": 3, "j": 3}})
    before = apply(naive(*SHAPE), whole, ("stage_operand", {"tensors": ["A", "B"], "loop": "", "wide": True}))
    facts = apply(before, ("load_at_first_use", {"tensors": ["A", "B"]}))
    text = kernel.print_kernel(facts.kernel)
    assert "k % 4 == 0 && j == 0" in text  # a move of A fills four tiles
    assert prove(facts, *SHAPE) < prove(before, *SHAPE)
    with pytest.raises(NotApplicable, match="last for several iterations"):
        apply(facts, ("double_buffer", {"tensors": ["A"]}))


def test_loads_at_first_use_go_as_far_inside_as_they_have_loops(prove: Prove) -> None:
    blocks = ("keep_accumulator", {"loops": {"i": 2, "j": 2}})
    whole = ("stage_operand", {"tensors": ["A", "B"], "loop": "", "wide": True})
    before = apply(naive(*SHAPE), blocks, whole, ("reuse_weights", {"loop": ["i"]}))
    facts = apply(before, ("load_at_first_use", {"tensors": ["A", "B"]}))
    assert "if (i_block == 0 && " in kernel.print_kernel(
        facts.kernel
    )  # stores stand between the loops over blocks and the rest
    assert prove(facts, *SHAPE) < prove(before, *SHAPE)


def test_loads_at_first_use_need_a_nest_that_uses_what_they_load() -> None:
    with pytest.raises(NotApplicable, match="no loads of 'A' alone precede"):
        apply(naive(*SHAPE), ("load_at_first_use", {"tensors": ["A"]}))


def test_prefetch_works_on_a_loop_without_a_nest_inside(prove: Prove) -> None:
    prove(apply(naive(*SHAPE), ("prefetch", {"loops": ["k"]})), *SHAPE)


def test_stores_are_deferred_after_loads_of_several_levels_came_early(prove: Prove) -> None:
    blocks = ("keep_accumulator", {"loops": {"i": 1, "j": 1}, "stage": {"k": 2}})
    panel = ("stage_operand", {"tensors": ["A"], "loop": "i_block", "wide": True})
    inner, outer = (("prefetch", {"loops": loops}) for loops in (["j_block", "k_block"], ["i_block"]))
    facts = apply(naive(*SHAPE), blocks, panel, inner, outer, ("defer_stores", {"loop": ["step"]}))
    assert "step_last" in kernel.print_kernel(facts.kernel)
    prove(facts, *SHAPE)


def test_defer_stores_writes_results_while_the_next_block_computes(prove: Prove) -> None:
    before = apply(naive(*SHAPE), BLOCKED, ("prefetch", {"loops": ["i_block", "k_block"]}))
    facts = apply(before, ("defer_stores", {"loop": "step"}))
    assert prove(facts, *SHAPE) < prove(before, *SHAPE)


def test_reuse_weights_preloads_once_for_a_row_of_results(prove: Prove) -> None:
    facts = apply(naive(*SHAPE), BLOCKED, ("reuse_weights", {"loop": "i"}))
    assert {site.call.function for site in facts.contractions} == {"compute_preloaded", "compute_accumulated"}
    prove(facts, *SHAPE)


def test_reuse_weights_needs_an_operand_that_stays() -> None:
    with pytest.raises(NotApplicable, match="B is loaded anew"):
        apply(naive(*SHAPE), ("reuse_weights", {"loop": "k"}))


def test_split_gives_first_iterations_a_loop_of_their_own(prove: Prove) -> None:
    facts = apply(naive(*SHAPE), ("split", {"loop": "k", "peel": 1}))
    assert len(facts.contractions) == 2
    prove(facts, *SHAPE)


def test_split_distributes_a_loop_over_its_body() -> None:
    facts = facts_of("void solution(int8_t A[4]) { for (int i = 0; i < 4; i++) { f(i); g(i); } }")
    printed = " ".join(kernel.print_kernel(apply(facts, ("split", {"loop": "i", "at": 1})).kernel).split())
    assert "{ f(i); } for (int i = 0; i < 4; i++) { g(i); }" in printed


def test_fuse_joins_neighbouring_loops(prove: Prove) -> None:
    staged = apply(naive(*SHAPE), ("stage_operand", {"tensors": ["A", "B"], "loop": "j"}))
    facts = apply(staged, ("fuse", {"loop": "k", "with": "k"}))
    assert sum(site.call.function in ("mvin", "mvin2") for site in facts.sites) == 2
    prove(facts, *SHAPE)


def test_fuse_leaves_inner_loops_over_a_variable_of_the_same_name_alone() -> None:
    loops = (
        "for (int k = 0; k < 4; k++) { f(k); } for (int i = 0; i < 4; i++) { for (int k = 0; k < 2; k++) { g(i, k); } }"
    )
    facts = facts_of(f"void solution(int8_t A[4]) {{ {loops} }}")
    printed = " ".join(kernel.print_kernel(apply(facts, ("fuse", {"loop": "k", "with": "i"})).kernel).split())
    assert "{ f(k2); for (int k = 0; k < 2; k++) { g(k2, k); } }" in printed


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("most", "if (B[i][0] > most) most = B[i][0];", "C[i][0] -= most;"),
        ("C", "C[i][0] = i;", "if (C[3 - i][0] > 0) B[i][0] = 0;"),
        ("A", "mvout(&A[i * 16][0], 0, 16, 16);", "mvin(&A[48 - i * 16][0], 16, 16, 16);"),
    ],
)
def test_fuse_refuses_loops_one_of_which_uses_what_the_other_changes(name: str, first: str, second: str) -> None:
    loops = " ".join(f"for (int i = 0; i < 4; i++) {{ {body} }}" for body in (first, second))
    settings = "config_ld(16, 1.0f, 16, 0); config_st(16); int most = 0;"
    facts = facts_of(f"void solution(int8_t A[64][16], int32_t B[4][1], int32_t C[4][1]) {{ {settings} {loops} }}")
    with pytest.raises(NotApplicable, match=f"changes '{name}', which the other one uses"):
        apply(facts, ("fuse", {"loop": "i", "with": "i"}))


def test_unroll_repeats_the_body(prove: Prove) -> None:
    facts = apply(naive(*SHAPE), ("unroll", {"loop": "k", "factor": 5}))
    assert len(facts.contractions) == 5
    prove(facts, *SHAPE)


ONE_RECORD = """
void solution(int8_t A[32][64], int8_t B[64][48], int8_t C[32][48]) {
    gemmini_config_ex(WEIGHT_STATIONARY, 0, 0);
    gemmini_config_st(48);
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 3; j++) {
            for (int k = 0; k < 4; k++) {
                gemmini_config_ld(64);
                mvin(&A[i * 16][k * 16], 0, 16, 16);
                gemmini_config_ld(48);
                mvin(&B[k * 16][j * 16], 16, 16, 16);
                fence();
                preload(16, k == 0 ? 0x80000000 : 0xC0000000, 16, 16, 16, 16);
                compute_preloaded(0, 0xffffffff, 16, 16, 16, 16);
            }
            mvout(&C[i * 16][j * 16], 0x80000000, 16, 16);
        }
    }
    fence();
}
"""


def test_hoist_configures_before_the_loops() -> None:
    text = "void solution(int8_t A[64]) { for (int i = 0; i < 4; i++) { config_st(64); mvin(&A[0], i, 16, 1); } }"
    facts = apply(facts_of(text), ("hoist", {}))
    setting = next(site for site in facts.sites if site.kind == "configuration")
    assert setting.loops == ()


def test_hoist_leaves_configuration_that_another_overrides() -> None:
    text = "void solution(int8_t A[64]) { for (int i = 0; i < 4; i++) { config_st(64); config_st(32); } }"
    with pytest.raises(NotApplicable):
        apply(facts_of(text), ("hoist", {}))


def test_hoist_gives_settings_that_alternate_records_of_their_own(prove: Prove) -> None:
    facts = apply(facts_of(ONE_RECORD), ("hoist", {}))
    moves = [(site.call.function, site.selector) for site in facts.sites if site.kind == "load"]
    assert moves == [("mvin", 0), ("mvin2", 1)]
    assert all(site.loops == () for site in facts.sites if site.kind == "configuration")
    prove(facts, 32, 48, 64)


def test_moves_take_what_configures_them_out_of_the_loops(prove: Prove) -> None:
    facts = apply(facts_of(ONE_RECORD), ("keep_accumulator", {"loops": {"i": 2, "j": 3}, "stage": {"k": 4}}))
    assert all(site.loops == () for site in facts.sites if site.kind == "configuration")
    prove(facts, 32, 48, 64)


def test_moves_stay_in_a_loop_that_must_configure_them() -> None:
    changing = ONE_RECORD.replace("gemmini_config_ld(48);", "gemmini_config_ld(48 * (k + 1));")
    for name, parameters in (("stage_operand", {"tensors": ["B"], "loop": "i"}), ("prefetch", {"loops": ["k"]})):
        with pytest.raises(NotApplicable, match="is configured in the loop over 'k'"):
            apply(facts_of(changing), (name, parameters))


def test_fences_in_loops_go_together_where_nothing_that_is_stored_is_loaded(prove: Prove) -> None:
    facts = facts_of(ONE_RECORD)
    best = transformation("drop_fence").proposals(facts)[0]
    assert best.parameters == {"loops": True}
    assert best.gain > 0
    prove(apply(facts, ("drop_fence", best.parameters)), 32, 48, 64)


def test_hoist_synchronises_once_for_a_block_of_computations(prove: Prove) -> None:
    shape = (16, 12, 20)
    before = apply(naive(*shape, "tiny"), ("keep_accumulator", {"loops": {"i": 4, "j": 3}, "stage": {"k": 1}}))
    facts = apply(before, ("hoist", {}))
    assert prove(facts, *shape, "tiny") < prove(before, *shape, "tiny")


def test_simplify_brings_a_kernel_into_normal_form(prove: Prove) -> None:
    facts = naive(*SHAPE)
    assert transformation("simplify").apply(facts, {}) == facts.kernel
    prove(facts, *SHAPE)


def test_names_are_unique_and_an_unknown_one_gets_the_closest() -> None:
    assert len({item.name for item in TRANSFORMATIONS}) == len(TRANSFORMATIONS)
    with pytest.raises(NotApplicable, match="unknown transformation 'tyle'") as caught:
        transformation("tyle")
    assert caught.value.hint is not None
    assert "did you mean 'tile'" in caught.value.hint


def test_each_has_a_position_of_its_own_and_waits_for_others_that_there_are() -> None:
    assert len({item.order for item in TRANSFORMATIONS}) == len(TRANSFORMATIONS)
    names = {item.name for item in TRANSFORMATIONS}
    assert all(names - {item.name} >= set(item.after) for item in TRANSFORMATIONS)


def test_what_waits_for_all_waits_for_what_its_predecessors_wait_for() -> None:
    assert predecessors(transformation("load_once")) == {"keep_accumulator", "widen_moves", "own_rows"}
    assert predecessors(transformation("keep_accumulator")) == {"merge_depth"}
    assert predecessors(transformation("tile")) == frozenset()


@pytest.mark.parametrize("item", TRANSFORMATIONS, ids=lambda item: item.name)
def test_parameters_of_a_wrong_kind_are_refused(item: object) -> None:
    wrong = {"loops": 3, "loop": 3, "tensors": 3, "memory": 3, "factor": "x", "peel": "x", "fence": "x", "first": 3}
    if getattr(item, "name", "") in ("hoist", "simplify", "write_out", "own_rows"):
        return  # they take no parameters
    with pytest.raises(NotApplicable):
        item.apply(naive(*SHAPE), wrong)  # type: ignore[attr-defined]
