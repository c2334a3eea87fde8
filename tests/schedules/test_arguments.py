"""Options that a kernel takes at run time: found by trying other values, bound in its text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocomp import workload as workloads
from autocomp.schedules import Entry, Library, Stored
from autocomp.schedules.arguments import binary32, bound, c_float, has_number
from autocomp.schedules.measured import arguments_of, operation_of
from autocomp.targets.registry import load_target

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)
LAYER = """
accelerator: gemmini
operation: gemm
dims: {I: 16, J: 16, K: 16}
scale: 0.0123
"""
KERNEL = """
void solution(int8_t A[16][16], int8_t B[16][16], int8_t C[16][16]) {
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(16, 1.0f, 16, 0);
    config_ld(16, 1.0f, 16, 1);
    gemmini_extended_config_st(16, NO_ACTIVATION, 0.0123f);
    mvin(A, 0, 16, 16);
    mvin2(B, 16, 16, 16);
    preload(16, 0x80000000, 16, 16, 16, 16);
    compute_preloaded(0, 0xffffffff, 16, 16, 16, 16);
    mvout(C, 0x80000000, 16, 16);
    fence();
}
"""
HELPER = "void stored(float s) { gemmini_extended_config_st(16, NO_ACTIVATION, s == 3.5f ? 1.0f : s); }"


@given(NUMBERS)
def test_a_number_of_c_is_read_as_the_value_that_was_written(value: float) -> None:
    assert has_number(c_float(abs(value)), abs(value))
    assert np.float32(c_float(value).strip("()f")) == np.float32(value)


@given(NUMBERS, NUMBERS)
def test_a_kernel_bound_to_another_value_and_back_is_the_same(one: float, other: float) -> None:
    one, other = abs(one), abs(other)
    text = f"config({c_float(one)}, x{1}, a.5, 12, 0x1e5);"
    there = bound(text, {"scale": one}, {"scale": other})
    assert has_number(there, other)
    assert bound(there, {"scale": other}, {"scale": one}) == text


def test_only_numbers_of_the_value_are_replaced() -> None:
    text = "f(0.5f, 1.5f, 0.50, x0.5, 0.5e1f, 5e-1)"
    assert bound(text, {"scale": 0.5}, {"scale": 2.0}) == "f(2.0f, 1.5f, 2.0f, x0.5, 0.5e1f, 2.0f)"


def test_a_scale_that_stands_for_itself_alone_is_an_argument() -> None:
    layer = workloads.parse(LAYER, Path("layer.yaml"))
    target = load_target(layer.target, layer.overrides)
    value = target.evaluator(layer).evaluate(KERNEL).value
    assert value is not None
    assert arguments_of(layer, target, KERNEL, value) == ("scale",)


@pytest.mark.parametrize(
    ("scale", "kernel"),
    [
        ("1.0", KERNEL.replace("0.0123f", "1.0f")),  # the usual one, which moves have too
        ("0.5", KERNEL.replace("0.0123f", "1.0f / 2")),  # it does not stand in the text
        ("0.25", KERNEL.replace("1.0f, 16, 0", "0.25f, 16, 0").replace("0.0123f", "0.25f")),  # not what is computed
        ("0.5", KERNEL.replace("0.0123f", "(0.5f == 3.5f ? 1.0f : 0.5f)")),  # it decides: wrong for 3.5 alone
        ("0.5", HELPER + KERNEL.replace("gemmini_extended_config_st(16, NO_ACTIVATION, 0.0123f)", "stored(0.5f)")),
    ],
)
def test_another_scale_is_a_constant_of_the_kernel(scale: str, kernel: str) -> None:
    layer = workloads.parse(LAYER.replace("0.0123", scale), Path("layer.yaml"))
    target = load_target(layer.target, layer.overrides)
    assert arguments_of(layer, target, kernel, target.evaluator(layer).evaluate(kernel).value or 1) == ()


def test_an_operation_with_arguments_is_that_of_all_their_values() -> None:
    layer = workloads.parse(LAYER, Path("layer.yaml"))
    known = operation_of(layer, ("scale",))
    assert known.computes(operation_of(replace(layer, options={**layer.options, "scale": 0.5})))
    assert not known.computes(operation_of(replace(layer, options={**layer.options, "activation": "relu"})))
    assert not operation_of(layer).computes(operation_of(replace(layer, options={**layer.options, "scale": 0.5})))


def _stored(number: int, fixed: float, value: int, **arguments: float) -> Stored:
    options = {"bias": "none", "scale": fixed}
    usual = ["bias", "scale"] if fixed == 1.0 else ["bias"]
    machine = ("simulator:toy", {"DIM": 16}, "gemm", {"I": 4, "J": 4, "K": 4})
    entry = Entry(
        f"toy/gemm/{number}.yaml", "", *machine, options, usual, value, "cycles", "lower", 0.9, str(number), arguments
    )
    return Stored(Path("/library"), entry)


SHAPE = {"I": 4, "J": 4, "K": 4}


@given(NUMBERS)
def test_any_value_of_an_argument_is_an_exact_match(scale: float) -> None:
    library = Library([_stored(0, 0.25, 100, scale=1.0)])
    match = library.lookup("gemm", SHAPE, "toy", options={"scale": scale})
    assert match is not None
    assert match.exact
    assert match.arguments == {"scale": scale}


def test_an_argument_that_is_left_open_has_its_usual_value() -> None:
    match = Library([_stored(0, 0.25, 100, scale=1.0)]).lookup("gemm", SHAPE, "toy")
    assert match is not None
    assert match.exact
    assert match.arguments == {"scale": 1.0}


@pytest.mark.parametrize(("fixed", "found"), [(90, "1"), (110, "0")])
def test_the_better_of_a_general_kernel_and_one_for_this_value_is_found(fixed: int, found: str) -> None:
    library = Library([_stored(0, 0.25, 100, scale=1.0), _stored(1, 1.0, fixed)])
    match = library.lookup("gemm", SHAPE, "toy", options={"scale": 1.0})
    assert match is not None
    assert match.stored.entry.identity == found
    other = library.lookup("gemm", SHAPE, "toy", options={"scale": binary32(0.3)})
    assert other is not None
    assert other.stored.entry.identity == "0"
