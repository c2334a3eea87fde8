"""Whole quantised layers in C: zero points, bounds and scales at run time, equal to ONNX Runtime's results."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from autocomp import workload
from autocomp.export import Schedule, check_export, export_files, of_kernel
from autocomp.export.host import Host, compile_library
from autocomp.export.numbers import Numbers
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.target import SimulatorTarget
from autocomp.workload import Workload

MACHINE = isa.load("gemmini")
SUMS = """
operation: gemm
accelerator: gemmini
dims: {I: 9, J: 11, K: 20}
result: int32
"""
CONVOLUTION = """
operation: conv2d
accelerator: gemmini
dims: {N: 1, H: 6, W: 5, C: 4, K: 6, R: 3, S: 2}
stride: [2, 1]
padding: [1, 0, 1, 1]
groups: 2
bias: row
result: int32
"""
RESULTS = """
operation: gemm
accelerator: gemmini
dims: {I: 9, J: 11, K: 20}
bias: row
activation: relu
scale: 0.02
"""
STRICT = ("-Wextra", "-Wconversion", "-Wmissing-prototypes", "-Werror", "-fsyntax-only")
Arrays = Mapping[str, np.ndarray[Any, Any]]


def asked(text: str) -> Workload:
    return workload.parse(text, Path("w.yaml"))


def schedule(text: str) -> Schedule:
    one = asked(text)
    return of_kernel(starting_kernel(one, MACHINE), "kernel.c", one, SimulatorTarget(MACHINE))


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    """The functions of three families, compiled as a strict compiler wants them."""
    schedules = [schedule(text) for text in (SUMS, CONVOLUTION, RESULTS)]
    folder = tmp_path_factory.mktemp("layers")
    files = export_files(schedules, MACHINE, None)
    check_export(schedules, files, MACHINE)
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    sources, included = sorted(folder.glob("*.c")), [folder, folder / "host"]
    compile_library(sources, included, folder / "strict.so", STRICT)
    compile_library([*sources, folder / "host" / "recorder.c"], included, folder / "layers.so")
    return Host(folder / "layers.so", MACHINE)


def called(host: Host, one: Workload, function: str, arrays: Arrays, numbers: Numbers) -> tuple[int, np.ndarray]:
    """The value that the function returns, and the results."""
    output = one.outputs[0]
    memory = {
        **{name: array.copy() for name, array in arrays.items()},
        output.name: np.zeros(output.shape, output.dtype),
    }
    sums = output.dtype == "int32"
    results = np.zeros(output.shape, np.int8) if sums else memory[output.name]
    structure = numbers.structure()
    others = [*([ctypes.c_void_p(results.ctypes.data)] if sums else []), ctypes.byref(structure)]
    sizes = tuple(one.dims.values())
    return host.call(function, one.tensors, memory, sizes, others=others), results


def by_onnx_runtime(operator: str, inputs: Arrays, scalars: Mapping[str, Any], order: str, **attributes: Any) -> Any:
    """The result of one node; `order` has the names of its inputs."""
    values = {**inputs, **scalars}
    nodes = [helper.make_node(operator, order.split(), ["y"], **attributes)]
    first, *others = dict.fromkeys(order.split())
    given = [helper.make_tensor_value_info(first, TensorProto.INT8, values[first].shape)]
    constants = [numpy_helper.from_array(values[name].copy(), name) for name in others]
    result = [helper.make_tensor_value_info("y", TensorProto.INT8, None)]
    graph = helper.make_graph(nodes, "one", given, result, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {first: values[first]})[0]


def scalars(numbers: Numbers) -> dict[str, np.ndarray[Any, Any]]:
    """The numbers as ONNX has them: the scales are those of the right operand, beside 1 and 1."""
    scales = np.array(numbers.scales, np.float32)
    return {
        "one": np.float32(1).reshape(()),
        "s": scales if scales.size > 1 else scales.reshape(()),
        "l": np.int8(numbers.left_zero).reshape(()),
        "r": np.full(scales.shape, numbers.right_zero, np.int8)
        if scales.size > 1
        else np.array(numbers.right_zero, np.int8),
        "z": np.int8(numbers.result_zero).reshape(()),
    }


def drawn(seed: int, columns: int) -> tuple[np.random.Generator, Numbers]:
    """Any zero points, and the bounds of int8, which are ONNX's."""
    generator = np.random.default_rng(seed)
    return generator, replace(Numbers.drawn(generator, columns, whole=True), least=-128, most=127)


@pytest.mark.parametrize("seed", range(6))
def test_a_matrix_product_with_zero_points_and_scales_is_onnx_runtimes(host: Host, seed: int) -> None:
    one = asked(SUMS)
    generator, numbers = drawn(seed, 11)
    arrays = {t.name: generator.integers(-128, 127, t.shape, np.int8, endpoint=True) for t in one.tensors[:2]}
    returned, results = called(host, one, "gemm_result_int32_quantised", arrays, numbers)
    expected = by_onnx_runtime("QLinearMatMul", arrays, scalars(numbers), "A one l B s r one z")
    assert returned == 0
    np.testing.assert_array_equal(results, expected)


@pytest.mark.parametrize("seed", range(6))
def test_a_padded_convolution_with_zero_points_and_scales_is_onnx_runtimes(host: Host, seed: int) -> None:
    one = asked(CONVOLUTION)
    generator, numbers = drawn(seed, 6)
    arrays = {t.name: generator.integers(-128, 127, t.shape, np.int8, endpoint=True) for t in one.tensors[:2]}
    arrays["bias"] = generator.integers(-9999, 9999, (1, 6), np.int32)
    function = schedule_family(CONVOLUTION) + "_quantised"
    returned, results = called(host, one, function, arrays, numbers)
    images = {
        "x": arrays["inp"].transpose(0, 3, 1, 2),
        "w": arrays["weights"].transpose(3, 2, 0, 1),
        "b": arrays["bias"][0],
    }
    settings = {"group": 2, "strides": [2, 1], "pads": [1, 0, 1, 1]}
    expected = by_onnx_runtime("QLinearConv", images, scalars(numbers), "x one l w s r one z b", **settings)
    assert returned == 0
    np.testing.assert_array_equal(results, expected.transpose(0, 2, 3, 1))
    assert len(np.unique(results)) > 1


def schedule_family(text: str) -> str:
    one = asked(text)
    return Schedule(one.operation, one.dims, one.options, one.tensors, {}, "", "", 1, 1).family


@pytest.mark.parametrize(
    ("text", "function", "numbers"),
    [
        (SUMS, "gemm_result_int32_quantised", Numbers((0.5, 0.25))),
        (SUMS, "gemm_result_int32_quantised", Numbers((0.5,), most=128)),
        (SUMS, "gemm_result_int32_quantised", Numbers((float("nan"),))),
        (RESULTS, "gemm_activation_relu_bias_row_scale_quantised", Numbers((0.5,), left_zero=1)),
        (RESULTS, "gemm_activation_relu_bias_row_scale_quantised", Numbers((0.5,), result_zero=-128)),
        (RESULTS, "gemm_activation_relu_bias_row_scale_quantised", Numbers((0.5,) * 11)),
    ],
)
def test_numbers_that_the_kernels_cannot_have_are_refused(
    host: Host, text: str, function: str, numbers: Numbers
) -> None:
    one = asked(text)
    arrays = {t.name: np.ones(t.shape, t.dtype) for t in one.tensors if t.role == "input"}
    returned, results = called(host, one, function, arrays, numbers)
    assert returned == -1
    assert not results.any()


def test_relu6_and_a_zero_point_follow_from_results_in_int8(host: Host) -> None:
    one = asked(RESULTS)
    generator = np.random.default_rng(1)
    arrays = {t.name: generator.integers(-128, 127, t.shape, t.dtype) for t in one.tensors if t.role == "input"}
    numbers = Numbers((0.01,), result_zero=-8, least=-8, most=52)
    returned, results = called(host, one, "gemm_activation_relu_bias_row_scale_quantised", arrays, numbers)
    sums = arrays["A"].astype(np.int32) @ arrays["B"].astype(np.int32) + arrays["bias"]
    assert returned == 0
    np.testing.assert_array_equal(results, np.clip(np.rint(sums.astype(np.float32) * np.float32(0.01)), 0, 60) - 8)
