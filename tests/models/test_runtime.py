"""A quantised model of which ONNX Runtime and our kernels each run a part: the results are ONNX Runtime's own."""

from __future__ import annotations

import importlib.util
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from autocomp.data import data_dir
from autocomp.errors import ConfigError
from autocomp.models import Operation, import_model
from autocomp.models.kernels import TURNED, adapted_kernel, known_kernel
from autocomp.models.quantise import quantise, read_samples
from autocomp.models.runtime import PartitionedModel, session
from autocomp.schedules.measured import machine_of
from autocomp.schedules.record import ScheduleRecord
from autocomp.schedules.store import Store
from autocomp.targets.registry import load_target
from autocomp.workload import Workload, parse

MACHINE = load_target("simulator:gemmini")
IMAGE = (1, 5, 9, 7)


def small_network(
    folder: Path,
    zeros: tuple[int, int, int] = (0, 0, 0),
    strides: tuple[int, int] = (2, 2),
    scales: int = 1,
    dtype: type[np.integer[Any]] = np.int8,
) -> Path:
    """Quantise, a 3x3 convolution with bias, RELU, one of a single tap, flatten, multiply, dequantise. The first has
    an input and a result of the type, and these zero points of its input, weights and result; one without a sign is
    the last."""
    generator = np.random.default_rng(3)

    def weights(*shape: int) -> np.ndarray:
        return generator.integers(-63, 64, shape, np.int8)

    constants: dict[str, Any] = {
        "s": np.float32(0.03),
        "t": np.float32(0.9),
        "z": np.int8(0),
        "zx": dtype(zeros[0]),
        "zc": dtype(zeros[2]),
        "w": weights(6, 5, 3, 3),
        "ws": np.linspace(0.01, 0.03, scales, dtype=np.float32) if scales > 1 else np.float32(0.02),
        "wz": np.full(scales, zeros[1], np.int8) if scales > 1 else np.int8(zeros[1]),
        "b": generator.integers(-999, 999, 6, np.int32),
        "v": weights(4, 6, 1, 1),
        "m": weights(4 * 5 * 4 if strides == (2, 2) else 4 * 5 * 7, 10),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "zx"], ["q"]),
        helper.make_node(
            "QLinearConv",
            ["q", "s", "zx", "w", "ws", "wz", "t", "zc", "b"],
            ["c"],
            "first",
            pads=[1] * 4,
            strides=strides,
        ),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("QLinearConv", ["r", "t", "z", "v", "s", "z", "t", "z"], ["d"], "second"),
        helper.make_node("Flatten", ["d"], ["f"]),
        helper.make_node("QLinearMatMul", ["f", "t", "z", "m", "s", "z", "t", "z"], ["p"], "third"),
        helper.make_node("DequantizeLinear", ["p", "t", "z"], ["y"]),
    ]
    shape = [1, 10]
    if dtype == np.uint8:
        nodes[2:] = [helper.make_node("DequantizeLinear", ["c", "t", "zc"], ["y"])]
        shape = [1, 6, 5, 4]
    used = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, IMAGE)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.asarray(constants[name]), name) for name in sorted(used & constants.keys())],
    )
    path = folder / "small.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=3), path)
    return path


def equal_to_onnx_runtime(path: Path, model: PartitionedModel, **inputs: np.ndarray) -> None:
    (expected,) = session(str(path)).run(None, inputs)
    (output,) = model.run(inputs).outputs.values()
    np.testing.assert_array_equal(output, expected)
    assert len(np.unique(expected)) > 1


def image(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(IMAGE).astype(np.float32)


def test_convolutions_and_multiplications_are_taken_over_with_the_same_result(tmp_path: Path) -> None:
    path = small_network(tmp_path)
    model = PartitionedModel(path, MACHINE)
    assert [(t.offload.node, t.offload.workload.operation) for t in model.taken] == [
        ("first", "conv2d"),
        ("second", "gemm"),
        ("third", "gemm"),
    ]
    assert model.stays == {}
    equal_to_onnx_runtime(path, model, x=image(0))
    equal_to_onnx_runtime(path, model, x=image(1))
    assert model.run({"x": image()}, timed=True).cycles.keys() == {"first", "second", "third"}


def test_strides_that_differ_from_rows_to_columns_have_the_same_result(tmp_path: Path) -> None:
    path = small_network(tmp_path, strides=(2, 1))
    model = PartitionedModel(path, MACHINE)
    assert model.stays == {}
    equal_to_onnx_runtime(path, model, x=image())


@pytest.mark.parametrize(
    "network",
    [
        {"zeros": (3, 0, 0)},
        {"zeros": (0, 1, 20)},
        {"zeros": (-7, 1, 5), "scales": 6},
        {"zeros": (200, 0, 7), "dtype": np.uint8},
    ],
)
def test_zero_points_and_scales_for_each_channel_are_left_to_the_host_with_the_same_result(
    tmp_path: Path, network: dict[str, Any]
) -> None:
    path = small_network(tmp_path, **network)
    model = PartitionedModel(path, MACHINE)
    assert model.stays == {}
    first = model.taken[0].offload
    assert (first.workload.outputs[0].dtype, first.output) == ("int32", "c")
    assert any(dict(operation.options).get("result") == "int32" for operation in import_model(path).operations)
    equal_to_onnx_runtime(path, model, x=image())


def test_what_a_kernel_would_not_compute_exactly_stays_with_its_reason(tmp_path: Path) -> None:
    path = small_network(tmp_path, zeros=(0, -100, 0))
    model = PartitionedModel(path, MACHINE)
    assert [t.offload.node for t in model.taken] == ["second", "third"]
    assert model.stays == {"first": "its second operand less its zero point does not fit int8"}
    equal_to_onnx_runtime(path, model, x=image())


def test_a_known_schedule_is_used_before_the_naive_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOCOMP_SCHEDULES", str(tmp_path / "schedules"))
    path = small_network(tmp_path)
    workload = PartitionedModel(path, MACHINE).taken[2].offload.workload
    kept, _ = Store(tmp_path / "schedules").put(record(workload))
    model = PartitionedModel(path, MACHINE)
    assert [t.source for t in model.taken] == ["naive", "naive", kept.name]
    assert model.taken[2].kernel.startswith("// known")
    equal_to_onnx_runtime(path, model, x=image())


def test_a_schedule_for_another_description_of_the_machine_is_used_only_if_it_is_right_on_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOCOMP_SCHEDULES", str(tmp_path / "schedules"))
    text = Operation("gemm", (("I", 16), ("J", 16), ("K", 16)), ()).text("gemmini")
    workload = parse(text, Path("gemm.yaml"))
    made = record(workload)
    other = made.model_copy(update={"target": made.target.model_copy(update={"digest": "another"})})
    kept, _ = Store(tmp_path / "schedules").put(other)
    assert known_kernel(workload, MACHINE) == (other.kernel, kept.name)
    kept.unlink()
    wrong = other.model_copy(update={"kernel": other.kernel.replace("mvout(", "mvin(")})
    Store(tmp_path / "schedules").put(wrong)
    with pytest.warns(UserWarning, match="another description of gemmini, and wrong on this one"):
        assert known_kernel(workload, MACHINE) == (MACHINE.starting_kernel(workload), "naive")


def test_without_one_the_plans_of_the_nearest_schedule_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOCOMP_SCHEDULES", str(data_dir("schedules")))
    text = Operation("gemm", (("I", 100), ("J", 64), ("K", 96)), (("bias", "row"), ("scale", 0.03))).text("gemmini")
    workload = parse(text, Path("gemm.yaml"))
    text, source = adapted_kernel(workload, MACHINE)
    assert source.startswith("as gemmini/gemm/")
    evaluator = MACHINE.evaluator(workload)
    adapted, naive = evaluator.evaluate(text), evaluator.evaluate(MACHINE.starting_kernel(workload))
    assert adapted.correct
    assert adapted.value is not None
    assert naive.value is not None
    assert adapted.value < naive.value


def test_the_schedule_of_the_other_activation_is_tried_before_these(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOCOMP_SCHEDULES", str(tmp_path / "schedules"))
    product = Operation("gemm", (("I", 16), ("J", 16), ("K", 16)), (("activation", "relu"),)).text("gemmini")
    kept = record(parse(product, Path("gemm.yaml")))
    Store(tmp_path / "schedules").put(kept)
    plain = parse(product.replace("relu", "none"), Path("gemm.yaml"))
    text, source = adapted_kernel(plain, MACHINE)
    assert (source, text.count("RELU")) == (TURNED, 0)
    assert kept.kernel.count("RELU") == 1


def record(workload: Workload) -> ScheduleRecord:
    return ScheduleRecord.model_validate(
        {
            "target": machine_of(MACHINE),
            "operation": {
                "name": workload.operation,
                "dims": workload.dims,
                "options": workload.options,
                "tensors": [
                    {"name": t.name, "dtype": t.dtype, "shape": t.shape, "role": t.role} for t in workload.tensors
                ],
            },
            "result": {
                "objective": {"unit": "cycles", "direction": "lower"}, "value": 900, "naive": 1000, "bound": 100,
                "ratio": 0.1, "utilisation": 0.1, "stages": {},
            },
            "plans": [],
            "provenance": {
                "strategy": "beam", "seed": 0, "planner": "rules", "coder": "rules", "evaluations": 1, "versions": {},
                "created": datetime(2026, 1, 1, tzinfo=timezone.utc).isoformat(),
            },
            "kernel": f"// known\n{MACHINE.starting_kernel(workload)}",
        }
    )  # fmt: skip


def float_network(folder: Path) -> Path:
    """A convolution with its normalisation, and two layers; RELU behind the first two. The number of images is open.
    The file is of an old version of ONNX, whose constants are inputs too, and whose RELU takes no integers."""
    generator = np.random.default_rng(5)
    constants = {
        "w": generator.standard_normal((8, 5, 3, 3)),
        "m": generator.standard_normal((8, 6)),
        "o": generator.standard_normal((6, 3)),
        **{name: generator.uniform(0.5, 1.5, 8) for name in ("scale", "shift", "mean", "variance")},
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4),
        helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("MatMul", ["f", "m"], ["p"]),
        helper.make_node("Relu", ["p"], ["h"]),
        helper.make_node("MatMul", ["h", "o"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "float",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", *IMAGE[1:]]),
            *(helper.make_tensor_value_info(n, TensorProto.FLOAT, array.shape) for n, array in constants.items()),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in constants.items()],
    )
    path = folder / "float.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=3), path)
    return path


def test_a_float_model_is_quantised_so_that_kernels_take_it_over_whole(tmp_path: Path) -> None:
    path, target = float_network(tmp_path), tmp_path / "int8.onnx"
    quantise(path, target, [{"x": image(0)}, {"x": image(1)[0]}, {"x": image(2)[0]}])  # a batch, or one image of it
    assert {o.kind for o in import_model(target).operations} == {"conv2d", "gemm"}
    assert "Relu" not in {h.name for h in import_model(target).host}
    model = PartitionedModel(target, MACHINE)
    assert [t.offload.workload.options["activation"] for t in model.taken] == ["relu", "relu", "none"]
    assert model.taken[1].offload.output == model.taken[2].offload.input  # no rounding between the two layers
    assert model.stays == {}
    equal_to_onnx_runtime(target, model, x=image(7))
    before = session(str(path)).run(None, {"x": image(2)})[0]
    assert np.abs(model.run({"x": image(2)}).outputs["y"] - before).max() < 0.05 * np.abs(before).max()


def test_samples_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path, target = float_network(tmp_path), tmp_path / "int8.onnx"
    with pytest.raises(ConfigError, match="a sample of x is 8 x 8, and the model's input has 4 axes"):
        quantise(path, target, [{"x": np.zeros((8, 8))}])
    with pytest.raises(ConfigError, match="the samples have z; the model's inputs are x"):
        quantise(path, target, [{"z": image(0)}])
    np.savez(tmp_path / "samples.npz", x=np.zeros((2, 3)), y=np.zeros((3, 3)))
    with pytest.raises(ConfigError, match="expected samples of each input, equally many"):
        read_samples(tmp_path / "samples.npz")
    np.savez(tmp_path / "samples.npz", x=np.arange(6).reshape(2, 3))
    assert [s["x"].tolist() for s in read_samples(tmp_path / "samples.npz")] == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.long
def test_all_convolutions_of_a_published_classifier_run_on_the_accelerator(tmp_path: Path) -> None:
    """The classifier of text directions that rapidocr-onnxruntime ships: a MobileNetV3 of 53 convolutions."""
    found = importlib.util.find_spec("rapidocr_onnxruntime")
    assert found is not None
    assert found.submodule_search_locations is not None, "make check-long installs it"
    source = Path(found.submodule_search_locations[0]) / "models" / "ch_ppocr_mobile_v2.0_cls_infer.onnx"
    generator = np.random.default_rng(0)
    images = [{"x": generator.uniform(-1, 1, (1, 3, 48, 48)).astype(np.float32)} for _ in range(6)]
    target = tmp_path / "int8.onnx"
    quantise(source, target, images[:4])
    model = PartitionedModel(target, MACHINE)
    assert len(model.taken) == 54
    assert model.stays == {}
    for inputs in images[4:]:
        equal_to_onnx_runtime(target, model, **inputs)
