"""Naive kernels are right whatever the shape and the options, and never beat the bound."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autocomp.errors import ConfigError
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.evaluate import SimulatorEvaluator, bound, peak_multiply_accumulates
from autocomp.targets.simulator.evaluate.chain import chain
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.workload import Workload, load, parse
from autocomp.workload.convolution import each

MACHINES = {name: isa.load(name) for name in ("gemmini", "tiny", "gemmini:fp32")}

GEMMINI = chain(MACHINES["gemmini"])
ARRAY = 8 + 32  # cycles before the first row enters the array, and from there to its last row of processing elements

SHIPPED = [
    "gemm_100x70x30",
    "gemm_bias_relu",
    "gemm_fp32_edges",
    "tiny_gemm",
    "tiny_gemm_edges",
    "tiny_add",
    "tiny_conv",
]

options = st.fixed_dictionaries(
    {
        "bias": st.sampled_from(["none", "row", "full"]),
        "activation": st.sampled_from(["none", "relu"]),
        "scale": st.sampled_from([1.0, 0.125, 0.01, -0.5]),
        "transpose_a": st.booleans(),
        "transpose_b": st.booleans(),
    }
)


def gemm(machine: str, dims: tuple[int, int, int], chosen: dict[str, object]) -> Workload:
    i, j, k = dims
    dtype = "float32" if machine.endswith("fp32") else "int8"
    text = f"operation: gemm\naccelerator: {machine}\ndtype: {dtype}\ndims: {{I: {i}, J: {j}, K: {k}}}\n"
    return parse(text + "".join(f"{key}: {value}\n" for key, value in chosen.items()), Path("w.yaml"))


@pytest.mark.parametrize("machine", MACHINES)
@settings(max_examples=20, deadline=None)
@given(dims=st.tuples(st.integers(1, 36), st.integers(1, 20), st.integers(1, 36)), chosen=options)
def test_any_shape_and_option(machine: str, dims: tuple[int, int, int], chosen: dict[str, object]) -> None:
    workload = gemm(machine, dims, chosen)
    accelerator = MACHINES[machine]
    evaluation = SimulatorEvaluator(accelerator, workload).evaluate(starting_kernel(workload, accelerator))
    assert evaluation.correct, evaluation.failure
    assert evaluation.value is not None
    assert evaluation.bound is not None
    assert evaluation.bound.value <= evaluation.value


@pytest.mark.parametrize("chosen", [{"scale": 0.5, "activation": "relu"}, {"transpose_a": False}], ids=str)
def test_operands_of_bfloat16_are_summed_in_binary32(chosen: dict[str, object]) -> None:
    given = {"dtype": "bfloat16", "transpose_a": True, "set": "{PARTITIONS: 8, MOVING: 16}", **chosen}
    text = "operation: gemm\naccelerator: neuroncore\ndims: {I: 10, J: 20, K: 12}\n"
    start_is_right(parse(text + "".join(f"{key}: {value}\n" for key, value in given.items()), Path("w.yaml")))


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_workloads_start_right(name: str) -> None:
    start_is_right(load(name))


@pytest.mark.parametrize("size", [4, 8, 32, 64])
def test_arrays_of_other_sizes_start_right(size: int) -> None:
    start_is_right(gemm("gemmini", (70, 64, 150), {"set": f"{{DIM: {size}, SPAD_KB: 512}}"}))


@pytest.mark.parametrize("size", [4, 8, 16, 32])
def test_binary32_arrays_of_other_sizes_start_right(size: int) -> None:
    start_is_right(gemm("gemmini:fp32", (35, 70, 33), {"set": f"{{DIM: {size}, SPAD_KB: 512}}", "bias": "row"}))


@pytest.mark.parametrize(("machine", "dtype"), [("gemmini", "float32"), ("gemmini:fp32", "int8")])
def test_a_machine_without_such_elements_is_named(machine: str, dtype: str) -> None:
    text = f"operation: gemm\naccelerator: {machine}\ndtype: {dtype}\ndims: {{I: 4, J: 4, K: 4}}"
    with pytest.raises(ConfigError, match=f"no local memory of '{machine}' holds elements of {dtype}: spad holds"):
        starting_kernel(parse(text, Path("w.yaml")), MACHINES[machine])


def either(number: st.SearchStrategy[int], count: int) -> st.SearchStrategy[int | list[int]]:
    """One number for all directions, or sides, of an image, or one for each."""
    return number | st.lists(number, min_size=count, max_size=count)


convolutions = st.fixed_dictionaries(
    {
        "N": st.integers(1, 2),
        "H": st.integers(3, 6),
        "W": st.integers(3, 18),
        "C": st.integers(1, 9),
        "K": st.integers(1, 9),
        "R": st.integers(1, 3),
        "S": st.integers(1, 3),
        "stride": either(st.integers(1, 3), 2),
        "padding": either(st.integers(0, 2), 4),
        "dilation": either(st.integers(1, 2), 2),
        "groups": st.sampled_from([1, 1, 2, 3]),
        "bias": st.sampled_from(["none", "row"]),
        "activation": st.sampled_from(["none", "relu"]),
        "scale": st.sampled_from([1.0, 0.03125, -0.5]),
        "pool": st.sampled_from([None, None, {"size": 2, "stride": 2}, {"size": 3, "stride": 2, "padding": 1}]),
    }
)


ONE_TAP = {"N": 1, "H": 8, "W": 8, "C": 4, "K": 4, "R": 1, "S": 1}


def conv2d(machine: str, chosen: dict[str, Any]) -> Workload:
    """The workload of sizes and options; filters are widened to fit the groups, images to fit filters and windows."""
    sizes = {letter: chosen[letter] for letter in "NHWCKRS"}
    pool = chosen.get("pool")
    for pixels, taps, dilation in zip("HW", "RS", each(chosen.get("dilation", 1), 2), strict=True):
        reach = dilation * (sizes[taps] - 1) + 1 + (pool["size"] - 1 if pool else 0) * 3
        sizes[pixels] = max(sizes[pixels], reach)
    for letter in "CK":
        sizes[letter] *= chosen.get("groups", 1)
    rest = {key: value for key, value in chosen.items() if key not in sizes}
    host = "compute" if pool and MACHINES[machine].idiom("conv_pool_store") is None else "control"
    document = {"operation": "conv2d", "accelerator": machine, "host": host, "dims": sizes, **rest}
    return parse(yaml.safe_dump(document), Path("w.yaml"))


@pytest.mark.parametrize("machine", ["gemmini", "tiny"])
@settings(max_examples=15, deadline=None)
@given(chosen=convolutions)
def test_any_convolution(machine: str, chosen: dict[str, Any]) -> None:
    workload = conv2d(machine, chosen)
    accelerator = MACHINES[machine]
    evaluation = SimulatorEvaluator(accelerator, workload).evaluate(starting_kernel(workload, accelerator))
    assert evaluation.correct, evaluation.failure
    assert evaluation.value is not None
    assert evaluation.bound is not None
    assert evaluation.bound.value <= evaluation.value


@settings(max_examples=15, deadline=None)
@given(
    chosen=convolutions,
    size=st.integers(1, 3),
    stride=st.integers(1, 3),
    padding=st.integers(0, 2),
    width=st.integers(8, 30),
)
@example(chosen=ONE_TAP, size=1, stride=3, padding=0, width=9)  # all pooled results need less than all sums
@example(chosen=ONE_TAP, size=3, stride=3, padding=0, width=22)
def test_pooling_stores_take_what_fits(
    chosen: dict[str, Any], size: int, stride: int, padding: int, width: int
) -> None:
    """64 rows of sums hold some rows of a narrow image, and a part of a row of a wide one."""
    pool = {"size": size, "stride": stride, "padding": min(padding, size - 1)}
    workload = conv2d("gemmini", chosen | {"W": width, "S": 1, "pool": pool, "set": {"ACC_KB": 4}})
    start_is_right(workload)


def test_a_machine_that_cannot_pool_needs_a_host_that_may_compute() -> None:
    chosen = dict.fromkeys("NHWCK", 6) | {"R": 1, "S": 1, "pool": {"size": 2, "stride": 2}}
    pooled = conv2d("tiny", chosen)
    assert "int most" in starting_kernel(pooled, MACHINES["tiny"])
    with pytest.raises(ConfigError, match="tiny has no store that pools 2 x 2 windows"):
        starting_kernel(dataclasses.replace(pooled, host="control"), MACHINES["tiny"])


def start_is_right(workload: Workload) -> None:
    accelerator = isa.load(workload.accelerator, workload.overrides)
    evaluation = SimulatorEvaluator(accelerator, workload).evaluate(starting_kernel(workload, accelerator))
    assert evaluation.correct, evaluation.failure


def test_the_bound_of_a_large_product_is_that_of_the_multipliers() -> None:
    found = bound(load("gemm_512"), MACHINES["gemmini"])
    assert found.parts == {
        "compute": 512**3 // 256 + ARRAY,
        "memory": 2 * 512 * 512 // 16 + GEMMINI.product - 1,
        "ends": GEMMINI.ends,
    }
    assert found.value == found.parts["compute"] + found.parts["ends"]
    assert "134217728 multiply-accumulates at 256 a cycle" in found.explanation
    assert "the multipliers set the bound" in found.explanation


def test_the_bound_of_a_flat_product_is_that_of_the_bus() -> None:
    found = bound(gemm("gemmini", (4, 1024, 16), {}), MACHINES["gemmini"])
    assert found.parts["memory"] == (4 * 16 + 16 * 1024) // 16 + GEMMINI.product - 1
    assert found.value == found.parts["memory"] + GEMMINI.ends
    assert "the memory bus sets the bound" in found.explanation


@pytest.mark.parametrize(("depth", "rows"), [(16, 1), (17, 2), (32, 2), (1, 1)])
def test_a_row_of_the_array_adds_at_most_its_depth_to_a_sum(depth: int, rows: int) -> None:
    found = bound(gemm("gemmini", (24, 40, depth), {}), MACHINES["gemmini"])
    assert found.parts["compute"] == 24 * 40 * rows // 16 + ARRAY


def test_sums_at_the_edges_of_a_padded_image_are_shorter() -> None:
    """A 3 x 3 filter over 4 channels: 36 products are 3 rows of the array, the 24 and 16 at edges are 2 and 1."""
    dims = {"N": 1, "H": 6, "W": 6, "C": 4, "K": 16, "R": 3, "S": 3}
    found = bound(conv2d("gemmini", dims | {"padding": 1}), MACHINES["gemmini"])
    assert found.parts["compute"] == 16 * (16 * 3 + 16 * 2 + 4 * 1) // 16 + ARRAY


def test_a_sum_of_17_products_needs_five_commands_of_four() -> None:
    other = bound(gemm("tiny", (24, 40, 17), {}), MACHINES["tiny"])
    assert other.parts["compute"] == 24 * 40 * 20 // 16 + 4  # a cycle to begin, the latency of the last, one to see it
    assert "rows of at most" not in other.explanation
    assert "each command adds at most 4 products at a time to a sum" in other.explanation


def test_a_bus_that_no_request_fills_carries_less_than_its_width() -> None:
    """A request of 128 bytes is three beats of 48 bytes, one of 256 is six: 42 2/3 bytes a cycle. Of the requests to
    store, 64 may be acknowledged after the last data, and one more for each six cycles until their first result."""
    machine = isa.load("tpu_v1")
    found, links = bound(gemm("tpu_v1", (512, 512, 512), {"scale": 0.0078125}), machine), chain(machine)
    later = 64 + (links.product + links.ends - 2 * 70) / 6
    data = 2 * 512 * 512 * 3 / 128 + 512 * 512 / 256
    assert found.parts["memory"] == math.ceil(data - later) + links.product - 1
    assert "42.6667 a cycle" in found.explanation


def test_starting_and_limiting_sums_counts_where_the_unit_of_the_products_does_it() -> None:
    """Each row of 16 sums is a pass to start it, and one for each end of int8."""
    found = bound(gemm("vta", (64, 32, 128), {}), isa.load("vta"))
    assert found.parts["compute"] == 64 * 32 * 128 // 256 + 3 * 64 * 32 // 16 + 2  # to begin, and to see the last
    assert "starting sums and limiting results" in found.explanation


def test_the_peak_follows_the_array() -> None:
    assert peak_multiply_accumulates(MACHINES["gemmini"]) == 256
    assert peak_multiply_accumulates(isa.load("gemmini", {"DIM": 32})) == 1024
    assert peak_multiply_accumulates(MACHINES["tiny"]) == 16
