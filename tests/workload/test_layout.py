"""Stored axes of tensors: packed, blocked and interleaved matrices come back as they were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocomp.errors import ConfigError
from autocomp.workload.layout import parse_layout

SIZES = {"K": 8, "J": 6}


def test_four_rows_are_interleaved() -> None:
    layout = parse_layout("K/4 J K%4", SIZES)
    values = np.arange(48).reshape(8, 6)
    stored = layout.store(values)
    assert stored.shape == (2, 6, 4)
    assert np.array_equal(stored[1, 2], values[4:8, 2])
    assert layout.row_bytes(1) == 24
    assert layout.subscripts({"K": "k", "J": "j + 1"}) == "[k / 4][j + 1][k % 4]"


def test_blocks_are_stored_one_after_the_other() -> None:
    layout = parse_layout("J/3, K/4, J%3, K%4", SIZES)
    values = np.arange(48).reshape(8, 6)
    stored = layout.store(values)
    assert stored.shape == (2, 2, 3, 4)
    assert np.array_equal(stored[1, 0], values[0:4, 3:6].T)
    assert layout.subscripts({"K": "k", "J": "j + 3"}) == "[(j + 3) / 3][k / 4][(j + 3) % 3][k % 4]"


def test_what_no_element_fills_is_zero() -> None:
    layout = parse_layout("K/4 J K%4", {"K": 5, "J": 2})
    stored = layout.store(np.ones((5, 2), np.int8))
    assert stored.shape == (2, 2, 4)
    assert stored.sum() == 10
    assert np.array_equal(stored[1, :, 1:], np.zeros((2, 3)))


@given(
    st.integers(1, 40),
    st.integers(1, 40),
    st.sampled_from(["K J", "J K", "K/4 J K%4", "J/16 K/16 J%16 K%16", "J/8 K/32 K%32/4 J%8 K%4", "K/2 J/3 J%3 K%2"]),
)
def test_what_is_stored_comes_back(rows: int, cols: int, text: str) -> None:
    layout = parse_layout(text, {"K": rows, "J": cols})
    values = np.random.default_rng(0).integers(-128, 128, (rows, cols), np.int8)
    assert np.array_equal(layout.load(layout.store(values)), values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("K/4 J", "several elements in one place"),
        ("K/4 J K%2", "several elements in one place"),
        ("K J L", "has the dimensions K, J, L; expected K, J"),
        ("K", "expected K, J"),
        ("K:4 J", "'K:4' is not an axis"),
        ("K/0 J", "'K/0' is not an axis"),
        ("", "at least one axis"),
    ],
)
def test_a_layout_that_cannot_be_meant_is_an_error(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_layout(text, SIZES)
