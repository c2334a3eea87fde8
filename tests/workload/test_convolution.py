"""A convolution's sizes, bounds and reference follow from its definition, summed pixel by pixel."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from autocomp.errors import ConfigError
from autocomp.workload import InputSet, Workload, compute, make_inputs, parse
from autocomp.workload.convolution import convolution
from autocomp.workload.layout import operand_layouts
from autocomp.workload.reference import bounds as reference_bounds

DIMS = {"N": 1, "H": 5, "W": 6, "C": 4, "K": 6, "R": 3, "S": 2}


def either(number: st.SearchStrategy[int], count: int) -> st.SearchStrategy[int | list[int]]:
    """One number for all directions, or sides, of an image, or one for each."""
    return number | st.lists(number, min_size=count, max_size=count)


sizes = st.fixed_dictionaries(
    {
        "N": st.integers(1, 2), "H": st.integers(1, 7), "W": st.integers(1, 7), "C": st.integers(1, 3),
        "K": st.integers(1, 3), "R": st.integers(1, 3), "S": st.integers(1, 3),
    }
)  # fmt: skip
shapes = st.fixed_dictionaries(
    {
        "stride": either(st.integers(1, 3), 2),
        "padding": either(st.integers(0, 3), 4),
        "dilation": either(st.integers(1, 2), 2),
        "groups": st.sampled_from([1, 2]),
        "bias": st.sampled_from(["none", "row"]),
        "activation": st.sampled_from(["none", "relu"]),
        "scale": st.sampled_from([1.0, 0.01, -0.3]),
        "pool": st.sampled_from([None, {"size": 2, "stride": 1}, {"size": 3, "stride": 2, "padding": 2}]),
    }
)


def conv2d(dims: dict[str, int], **options: Any) -> Workload:
    document = {"operation": "conv2d", "accelerator": "some", "dims": dims, **options}
    return parse(yaml.safe_dump(document), Path("w.yaml"))


def fits(dims: dict[str, int], chosen: dict[str, Any]) -> bool:
    try:
        conv2d(dims, **chosen)
    except ConfigError:
        return False
    return True


class ByHand:
    """One result at a time with Python's integers; counts what it reads."""

    def __init__(self, workload: Workload, arrays: dict[str, np.ndarray]) -> None:
        self.dims, self.options, self.arrays = workload.dims, workload.options, arrays
        self.top, self.left, self.bottom, self.right = self.each("padding", 4)
        (self.down, self.along), (self.tall, self.wide) = self.each("stride", 2), self.each("dilation", 2)
        self.products: set[tuple[int, ...]] = set()
        self.pixels: set[tuple[int, ...]] = set()
        self.weights: set[tuple[int, ...]] = set()

    def each(self, option: str, count: int) -> list[int]:
        value = self.options[option]
        return value if isinstance(value, list) else [value] * count

    @property
    def extents(self) -> tuple[int, int]:
        dims = self.dims
        high = dims["H"] + self.top + self.bottom - self.tall * (dims["R"] - 1)
        wide = dims["W"] + self.left + self.right - self.wide * (dims["S"] - 1)
        return (high - 1) // self.down + 1, (wide - 1) // self.along + 1

    def result(self, n: int, p: int, q: int, k: int) -> int:
        dims, options, total = self.dims, self.options, 0
        depth, filters = dims["C"] // options["groups"], dims["K"] // options["groups"]
        for r in range(dims["R"]):
            for s in range(dims["S"]):
                y = p * self.down + r * self.tall - self.top
                x = q * self.along + s * self.wide - self.left
                if not (0 <= y < dims["H"] and 0 <= x < dims["W"]):
                    continue
                for c in range(depth):
                    channel = k // filters * depth + c
                    total += int(self.arrays["inp"][n, y, x, channel]) * int(self.arrays["weights"][r, s, c, k])
                    self.products.add((n, p, q, k, r, s, c))
                    self.pixels.add((n, y, x, channel))
                    self.weights.add((r, s, c, k))
        if options["bias"] == "row":
            total += int(self.arrays["bias"][0, k])
        total = (total + 2**31) % 2**32 - 2**31
        total = max(total, 0) if options["activation"] == "relu" else total
        return round(max(-128.0, min(127.0, float(np.float32(total) * np.float32(options["scale"])))))

    def output(self, n: int, p: int, q: int, k: int) -> int:
        pool = self.options["pool"]
        if pool is None:
            return self.result(n, p, q, k)
        high, wide = self.extents
        values = []
        for i in range(pool["size"]):
            for j in range(pool["size"]):
                y, x = p * pool["stride"] + i - pool["padding"], q * pool["stride"] + j - pool["padding"]
                values.append(self.result(n, y, x, k) if 0 <= y < high and 0 <= x < wide else 0)
        return max(values)


@settings(max_examples=60, deadline=None)
@given(dims=sizes, chosen=shapes, kind=st.sampled_from(["random", "extremes", "mixed", "large", "sparse"]))
def test_the_reference_and_the_work_are_those_of_the_definition(
    dims: dict[str, int], chosen: dict[str, Any], kind: str
) -> None:
    dims = dims | {letter: dims[letter] * chosen["groups"] for letter in "CK"}
    assume(fits(dims, chosen))
    workload = conv2d(dims, **chosen)
    arrays = make_inputs(workload, InputSet(kind, kind, 0))
    expected = compute(workload, arrays)["output"]
    by_hand = ByHand(workload, arrays)
    for index in np.ndindex(expected.shape):
        assert expected[index] == by_hand.output(*index), index
    assert workload.multiply_accumulates == len(by_hand.products)
    lengths = Counter(Counter(product[:4] for product in by_hand.products).values())
    assert {n: m for n, m in convolution(workload.dims, workload.options).sums.items() if n} == lengths
    read = len(by_hand.pixels) + len(by_hand.weights)
    assert workload.unused_bytes == arrays["inp"].nbytes + arrays["weights"].nbytes - read


def test_sides_that_are_equal_are_one_number() -> None:
    assert conv2d(DIMS, padding=[1, 1, 1, 1], stride=[2, 2]).options == conv2d(DIMS, padding=1, stride=2).options


def test_tensors_stand_in_signature_order() -> None:
    workload = conv2d(DIMS, bias="row", stride=2, padding=1, groups=2, pool={"size": 2, "stride": 1})
    assert [(t.name, t.dtype, t.shape, t.role) for t in workload.tensors] == [
        ("inp", "int8", (1, 5, 6, 4), "input"),
        ("weights", "int8", (3, 2, 2, 6), "input"),
        ("bias", "int32", (1, 6), "input"),
        ("output", "int8", (1, 2, 3, 6), "output"),
    ]


def test_pixels_that_a_stride_leaves_out_are_not_part_of_the_work() -> None:
    workload = conv2d({"N": 1, "H": 8, "W": 8, "C": 4, "K": 4, "R": 1, "S": 1}, stride=2)
    assert workload.multiply_accumulates == 4 * 4 * 4 * 4
    assert workload.unused_bytes == (64 - 16) * 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": 4}, "key 'groups': found 4, expected a divisor of C = 4 and of K = 6"),
        ({"dilation": 3}, "the filter reaches over 7 pixels along H, the image and its padding have 5"),
        ({"pool": {"size": 4, "stride": 1}}, "key 'pool.size': found 4, but along H there are 3 results to pool"),
        ({"pool": {"size": 2, "stride": 1, "padding": 2}}, "key 'pool.padding': found 2, expected less than"),
        ({"pool": {"size": 2}}, "key 'pool.stride' is missing"),
        ({"pool": {"size": 2, "strides": 1}}, "did you mean 'stride'"),
        (
            {"padding": -1},
            "key 'padding': found -1, expected a whole number from 0 to 1048576, or a list",
        ),
        ({"padding": [1, 1]}, "key 'padding': found [1, 1], expected a whole number from 0"),
        ({"stride": [1, 0]}, "key 'stride': found [1, 0], expected a whole number from 1"),
        ({"paddding": 1}, "did you mean 'padding'"),
        ({"bias": "full"}, "key 'bias': found 'full', expected one of: 'none' or 'row'"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        conv2d(DIMS, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "options", [{}, {"padding": 1, "bias": "row", "groups": 2}, {"stride": 2, "activation": "relu"}]
)
def test_sums_of_floats_and_of_int32_are_those_of_the_definition(options: dict[str, Any]) -> None:
    whole = conv2d(DIMS, result="int32", **options)
    real = conv2d(DIMS, dtype="float32", **options)
    arrays = make_inputs(whole, InputSet("sparse", "sparse", 0))
    floats = {name: array.astype(np.float32) for name, array in arrays.items()}
    expected = compute(whole, arrays)["output"]
    assert expected.dtype == np.int32
    assert np.array_equal(compute(real, floats)["output"], expected.astype(np.float32))
    bounds = reference_bounds(real, floats, compute(real, floats))["output"]
    assert bounds.shape == expected.shape
    assert not bounds.any()  # integers of this size are exact in any order


def test_bounds_of_pooled_floats_are_those_of_the_values_that_are_compared() -> None:
    plain = conv2d(DIMS, dtype="bfloat16", result="float32")
    pooled = conv2d(DIMS, dtype="bfloat16", result="float32", pool={"size": 2, "stride": 1})
    arrays = make_inputs(plain, InputSet("random", "random", 0))
    every = reference_bounds(plain, arrays, compute(plain, arrays))["output"]
    some = reference_bounds(pooled, arrays, compute(pooled, arrays))["output"]
    assert some[0, 0, 0, 0] == every[0, :2, :2, 0].max() > 0


def test_operands_with_a_layout_give_the_same_result() -> None:
    layout = {"inp": "N C H W", "weights": "R S K/4 C K%4"}
    plain, stored = conv2d(DIMS, padding=1), conv2d(DIMS, padding=1, layout=layout)
    assert [tensor.shape for tensor in stored.tensors] == [(1, 4, 5, 6), (3, 2, 2, 4, 4), (1, 5, 7, 6)]
    arrays = make_inputs(plain, InputSet("random", "random", 0))
    packed = {name: found.store(arrays[name]) for name, found in operand_layouts(layout, plain.dims).items()}
    assert np.array_equal(compute(stored, {**arrays, **packed})["output"], compute(plain, arrays)["output"])
    assert stored.unused_bytes == plain.unused_bytes + 3 * 2 * 4 * 2  # filters 6 and 7 do not exist


def test_usual_types_and_layouts_leave_a_convolution_s_identity() -> None:
    assert conv2d(DIMS).digest == conv2d(DIMS, dtype="int8", result="int8", layout={}).digest
    assert conv2d(DIMS).digest != conv2d(DIMS, layout={"inp": "N C H W"}).digest
