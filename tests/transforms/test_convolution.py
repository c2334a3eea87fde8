"""The transformations made for nests of products hold on the deeper nests of convolutions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator.kernel import print_kernel
from autocomp.targets.simulator.transforms import NotApplicable, transformation
from autocomp.workload import Workload

from .conftest import apply, facts_of, with_best
from .convolutions import convolution, convolutions, cycles, naive

Step = tuple[str, Mapping[str, Any]]


def square(images: int = 1, size: int = 8, channels: int = 32, filters: int = 32, **options: float | str) -> Workload:
    dims = {"N": images, "H": size + 2, "W": size + 2, "C": channels, "K": filters, "R": 3, "S": 3}
    return convolution(dims, **options)


BLOCK: Step = ("keep_accumulator", {"loops": {"n": 2, "p": 4, "k": 1}, "stage": {"c": 2}})
PIPELINE: Step = ("prefetch", {"loops": ["p_block", "k_block", "r", "s"]})


@pytest.mark.parametrize("finish", [["prefetch"], ["defer_stores", "prefetch"], ["prefetch", "defer_stores"]])
@settings(max_examples=2, deadline=None)
@given(st.integers(1, 2), st.integers(1, 20), st.integers(1, 40), st.integers(1, 40))
def test_results_are_unchanged(finish: list[str], images: int, size: int, channels: int, filters: int) -> None:
    workload = square(images, size, channels, filters)
    facts = naive(workload)
    for name in ("keep_accumulator", "reuse_weights", *finish):
        facts = with_best(facts, name)
    cycles(workload, facts)


@settings(max_examples=3, deadline=None)
@given(st.integers(1, 3), st.integers(0, 2), st.integers(1, 2), st.integers(3, 20), st.integers(1, 40))
def test_results_are_unchanged_where_the_kernel_supplies_the_padding(
    stride: int, padding: int, dilation: int, size: int, channels: int
) -> None:
    workload = square(1, size, channels, 20, padding=padding, stride=stride, dilation=dilation)
    facts = naive(workload)
    for name in ("keep_accumulator", "reuse_weights", "defer_stores", "prefetch"):
        facts = with_best(facts, name)
    cycles(workload, facts)


IN_ANY_ORDER = (
    "keep_accumulator",
    "stage_operand",
    "stage_window",
    "widen_moves",
    "reuse_weights",
    "prefetch",
    "defer_stores",
    "double_buffer",
)


@settings(max_examples=5, deadline=None)
@given(
    convolutions(("gemmini", "tiny"), channels=12, pixels=8),
    st.lists(st.sampled_from(IN_ANY_ORDER), min_size=1, max_size=5, unique=True),
)
@example(
    convolution({"N": 1, "H": 2, "W": 3, "C": 4, "K": 9, "R": 1, "S": 1}, "tiny"), ["defer_stores", "prefetch"]
)  # first values come behind stores of another unit
def test_options_in_any_order_leave_results_unchanged(workload: Workload, chain: list[str]) -> None:
    facts = naive(workload)
    for name in chain:
        facts = with_best(facts, name)
    cycles(workload, facts)


def test_padding_is_no_hindrance() -> None:
    workload = square(1, 28, 64, 32, padding=1, stride=2)
    facts = naive(workload)
    whole = facts_of(print_kernel(facts.kernel))
    tiled = apply(whole, ("keep_accumulator", {"loops": {"p": 4, "k": 2}, "stage": {"c": 4}}))
    kept = apply(tiled, ("reuse_weights", {"loop": "p"}), ("prefetch", {"loops": ["p_block", "r", "s"]}))
    assert "p == 0 || p_block * 8 + p * 2 + r - 3 < 0" in print_kernel(kept.kernel)
    assert 3 * cycles(workload, kept) < cycles(workload, whole)


def test_tiles_at_an_edge_have_rows_of_their_own_in_blocks_that_reach_beyond_it() -> None:
    """The number of pixels is a division of a negative number in iterations that are left out."""
    dims = {"N": 1, "H": 4, "W": 100, "C": 3, "K": 16, "R": 3, "S": 7}
    workload = convolution(dims, stride=2, padding=3)
    cycles(workload, apply(naive(workload), ("keep_accumulator", {"loops": {"p": 2, "q": 3}, "stage": {"s": 7}})))


def test_operands_of_lines_that_a_whole_block_leaves_out_are_not_loaded() -> None:
    """The machine does not keep the order of two loads into rows that nothing has read."""
    workload = square(size=17, channels=17, filters=20, padding=1)
    facts = apply(naive(workload), ("keep_accumulator", {"loops": {"p": 2, "q": 2, "k": 2}, "stage": {"c": 2}}))
    assert "if (p_block * 2 + r - 1 < 19)" in print_kernel(facts.kernel)
    cycles(workload, facts)


def test_results_of_fewer_pixels_than_a_tile_has_rows_are_stored_by_wide_moves() -> None:
    workload = square(size=7, filters=64)
    block = apply(naive(workload), ("keep_accumulator", {"loops": {"p": 3, "k": 4}}))
    assert cycles(workload, apply(block, ("widen_moves", {"tensors": ["output"]}))) < cycles(workload, block)


def test_a_pooling_store_reads_the_results_that_biases_began() -> None:
    facts = naive(square(size=10, pool="{size: 3, stride: 2, padding: 1}"))
    (results,) = (buffer for buffer in facts.buffers if buffer.memory == "acc")
    assert set(results.tensors) == {"bias", "output"}
    assert results.rows == 100


def test_first_values_of_results_do_not_run_ahead_of_those_in_use() -> None:
    workload = square(images=2)
    ahead = apply(naive(workload), BLOCK, PIPELINE)
    cycles(workload, ahead)


def test_biases_that_come_early_stay_in_the_memory_that_they_lie_in() -> None:
    """Behind the stores, the sum that addresses them starts in front of the memory's first row."""
    workload = square(images=2, size=11, channels=11, filters=11)
    facts = apply(naive(workload), ("keep_accumulator", {"loops": {"n": 1, "p": 6}, "stage": {"s": 3}}))
    facts = apply(facts, ("defer_stores", {"loop": ["n_block", "p_block"]}), ("prefetch", {"loops": ["step", "r"]}))
    cycles(workload, facts)


def test_biases_of_the_next_block_come_while_this_one_computes() -> None:
    workload = square(images=2)
    block = apply(naive(workload), BLOCK)
    inner = apply(block, ("defer_stores", {"loop": "k_block"}))
    outer = apply(block, ("defer_stores", {"loop": ["p_block", "k_block"]}))
    assert cycles(workload, outer) < cycles(workload, inner) < cycles(workload, block)


def test_stores_have_the_whole_next_block_whether_operands_come_early_before_or_after() -> None:
    workload = square(images=2)
    block = apply(naive(workload), BLOCK, ("reuse_weights", {"loop": ["n", "p"]}))
    before = apply(
        block, ("defer_stores", {"loop": ["p_block", "k_block"]}), ("prefetch", {"loops": ["step", "r", "s"]})
    )
    after = apply(block, PIPELINE, ("defer_stores", {"loop": "step"}))
    assert "step % 9" in print_kernel(after.kernel)
    assert 0.98 < cycles(workload, after) / cycles(workload, before) < 1.02


def test_the_array_keeps_weights_over_several_loops() -> None:
    workload = square(images=2)
    block = apply(naive(workload), BLOCK)
    one = apply(block, ("reuse_weights", {"loop": "p"}), PIPELINE)
    both = apply(block, ("reuse_weights", {"loop": ["n", "p"]}), PIPELINE)
    assert "n == 0 && p == 0 ?" in print_kernel(both.kernel)
    assert cycles(workload, both) < cycles(workload, one)


def test_weights_kept_over_all_that_they_serve_are_proposed_first() -> None:
    block = apply(naive(square(images=2)), BLOCK)
    first = transformation("reuse_weights").proposals(block)[0]
    assert first.parameters == {"loop": ["n", "p"]}
    assert first.gain > 0  # rows of eight pixels are shorter than the weights are deep


def test_taps_keep_their_order_where_stores_and_biases_wait_for_each_other() -> None:
    late = apply(naive(square(images=2, channels=16, filters=16)), ("defer_stores", {"loop": ["n", "p"]}))
    with pytest.raises(NotApplicable, match="rows of acc that are stored"):
        apply(late, ("reorder", {"loops": ["s", "r"]}))


def test_moves_grow_no_wider_than_the_instruction_allows() -> None:
    """Four blocks of int8, but one of int32, go into a row of a move."""
    facts = apply(naive(square(filters=64)), ("keep_accumulator", {"loops": {"p": 1, "k": 4}}))
    (proposal, *_) = transformation("widen_moves").candidates(facts)
    assert proposal.parameters["tensors"] == ["output"]
    with pytest.raises(NotApplicable, match="moves 16 columns at most"):
        transformation("widen_moves").apply(facts, {"tensors": ["bias"]})
