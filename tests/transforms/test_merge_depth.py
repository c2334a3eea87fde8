"""Steps of a reduction that lie side by side in memory become fewer, deeper ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from autocomp.targets.simulator.kernel import print_kernel
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.transforms import NotApplicable
from autocomp.workload import Workload

from .conftest import apply, facts_of, machine, rewriting, with_best
from .convolutions import convolution, convolutions, cycles, naive

STEM = convolution({"N": 1, "H": 12, "W": 40, "C": 3, "K": 16, "R": 7, "S": 7}, stride=2, padding=3)
PADDED = {"loops": ["s"], "pad": "inp"}


@settings(max_examples=5, deadline=None)
@given(convolutions(("gemmini", "quad", "tiny")))
def test_results_are_unchanged_whatever_the_convolution(workload: Workload) -> None:
    cycles(workload, with_best(naive(workload), "merge_depth"))


def test_the_taps_of_a_row_and_their_channels_are_one_run() -> None:
    (proposal, *_) = rewriting("merge_depth").proposals(naive(STEM))
    assert proposal.parameters == PADDED
    merged = apply(naive(STEM), ("merge_depth", PADDED))
    text = print_kernel(merged.kernel)
    assert "&inp_padded[0][p * 2 + r][q * 32][depth * 16]" in text
    assert "&weights[r][0][depth * 16][0]" in text
    assert 2 * cycles(STEM, merged) < cycles(STEM, naive(STEM))


@pytest.mark.parametrize(
    ("channels", "taps", "loops"),
    [(8, 3, ["s"]), (24, 3, ["s", "c"]), (4, 5, ["s"]), (33, 2, ["s", "c"])],
)
def test_channels_that_do_not_fill_the_array_are_continued_with_those_of_the_next_tap(
    channels: int, taps: int, loops: list[str]
) -> None:
    workload = convolution({"N": 1, "H": 6, "W": 20, "C": channels, "K": 16, "R": taps, "S": taps})
    (proposal,) = rewriting("merge_depth").proposals(naive(workload))
    assert proposal.parameters == {"loops": loops}
    assert cycles(workload, apply(naive(workload), ("merge_depth", proposal.parameters))) < cycles(
        workload, naive(workload)
    )


def test_taps_fill_products_of_one_depth_whose_operands_move_on_before_them() -> None:
    """A vector of 192 of 256 elements is a row of three taps with 64 channels each."""
    name = str(Path(__file__).parents[1] / "isa" / "strangers" / "inmemory.isa")
    workload = convolution({"N": 1, "H": 5, "W": 16, "C": 64, "K": 16, "R": 3, "S": 3}, name, bias="none", scale=2**-7)
    (proposal,) = rewriting("merge_depth").proposals(naive(workload))
    assert proposal.parameters == {"loops": ["s"]}
    merged = apply(naive(workload), ("merge_depth", proposal.parameters))
    assert cycles(workload, merged) < 0.75 * cycles(workload, naive(workload))


@pytest.mark.parametrize(
    ("dims", "options", "loops", "reason"),
    [
        ({"C": 8, "S": 3}, {"dilation": 2}, ["s"], "do not follow one another in 'inp'"),
        ({"C": 8, "S": 3}, {}, ["r", "s"], "do not follow one another in 'inp'"),
        ({"C": 16, "S": 3}, {}, ["s"], "fill the depth of the array"),
        ({"C": 8, "S": 3}, {"padding": 1}, ["s"], "not sums of the loops' counters"),
        ({"C": 8, "S": 3}, {}, ["q"], "no product is directly inside"),
    ],
)
def test_steps_apart_are_refused(dims: dict[str, int], options: dict[str, int], loops: list[str], reason: str) -> None:
    workload = convolution({"N": 1, "H": 8, "W": 24, "C": 8, "K": 16, "R": 3, "S": 3} | dims, **options)
    with pytest.raises(NotApplicable, match=reason):
        apply(naive(workload), ("merge_depth", {"loops": loops}))


def test_a_first_step_that_overwrites_stays_the_first_one() -> None:
    workload = convolution({"N": 1, "H": 6, "W": 20, "C": 8, "K": 16, "R": 3, "S": 3})
    text = starting_kernel(workload, machine()).replace("mvin3(&bias[0][k], c_tile, 16, rows);", "")
    text = text.replace("c_tile | 0x40000000", "(r == 0 && s == 0 ? c_tile : c_tile | 0x40000000)")
    merged = apply(facts_of(text), ("merge_depth", {"loops": ["s"]}))
    assert "r == 0 && depth == 0 ?" in print_kernel(merged.kernel)
