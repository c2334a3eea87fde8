"""Starting kernels from traced graphs, by text alone. `test_custom.py` runs them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.errors import ConfigError
from autocomp.targets.triton.language import check_module, parse
from autocomp.targets.triton.rewrites import Setting
from autocomp.targets.triton.rewrites.syntax.tree import text_of
from autocomp.targets.triton.routes import routes
from autocomp.targets.triton.start.traced import traced_kernel
from autocomp.targets.triton.start.traced.index import join, split, symbol
from autocomp.targets.triton.start.traced.values import bearing
from autocomp.targets.triton.transformations import applied

H200 = Setting({"x.0": 4096}, 4, 132, 232_448, (9, 0))
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
@given(SHAPES, SHAPES, st.data())
def test_a_place_in_a_row_of_rows_is_found_in_any_shape(
    outer: list[int], inner: list[int], data: st.DataObject
) -> None:
    rows, columns = math.prod(outer), math.prod(inner)
    shape = data.draw(st.permutations([*outer, *inner]))
    row, offs = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    place = join((symbol("row", rows), symbol("offs", columns)), (rows, columns))
    indices = split(place, shape)
    values = [eval(index.text({}), {"row": row, "offs": offs}) for index in indices]
    assert np.ravel_multi_index(values, shape) == row * columns + offs
    assert join(indices, shape) == place


def test_rows_that_are_several_of_another_view_stay_neighbours() -> None:
    """Groups of three channels of 22 x 30 elements, 24 channels an image, as a norm over groups has them."""
    place = join((symbol("row", 128 * 8), symbol("offs", 3 * 22 * 30)), (128 * 8, 3 * 22 * 30))
    indices = split(place, (128, 24, 22, 30))
    assert join(indices, (128, 24, 22, 30)) == place
    assert indices[1].text({}) == "(row % 8) * 3 + offs // 660"


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


def test_reductions_that_need_nothing_of_each_other_share_a_loop() -> None:
    document = {
        "nodes": [
            node("x", "input", [8, 1000]),
            node("least_", "amin", [8], ref("x"), [1]),
            node("sum_", "sum", [8], ref("x"), [1]),
            node("add_", "add", [8], ref("least_"), ref("sum_")),
        ],
        "outputs": ["add_"],
    }
    assert traced_kernel(document, ["y"]).count("for start in") == 1


def test_they_share_it_too_where_what_follows_is_at_other_places() -> None:
    document = {
        "nodes": [
            node("x", "input", [8, 1000]),
            node("least_", "amin", [8, 1], ref("x"), [1], True),
            node("sum_", "sum", [8, 1], ref("x"), [1], True),
            node("sub_", "sub", [8, 1000], ref("x"), ref("least_")),
            node("mul_", "mul", [8, 1000], ref("sub_"), ref("sum_")),
            node("turned_", "permute", [1000, 8], ref("mul_"), [1, 0]),
        ],
        "outputs": ["turned_"],
    }
    assert traced_kernel(document, ["y"]).count("for start in") == 1


def test_what_is_computed_twice_is_computed_once() -> None:
    document = {
        "nodes": [
            node("x", "input", [4, 1 << 20]),
            node("sum_", "sum", [4], ref("x"), [1]),
            node("again_", "sum", [4], ref("x"), [1]),
            node("add_", "add", [4], ref("sum_"), ref("again_")),
        ],
        "outputs": ["add_"],
    }
    assert traced_kernel(document, ["y"]).count("@triton.jit") == 2  # parts of the rows, and their sums


def product(m: int, k: int, n: int, left: str = "A") -> dict[str, Any]:
    nodes = [node(left, "input", [m, k]), node("K", "input", [k, n]), node("mm_", "mm", [m, n], ref(left), ref("K"))]
    return {"nodes": nodes, "outputs": ["mm_"]}


def test_a_tensor_may_have_the_name_of_a_size() -> None:
    text = traced_kernel(product(64, 32, 48), ["out"])
    check_module(parse(text), ["A", "K", "out"])
    assert "K_2 = tl.load(K_ptr" in text


def test_float32_is_multiplied_along_a_contiguous_depth() -> None:
    wide = traced_kernel(product(4096, 4096, 4096), ["out"], wide=True)
    check_module(parse(wide), ["A", "K", "out"])
    assert "pack_kernel" in wide
    assert "pack_kernel" not in traced_kernel(product(4096, 4096, 4096), ["out"])


def test_a_depth_that_is_not_aligned_is_filled_up() -> None:
    text = traced_kernel(product(4096, 2949, 4096), ["out"], wide=True)
    assert text.count("def pack_kernel") == 2
    assert "4096, 4096, 2976" in text


def softmax_of_channels(filters: int) -> dict[str, Any]:
    shape = [4, filters, 64, 64]
    nodes = [node("x", "input", [4, 32, 64, 64]), node("w", "input", [filters, 32, 3, 3])]
    how = [None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1]
    nodes.append(node("conv_", "convolution", shape, ref("x"), ref("w"), *how))
    nodes += [
        node("largest_", "amax", [4, 1, 64, 64], ref("conv_"), [1], True),
        node("sub_", "sub", shape, ref("conv_"), ref("largest_")),
        node("exp_", "exp", shape, ref("sub_")),
        node("sum_", "sum", [4, 1, 64, 64], ref("exp_"), [1], True),
        node("div_", "div", shape, ref("exp_"), ref("sum_")),
    ]
    return {"nodes": nodes, "outputs": ["div_"]}


def test_channels_are_reduced_in_the_convolution_where_a_tile_has_all_of_them() -> None:
    module = parse(traced_kernel(softmax_of_channels(filters=128), ["y"], wide=True))
    assert list(module.kernels)[-3:] == ["image_kernel", "filters_kernel", "convolution_kernel"]
    tiles = applied(module, "sequence", {"steps": [list(step) for step in routes(module, H200)[0].steps]})
    assert "acc = tl.zeros((BLOCK_M, 128)" in tiles.text  # tiles of other sizes keep all columns
    several = parse(traced_kernel(softmax_of_channels(filters=512), ["y"], wide=True))
    assert list(several.kernels)[-1] == "amax_kernel"


def least_of_channels(read_twice: bool) -> dict[str, Any]:
    shape = [4, 32, 64, 64]
    nodes = softmax_of_channels(filters=32)["nodes"][:3]
    nodes += [
        node("half_", "mul", shape, ref("conv_"), 0.5),
        node("least_", "amin", [4, 1, 64, 64], ref("half_"), [1], True),
        node("above_", "sub", shape, ref("half_"), ref("least_")),
    ]
    return {"nodes": nodes, "outputs": ["above_" if read_twice else "least_"]}


@pytest.mark.parametrize("read_twice", [False, True])
def test_a_convolution_that_is_only_reduced_is_not_stored(read_twice: bool) -> None:
    module = parse(traced_kernel(least_of_channels(read_twice), ["y"], wide=True))
    assert text_of(module.kernels["convolution_kernel"]).count("tl.store(") == 1  # of the result alone
    assert "part3" not in module.text


def test_a_vector_of_a_tile_is_loaded_under_the_conditions_of_its_own_axis() -> None:
    mask = "((offs_f[:, None] < 8) & (offs_m[None, :] < 99)) & (offs_m[None, :] % 3 < 2)"
    assert bearing(mask, "offs_f[:, None] * 4") == "(offs_f[:, None] < 8)"
    assert bearing(mask, "offs_m[None, :] + offs_f[:, None]") == mask
    assert bearing("(offs_z[:, None] < 7) & (cell[:, None] >= 0)", "cell[:, None]").count("&") == 1
    assert bearing(mask, "group * 4") == ""


@pytest.mark.parametrize(("channels", "kernels"), [(8, ["means"]), (128, [])])
def test_a_norm_takes_moments_where_a_convolution_is_made_with_few_products(channels: int, kernels: list[str]) -> None:
    shape, plane = [8, 32, 64, 64], 64 * 64
    nodes = [node("x", "input", [8, channels, 66, 66]), node("w", "input", [32, channels, 3, 3])]
    how = [None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1]
    nodes += [
        node("conv_", "convolution", shape, ref("x"), ref("w"), *how),
        node("sum_", "sum", [8, 32, 1, 1], ref("conv_"), [2, 3], True),
        node("mean_", "div", [8, 32, 1, 1], ref("sum_"), plane),
        node("away_", "sub", shape, ref("conv_"), ref("mean_")),
        node("square_", "mul", shape, ref("away_"), ref("away_")),
        node("spread_", "sum", [8, 32, 1, 1], ref("square_"), [2, 3], True),
        node("norm_", "div", shape, ref("away_"), ref("spread_")),
    ]
    text = traced_kernel({"nodes": nodes, "outputs": ["norm_"]}, ["y"], wide=True, tf32=True)
    check_module(parse(text), ["x", "w", "y"])
    assert [name for name in ("means",) if f"{name} = " in text] == kernels


def summed(axes: list[int], padding: int, extent: int = 32, read_twice: bool = False) -> dict[str, Any]:
    results = extent + 2 - 2 * padding
    shape, kept = [4, 32, results, results], [1 if axis in axes else results for axis in (2, 3)]
    nodes = [node("x", "input", [4, 16, extent, extent]), node("w", "input", [16, 32, 3, 3])]
    how = [None, [1, 1], [padding, padding], [1, 1], True, [0, 0], 1]
    nodes += [
        node("conv_", "convolution", shape, ref("x"), ref("w"), *how),
        node("half_", "mul", shape, ref("conv_"), 0.5),
        node("sum_", "sum", [4, 32, *kept], ref("half_"), axes, True),
    ]
    nodes += [node("away_", "sub", shape, ref("conv_"), ref("sum_"))] if read_twice else []
    return {"nodes": nodes, "outputs": ["away_" if read_twice else "sum_"]}


def test_sums_of_a_convolution_add_its_operands_first() -> None:
    whole = parse(traced_kernel(summed([2, 3], padding=0), ["y"], wide=True))
    assert list(whole.kernels) == ["sum_kernel", "matmul_kernel"]
    line = parse(traced_kernel(summed([2], padding=1), ["y"], wide=True))
    assert "sum_kernel" in line.kernels
    assert "convolution_kernel" in line.kernels  # along the other axis


@pytest.mark.parametrize("kept", [{"read_twice": True}, {"extent": 8}])
def test_convolutions_that_others_read_or_that_have_few_results_stay(kept: dict[str, Any]) -> None:
    module = parse(traced_kernel(summed([2, 3], padding=1, **kept), ["y"], wide=True))
    assert "convolution_kernel" in module.kernels


def averages(stride: int) -> dict[str, Any]:
    wide = (1000 - 9) // stride + 1
    nodes = [node("x", "input", [4, 8, 64, 1000]), node("pool_", "avg_pool2d", [4, 8, 64, wide], ref("x"), [1, 9])]
    nodes[1]["options"] = {"stride": [1, stride]}
    return {"nodes": nodes, "outputs": ["pool_"]}


def test_a_long_sum_for_a_few_tiles_is_split() -> None:
    text = traced_kernel(product(256, 1 << 19, 256), ["out"])
    assert "step[:, None] * 65536" in text  # the results of the parts are added


@pytest.mark.parametrize(
    ("document", "sizes"),
    [
        pytest.param(softmax(4096, 4096), {"num_warps=4"}, id="a row in registers"),
        pytest.param(softmax(4096, 393_216), {"BLOCK_2 = 4096", "num_warps=8"}, id="a row in blocks"),
        pytest.param(averages(stride=1), {"ELEMENTS = 256", "num_warps=4"}, id="windows beside one another"),
        pytest.param(averages(stride=8), {"COLUMNS=128", "tap[None, :]"}, id="windows far apart in a tile"),
    ],
)
def test_kernels_get_the_sizes_that_suit_their_rows(document: dict[str, Any], sizes: set[str]) -> None:
    module = parse(traced_kernel(document, ["y"]))
    first = routes(module, H200)[0]
    text = applied(module, "sequence", {"steps": [list(step) for step in first.steps]}).text
    assert all(size in text for size in sizes)


def test_layers_that_compute_the_same_share_a_kernel_and_sums_along_them_are_stored() -> None:
    nodes = [node("x", "input", [64, 32])]
    last = "x"
    for layer in range(6):
        weight = f"w{layer}"
        nodes.insert(layer, node(weight, "input", [32, 32]))
        nodes += [
            node(f"mm_{layer}", "mm", [64, 32], ref(last), ref(weight)),
            node(f"largest_{layer}", "amax", [64, 1], ref(f"mm_{layer}"), [1], True),
            node(f"less_{layer}", "sub", [64, 32], ref(f"mm_{layer}"), ref(f"largest_{layer}")),
            node(f"add_{layer}", "add", [64, 32], ref(last), ref(f"less_{layer}")),
        ]
        last = f"add_{layer}"
    text = traced_kernel({"nodes": nodes, "outputs": [last]}, ["y"])
    assert text.count("matmul_kernel") - text.count("def matmul_kernel") == 6
    assert text.count("@triton.jit") < 9
    assert text.count("tl.load") < 20
