"""Convolutions of images with zeros around them, on a copy that has those zeros."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from autocomp.targets.simulator.kernel import print_kernel
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.transforms import NotApplicable
from autocomp.workload import Workload

from .conftest import apply, facts_of, machine, rewriting, with_best
from .convolutions import convolution, convolutions, cycles, naive

STEM = convolution({"N": 1, "H": 20, "W": 20, "C": 3, "K": 16, "R": 7, "S": 7}, stride=2, padding=3)


@settings(max_examples=5, deadline=None)
@given(convolutions())
def test_results_are_unchanged_whatever_the_convolution(workload: Workload) -> None:
    cycles(workload, with_best(naive(workload), "pad_input"))


def test_no_condition_on_the_image_is_left() -> None:
    padded = apply(naive(STEM), ("pad_input", {"tensor": "inp"}))
    text = print_kernel(padded.kernel)
    assert "static int8_t inp_padded[1][25][25][3];" in text
    assert "if" not in text
    assert "? 60 - part * 64" not in text  # rows of 60 bytes are one move
    cycles(STEM, padded)


def test_the_copy_is_made_by_few_wide_moves_before_a_fence() -> None:
    text = print_kernel(apply(naive(STEM), ("pad_input", {"tensor": "inp"})).kernel)
    head = text[: text.index("fence();")]
    assert head.count("mvin(") == head.count("mvout(") == 1
    assert "= " not in head.replace("int piece = 0", "")  # the host computes nothing


def test_conditions_that_say_something_else_stay() -> None:
    text = starting_kernel(STEM, machine()).replace("y >= 0 &&", "y >= 1 &&")
    padded = apply(facts_of(text), ("pad_input", {"tensor": "inp"}))
    assert "if (p * 2 + r - 3 >= 1) {" in print_kernel(padded.kernel)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("y < 20", "y < 21"), "not exactly what lies outside"),
        (("x < 0 ? (-x + 1) / 2 : 0", "x < 0 ? (-x + 2) / 2 : 0"), "not exactly what lies outside"),
        (("| 0x40000000", ""), "overwrites its results"),
        (("fence();", "fence(); inp[0][0][0][0] = 0;"), "changes while the kernel runs"),
    ],
)
def test_what_leaves_out_anything_else_is_refused(change: tuple[str, str], reason: str) -> None:
    text = starting_kernel(STEM, machine())
    assert change[0] in text
    with pytest.raises(NotApplicable, match=reason):
        apply(facts_of(text.replace(*change)), ("pad_input", {"tensor": "inp"}))


def test_a_machine_that_cannot_move_operands_out_makes_no_copy() -> None:
    workload = convolution({"N": 1, "H": 6, "W": 6, "C": 3, "K": 4, "R": 3, "S": 3}, "tiny", padding=1)
    assert not rewriting("pad_input").proposals(naive(workload))
