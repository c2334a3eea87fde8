"""Tiles that overlap from tap to tap are loaded once, and read where they lie."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator.kernel import print_kernel
from autocomp.targets.simulator.transforms import NotApplicable, transformation
from autocomp.workload import Workload

from .conftest import apply, with_best
from .conftest import naive as naive_gemm
from .convolutions import convolution, cycles, naive


def windows(
    size: int = 12, channels: int = 16, taps: int = 3, stride: int = 1, padding: int = 0, groups: int = 1
) -> Workload:
    dims = {"N": 2, "H": size, "W": size + 3, "C": channels, "K": channels, "R": taps, "S": 3}
    return convolution(dims, stride=stride, padding=padding, groups=groups, scale=0.0625)


@settings(max_examples=4, deadline=None)
@given(
    size=st.integers(3, 12),
    channels=st.sampled_from([3, 16, 20, 40]),
    taps=st.integers(1, 3),
    stride=st.integers(1, 3),
    padding=st.integers(0, 1),
    depthwise=st.booleans(),
    order=st.permutations(["keep_accumulator", "stage_window", "stage_operand", "reuse_weights", "prefetch"]),
)
def test_results_are_unchanged(
    size: int, channels: int, taps: int, stride: int, padding: int, depthwise: bool, order: list[str]
) -> None:
    workload = windows(size, channels, taps, stride, padding, channels if depthwise else 1)
    facts = naive(workload)
    for name in ("block_diagonal", *order):
        facts = with_best(facts, name)
    cycles(workload, facts)


def test_each_element_is_loaded_once() -> None:
    workload = windows()
    facts = naive(workload)
    staged = apply(facts, ("stage_window", {"tensors": ["inp"], "loop": ""}))
    text = print_kernel(staged.kernel)
    assert "mvin(&inp[line][line2][0][0], line * 180 + line2 * 15, 16, 15);" in text
    assert "compute_preloaded(n * 180 + p * 15 + r * 15 + s," in text
    assert cycles(workload, staged) < cycles(workload, facts)


@pytest.mark.parametrize("channels", [64, 72])
def test_wide_blocks_of_columns_that_take_turns_in_the_same_rows_get_rows_of_their_own(channels: int) -> None:
    workload = windows(size=6, channels=channels)
    panels = apply(naive(workload), ("keep_accumulator", {"loops": {"p": 2, "k": 1}, "stage": {"c": 2}}))
    staged = apply(panels, ("stage_window", {"tensors": ["inp"], "loop": ""}))
    assert cycles(workload, staged) < cycles(workload, panels)


def test_a_strided_tile_reads_rows_that_are_apart() -> None:
    staged = apply(naive(windows(stride=2)), ("stage_window", {"tensors": ["inp"], "loop": "n"}))
    text = print_kernel(staged.kernel)
    assert "config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 2, false, false);" in text
    assert "config_ld(16, 1.0f, DIM, 0);" in text


def test_a_block_of_results_has_its_own_window() -> None:
    workload = windows(size=16, channels=32, padding=1)
    block = apply(naive(workload), ("keep_accumulator", {"loops": {"p": 4, "q": 2, "k": 2}}))
    staged = apply(block, ("stage_window", {"tensors": ["inp"], "loop": "p_block"}))
    text = print_kernel(staged.kernel)
    assert "for (int line = 0; line < 6; line++)" in text
    assert "if (p_block * 4 + line - 1 >= 0 && p_block * 4 + line - 1 < 16)" in text
    assert 2 * cycles(workload, staged) < 3 * cycles(workload, block)


def test_what_does_not_overlap_is_refused() -> None:
    workload = convolution({"N": 1, "H": 9, "W": 9, "C": 16, "K": 16, "R": 1, "S": 1})
    with pytest.raises(NotApplicable, match="do not overlap"):
        transformation("stage_window").apply(naive(workload), {"tensors": ["inp"], "loop": ""})
    assert not transformation("stage_window").candidates(naive_gemm(64, 64, 64))


def test_a_block_whose_loads_outweigh_its_products_is_proposed_with_windows() -> None:
    depthwise = apply(naive(windows(size=16, channels=32, groups=32)), ("block_diagonal", {"loop": "g"}))
    best = transformation("keep_accumulator").candidates(depthwise)[0]
    assert best.parameters["window"] is True
    text = print_kernel(apply(depthwise, ("keep_accumulator", best.parameters)).kernel)
    assert text.count("mvin(&inp") == text.count("p_block * 7 + line]") == 1
    dense = naive(windows(size=16, channels=64))
    assert "window" not in transformation("keep_accumulator").candidates(dense)[0].parameters


def test_a_prefetched_window_leaves_the_first_values_of_results_in_their_place() -> None:
    workload = windows(size=3, channels=3, taps=1)
    facts = naive(workload)
    for name in ("keep_accumulator", "stage_window", "stage_operand", "prefetch"):
        facts = with_best(facts, name)
    cycles(workload, facts)
