"""Starting kernels from traced graphs, by text alone. `test_custom.py` runs them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.errors import ConfigError
from autocomp.targets.triton.language import check_module, parse
from autocomp.targets.triton.start.traced import traced_kernel
from autocomp.targets.triton.start.traced.index import join, split, symbol

SHAPES = st.lists(st.integers(1, 6), min_size=1, max_size=4)


def node(name: str, op: str, shape: list[int], *args: Any, dtype: str = "float64") -> dict[str, Any]:
    return {"name": name, "op": op, "args": list(args), "options": {}, "shape": shape, "dtype": dtype}


def ref(name: str) -> dict[str, str]:
    return {"ref": name}


def softmax(rows: int, cols: int) -> dict[str, Any]:
    return {
        "nodes": [
            node("x", "input", [rows, cols]),
            node("largest_", "amax", [rows, 1], ref("x"), [1], True),
            node("sub_", "sub", [rows, cols], ref("x"), ref("largest_")),
            node("exp_", "exp", [rows, cols], ref("sub_")),
            node("sum_", "sum", [rows, 1], ref("exp_"), [1], True),
            node("div_", "div", [rows, cols], ref("exp_"), ref("sum_")),
        ],
        "outputs": ["div_"],
    }


@settings(deadline=None)
@given(SHAPES, st.data())
def test_an_index_put_together_is_the_place_that_it_was_taken_from(shape: list[int], data: st.DataObject) -> None:
    elements = 1
    for extent in shape:
        elements *= extent
    place = data.draw(st.integers(0, elements - 1))
    indices = split(symbol("offs", elements), shape)
    values = [eval(index.text({}), {"offs": place}) for index in indices]
    expected = []
    for extent in reversed(shape):
        expected.append(place % extent)
        place //= extent
    assert values == expected[::-1]
    assert join(indices, shape) == symbol("offs", elements)


@settings(deadline=None)
@given(SHAPES, st.permutations(range(4)), st.data())
def test_a_view_of_a_view_has_the_elements_of_its_source(
    shape: list[int], order: list[int], data: st.DataObject
) -> None:
    """Through a permutation and a view of the result, as NumPy has it."""
    axes = [axis for axis in order if axis < len(shape)]
    source = np.arange(int(np.prod(shape))).reshape(shape)
    moved = source.transpose(axes)
    flat = moved.reshape(-1)
    place = data.draw(st.integers(0, flat.size - 1))
    of_view = split(symbol("offs", flat.size), moved.shape)
    back = [of_view[axes.index(axis)] for axis in range(len(shape))]
    assert eval(join(back, shape).text({}), {"offs": place}) == flat[place]


def test_a_softmax_is_one_kernel_over_rows() -> None:
    text = traced_kernel(softmax(8, 1000), ["y"])
    check_module(parse(text), ["x", "y"])
    assert text.count("@triton.jit") == 1
    assert "x_ptr + row * cols + offs" in text


def test_a_few_long_rows_are_reduced_by_many_programs() -> None:
    document = {
        "nodes": [node("x", "input", [4, 1 << 20]), node("sum_", "sum", [4], ref("x"), [1])],
        "outputs": ["sum_"],
    }
    text = traced_kernel(document, ["y"])
    assert "(2048,)" in text


def test_an_operator_without_a_kernel_is_named() -> None:
    document = {"nodes": [node("x", "input", [4]), node("sort_", "sort", [4], ref("x"))], "outputs": ["sort_"]}
    with pytest.raises(ConfigError, match="operator sort"):
        traced_kernel(document, ["y"])
