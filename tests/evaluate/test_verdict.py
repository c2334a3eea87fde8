"""The message about a wrong result: the first wrong element, how many, and what they have in common."""

from __future__ import annotations

import numpy as np
import pytest

from autocomp.targets.simulator.evaluate.verdict import difference
from autocomp.workload import TensorSpec

C = TensorSpec("C", "int8", (64, 64), "output")


@pytest.fixture
def expected() -> np.ndarray:
    return np.random.default_rng(1).integers(-100, 100, C.shape).astype(np.int8)


def said(got: np.ndarray, expected: np.ndarray) -> str:
    words = difference(C, got, expected, None)
    assert words is not None
    return words


def test_a_right_result_has_no_difference(expected: np.ndarray) -> None:
    assert difference(C, expected.copy(), expected, None) is None


def test_the_first_wrong_element_and_the_count_are_named(expected: np.ndarray) -> None:
    got = expected.copy()
    got[3, 17] += 1
    got[5, 40] += 1
    first = f"C[3][17] is {got[3, 17]}, expected {expected[3, 17]}; 2 of 4096 elements of C are wrong"
    assert said(got, expected).startswith(first)


def test_a_block_of_columns_is_recognised(expected: np.ndarray) -> None:
    got = expected.copy()
    got[:, 16:32] = 101
    assert "lie in columns 16..31" in said(got, expected)


def test_tiles_at_equal_distances_are_recognised(expected: np.ndarray) -> None:
    got = expected.copy()
    for start in range(0, 64, 16):
        got[start + 12 : start + 16] = 101
    assert "lie in rows 12..15 of every 16, from 12 on" in said(got, expected)


def test_elements_never_stored_are_recognised(expected: np.ndarray) -> None:
    before = np.random.default_rng(2).integers(-128, 128, C.shape).astype(np.int8)
    got = np.concatenate([expected[:60], before[60:]])
    words = difference(C, got, expected, None, before)
    assert words is not None
    assert "never stored" in words
    assert "rows 60..63" in words


def test_zeros_a_transposed_result_and_a_missing_activation_are_recognised(expected: np.ndarray) -> None:
    assert "they are all 0" in said(np.zeros_like(expected), expected)
    assert "the result is transposed" in said(expected.T.copy(), expected)
    assert "activation is missing" in said(expected, np.maximum(expected, 0))


def test_an_overflow_instead_of_saturation_is_recognised(expected: np.ndarray) -> None:
    right = expected.copy()
    right[::2, ::3] = 127
    wrapped = right.copy()
    wrapped[::2, ::3] = -20
    assert "saturates at -128 or 127" in said(wrapped, right)


def test_floats_are_compared_within_tolerance() -> None:
    tensor = TensorSpec("y", "float32", (3,), "output")
    right = np.array([1.0, 2.0, np.nan], np.float32)
    bounds = np.array([1e-5, 2e-5, 1.0])
    assert difference(tensor, right * np.float32(1 + 1e-6), right, bounds) is None
    words = difference(tensor, np.array([1.0, 2.1, np.nan], np.float32), right, bounds)
    assert words is not None
    assert words.startswith("y[1] is 2.0999")
    assert "expected 2.0 within 2e-05" in words
