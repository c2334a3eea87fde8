"""Several groups of a grouped convolution share one pass of the array."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator.kernel import print_kernel
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.transforms import NotApplicable
from autocomp.targets.simulator.transforms.nests.schedule import raised_of
from autocomp.workload import Workload

from .conftest import apply, facts_of, machine, rewriting
from .convolutions import convolution, cycles, naive

TOGETHER = ("block_diagonal", {"loop": "g"})


def grouped(dims: Mapping[str, int], groups: int, padding: int = 0, stride: int = 1, bias: str = "row") -> Workload:
    options = {"groups": groups, "padding": padding, "stride": stride, "bias": bias}
    return convolution(dims, **options, activation="relu", scale=0.0625)


def depthwise(channels: int = 20, size: int = 6, padding: int = 1) -> Workload:
    dims = {"N": 1, "H": size, "W": size, "C": channels, "K": channels, "R": 3, "S": 3}
    return grouped(dims, channels, padding)


@settings(max_examples=6, deadline=None)
@example(31, 1, 5, (2, 2, 3, 4), 1, 1, "row")
@example(2, 1, 1, (1, 2, 3, 3), 1, 1, "row")
@given(
    groups=st.integers(2, 36),
    depth=st.sampled_from([1, 1, 2, 3, 8]),
    filters=st.sampled_from([1, 1, 2, 5, 8]),
    sides=st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(3, 20), st.integers(3, 9)),
    padding=st.integers(0, 1),
    stride=st.integers(1, 2),
    bias=st.sampled_from(["row", "none"]),
)
def test_results_are_unchanged(
    groups: int,
    depth: int,
    filters: int,
    sides: tuple[int, int, int, int],
    padding: int,
    stride: int,
    bias: str,
) -> None:
    rows, cols, height, width = sides
    dims = {"N": 1, "H": height, "W": width, "C": groups * depth, "K": groups * filters, "R": rows, "S": cols}
    workload = grouped(dims, groups, padding, stride, bias)
    cycles(workload, apply(naive(workload), TOGETHER))


def test_a_pass_of_the_array_serves_sixteen_channels() -> None:
    workload = depthwise(channels=32, size=12)
    facts = naive(workload)
    assert 7 * cycles(workload, apply(facts, TOGETHER)) < cycles(workload, facts)


def test_the_accelerator_makes_the_diagonal_tiles_and_puts_its_strides_back() -> None:
    text = print_kernel(apply(naive(depthwise(channels=20)), TOGETHER).kernel)
    assert "static int8_t diagonal[3][3][16][20];" in text
    before, after = text.split("fence();")[:2]
    assert "gemmini_extended_config_st(21, RELU, 0.0625f);" in before  # 20 columns and one to the right
    assert "mvout(&diagonal[r2][s2][0][g2 * 16]," in before
    restored = [line.strip() for line in after.split("for")[0].strip().splitlines()]
    assert restored == ["config_ld(20, 1.0f, DIM, 1);", "gemmini_extended_config_st(20, RELU, 0.0625f);"]
    assert "weights" not in after


def refusal(text: str, loop: str = "g") -> str:
    with pytest.raises(NotApplicable) as caught:
        rewriting("block_diagonal").apply(facts_of(text), {"loop": loop})
    return str(caught.value)


def test_what_is_not_side_by_side_is_refused() -> None:
    text = starting_kernel(depthwise(), machine())
    assert "no contraction is inside a loop over 'x'" in refusal(text, "x")
    assert "differ in more than the columns" in refusal(text.replace("mvin(&inp", "if (g != 2) mvin(&inp"))
    assert "&bias[0][g + k]" in text
    assert "columns of 'bias' are not side by side" in refusal(text.replace("&bias[0][g + k]", "&bias[0][19 - g]"))
    apart = text.replace("mvin3(&bias[0][g + k], c_tile", "mvin3(&bias[0][g + k], c_tile + g % 2")
    assert apart != text
    assert "depends on 'g' in more than what it moves" in refusal(apart)


def test_moves_that_change_elements_cannot_carry_weights_to_the_diagonal() -> None:
    text = starting_kernel(depthwise(), machine())
    scaled = text.replace("config_ld(20, 1.0f, DIM, 1)", "config_ld(20, 2.0f, DIM, 1)")
    assert scaled != text
    assert "does not carry elements through spad as they are" in refusal(scaled)
    pooled = text.replace(
        "gemmini_extended_config_st(20, RELU, 0.0625f)",
        "gemmini_extended2_config_st(20, RELU, 0.0625f, 1, 1, 6, 1, 1, 1, 1, 0, 0)",
    )
    assert pooled != text
    assert "does not carry elements through spad as they are" in refusal(pooled)


def test_groups_that_fill_half_of_the_array_stay_apart() -> None:
    dims = {"N": 1, "H": 5, "W": 5, "C": 18, "K": 18, "R": 1, "S": 1}
    text = starting_kernel(grouped(dims, 2), machine())
    assert "9 x 9 weights a group leave no room in the array" in refusal(text)


def test_groups_that_do_not_fill_the_array_again_and_again_are_taken_by_equal_numbers_and_scheduled() -> None:
    workload = depthwise(channels=24, size=8)
    first, other = rewriting("block_diagonal").candidates(naive(workload))
    assert first.parameters == {"loop": "g", "groups": 12}
    assert other.parameters == TOGETHER[1]
    scheduled = apply(naive(workload), ("schedule", {"diagonal": first.parameters}))
    assert raised_of(scheduled).given
    assert 20 * cycles(workload, scheduled) < cycles(workload, naive(workload))


def test_groups_that_are_left_over_are_a_part_of_their_own_that_is_scheduled() -> None:
    workload = depthwise(channels=35, size=8)
    first, _ = rewriting("block_diagonal").candidates(naive(workload))
    assert first.parameters == TOGETHER[1]  # 3 passes of 16, 16 and 3 channels, in place of 7 of 5
    part = {"block": {"p": 4}, "ahead": ["left", "right"], "deferred": True}
    facts = apply(naive(workload), ("schedule", {"diagonal": first.parameters, "part": 1, **part}))
    scheduled = apply(facts, ("schedule", {"part": 2, **part}))
    assert [raised_of(scheduled, number).computation.extents["j"] for number in (1, 2)] == [16, 3]
    assert all(raised_of(scheduled, number).given for number in (1, 2))
    assert 20 * cycles(workload, scheduled) < cycles(workload, naive(workload))


def test_few_commands_with_groups_left_over_are_not_scheduled_but_worked_on_one_by_one() -> None:
    workload = depthwise(channels=19, size=3)
    (proposal,) = rewriting("schedule").candidates(naive(workload))
    assert proposal.parameters == {"diagonal": TOGETHER[1]}
    changed = apply(naive(workload), ("schedule", proposal.parameters))
    assert cycles(workload, changed) == proposal.result
    written = apply(changed, ("command_by_command", {}))
    assert cycles(workload, written) < cycles(workload, changed) < cycles(workload, naive(workload))


def test_groups_that_are_left_over_are_loaded_as_configured_when_the_others_are_scheduled_otherwise() -> None:
    tiles = {"tile": {"i": 4}}  # the rest still loads up to 8 rows at a time
    workload = depthwise(channels=35, size=8)
    scheduled = apply(naive(workload), ("schedule", {"diagonal": TOGETHER[1], "part": 1, **tiles}))
    assert cycles(workload, scheduled) < cycles(workload, naive(workload))


@pytest.mark.parametrize("count", [1, 17])
def test_a_number_of_groups_that_does_not_fit_is_refused(count: int) -> None:
    with pytest.raises(NotApplicable, match=f"'groups' must be 2 to 16, and is {count}"):
        rewriting("block_diagonal").apply(naive(depthwise()), {"loop": "g", "groups": count})
