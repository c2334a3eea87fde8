"""Whole models: what is taken from a graph, what it costs, and what is worth a search."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper

from autocomp.cli.entry import autocomp
from autocomp.errors import ConfigError
from autocomp.models import Forecast, Layer, Operation, Prediction, forecast, import_model, ranked
from autocomp.schedules.store import all_schedules, record_at
from autocomp.targets.registry import load_target
from autocomp.workload import parse

SHIPPED = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def save(folder: Path, nodes, inputs, outputs, weights=MappingProxyType({})) -> Path:
    """A model of these nodes; inputs and outputs are (name, type, shape)."""
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(*entry) for entry in inputs],
        [helper.make_tensor_value_info(*entry) for entry in outputs],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    path = folder / "small.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def two_layers(folder: Path) -> Path:
    """relu(x · w) · v, then a softmax."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "v"], ["y"], transB=1),
        helper.make_node("Softmax", ["y"], ["z"]),
    ]
    weights = {"w": np.zeros((20, 24), np.float32), "v": np.zeros((10, 24), np.float32)}
    return save(folder, nodes, [("x", TensorProto.FLOAT, [7, 20])], [("z", TensorProto.FLOAT, [7, 10])], weights)


def test_results_that_the_model_gives_out_are_not_folded_and_a_matrix_is_added_as_one(tmp_path: Path) -> None:
    nodes = [helper.make_node("Gemm", ["x", "w", "c"], ["h"]), helper.make_node("Relu", ["h"], ["r"])]
    weights = {"w": np.zeros((20, 24), np.float32), "c": np.zeros((7, 24), np.float32)}
    ends = [(name, TensorProto.FLOAT, [7, 24]) for name in ("h", "r")]
    model = import_model(save(tmp_path, nodes, [("x", TensorProto.FLOAT, [7, 20])], ends, weights))
    (operation,) = model.operations
    assert (dict(operation.options), model.folded) == ({"bias": "full"}, 0)
    assert [(h.name, h.nodes) for h in model.host] == [("Relu", 1)]


def multiply_accumulates(path: Path) -> int:
    """Those of a model's operations, products with padding included, as the literature counts them."""
    return sum(count * _products(operation) for operation, count in import_model(path).operations.items())


def _products(operation: Operation) -> int:
    workload = parse(operation.text("gemmini"), Path("model.yaml"))
    _, weights = workload.inputs[:2]
    return math.prod(workload.outputs[0].shape) * math.prod(weights.shape[:-1])


def test_resnet50_has_its_54_layers_in_24_groups() -> None:
    model = import_model(SHIPPED / "light_resnet50.onnx")
    assert sum(model.operations.values()) == 54
    assert len(model.operations) == 24
    assert {h.name for h in model.host} >= {"Sum", "MaxPool", "Softmax"}
    assert "BatchNormalization" not in {h.name for h in model.host}


@pytest.mark.parametrize(("name", "billions"), [("light_resnet50", 4.09), ("light_vgg19", 19.63)])
def test_published_models_have_the_work_that_torchvision_states_for_them(name: str, billions: float) -> None:
    assert round(multiply_accumulates(SHIPPED / f"{name}.onnx") / 1e9, 2) == billions


def test_a_relu_that_alone_uses_a_result_runs_with_it_and_constant_weights_are_laid_out_before(tmp_path: Path) -> None:
    model = import_model(two_layers(tmp_path))
    assert [operation.name for operation in model.operations] == ["gemm_I7_J24_K20_activation_relu", "gemm_I7_J10_K24"]
    assert [(h.name, h.nodes, h.work) for h in model.host] == [("Softmax", 1, 140)]
    assert model.folded == 1


@pytest.mark.parametrize(
    ("shape", "options"),
    [((24,), {"bias": "row"}), ((1, 24), {"bias": "row"}), ((7, 24), {"bias": "full"}), ((7, 1), {}), ((1,), {})],
)
def test_a_constant_that_is_added_to_a_product_is_its_bias(
    tmp_path: Path, shape: tuple[int, ...], options: dict[str, str]
) -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], "layer"),
        helper.make_node("Add", ["b", "h"], ["a"]),
        helper.make_node("Relu", ["a"], ["r"]),
    ]
    weights = {"w": np.zeros((20, 24), np.float32), "b": np.zeros(shape, np.float32)}
    ends = [("r", TensorProto.FLOAT, [7, 24])]
    model = import_model(save(tmp_path, nodes, [("x", TensorProto.FLOAT, [7, 20])], ends, weights))
    (operation,) = model.operations
    assert dict(operation.options) == ({**options, "activation": "relu"} if options else {})
    assert model.layers[operation] == (Layer("layer", "float32"),)


def test_quantised_and_plain_nodes_of_the_same_sizes_are_one_group(tmp_path: Path) -> None:
    scale, zero = np.float32(0.5), np.int8(0)
    nodes = [
        helper.make_node("QLinearMatMul", ["x", "s", "o", "w", "s", "o", "s", "o"], ["a"]),
        helper.make_node("DequantizeLinear", ["x", "s", "o"], ["xf"]),
        helper.make_node("DequantizeLinear", ["w", "s", "o"], ["wf"]),
        helper.make_node("MatMul", ["xf", "wf"], ["bf"]),
        helper.make_node("QuantizeLinear", ["bf", "s", "o"], ["b"]),
        helper.make_node("MatMulInteger", ["x", "w"], ["c"]),
    ]
    weights = {"w": np.zeros((12, 5), np.int8), "s": np.array(scale), "o": np.array(zero)}
    outputs = [("a", TensorProto.INT8, [3, 5]), ("b", TensorProto.INT8, [3, 5]), ("c", TensorProto.INT32, [3, 5])]
    model = import_model(save(tmp_path, nodes, [("x", TensorProto.INT8, [3, 12])], outputs, weights))
    assert dict(model.operations) == {Operation("gemm", (("I", 3), ("J", 5), ("K", 12)), ()): 3}
    assert model.host == ()


def test_convolutions_in_all_three_quantised_forms_are_one_group(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("QLinearConv", ["x", "s", "o", "w", "s", "o", "s", "o"], ["a"], strides=[2, 2]),
        helper.make_node("DequantizeLinear", ["x", "s", "o"], ["xf"]),
        helper.make_node("DequantizeLinear", ["w", "s", "o"], ["wf"]),
        helper.make_node("Conv", ["xf", "wf"], ["bf"], strides=[2, 2]),
        helper.make_node("QuantizeLinear", ["bf", "s", "o"], ["b"]),
        helper.make_node("ConvInteger", ["x", "w"], ["c"], strides=[2, 2]),
    ]
    weights = {"w": np.zeros((6, 4, 3, 3), np.int8), "s": np.array(np.float32(0.5)), "o": np.array(np.int8(0))}
    kinds = {"a": TensorProto.INT8, "b": TensorProto.INT8, "c": TensorProto.INT32}
    outputs = [(name, kind, [1, 6, 4, 3]) for name, kind in kinds.items()]
    model = import_model(save(tmp_path, nodes, [("x", TensorProto.INT8, [1, 4, 9, 7])], outputs, weights))
    dims = tuple(zip("NHWCKRS", (1, 9, 7, 4, 6, 3, 3), strict=True))
    assert dict(model.operations) == {Operation("conv2d", dims, (("stride", 2),)): 3}
    assert model.host == ()


def test_a_convolution_that_no_workload_can_say_stays_on_the_host_at_its_multiply_accumulates(tmp_path: Path) -> None:
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"])]
    inputs, outputs = [("x", TensorProto.FLOAT, [1, 3, 8, 8, 8])], [("y", TensorProto.FLOAT, [1, 4, 6, 6, 6])]
    model = import_model(save(tmp_path, nodes, inputs, outputs, {"w": np.zeros((4, 3, 3, 3, 3), np.float32)}))
    assert not model.operations
    assert [(h.name, h.work) for h in model.host] == [("Conv", 4 * 6 * 6 * 6 * 81)]


@pytest.mark.parametrize(
    ("attributes", "results", "options"),
    [
        ({"pads": [0, 0, 1, 1], "strides": [2, 2]}, (4, 4), {"padding": (0, 0, 1, 1), "stride": 2}),
        ({"auto_pad": "SAME_UPPER", "strides": [2, 2]}, (4, 4), {"padding": (0, 0, 1, 1), "stride": 2}),
        ({"auto_pad": "SAME_LOWER", "strides": [2, 2]}, (4, 4), {"padding": (1, 1, 0, 0), "stride": 2}),
        ({"auto_pad": "SAME_UPPER"}, (8, 8), {"padding": 1}),
        ({"auto_pad": "VALID", "strides": [2, 1]}, (3, 6), {"stride": (2, 1)}),
    ],
)
def test_sides_and_directions_of_a_convolution_may_differ(
    tmp_path: Path, attributes: dict[str, Any], results: tuple[int, int], options: dict[str, Any]
) -> None:
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], **attributes)]
    inputs, outputs = [("x", TensorProto.FLOAT, [1, 3, 8, 8])], [("y", TensorProto.FLOAT, [1, 4, *results])]
    model = import_model(save(tmp_path, nodes, inputs, outputs, {"w": np.zeros((4, 3, 3, 3), np.float32)}))
    dims = tuple(zip("NHWCKRS", (1, 8, 8, 3, 4, 3, 3), strict=True))
    assert dict(model.operations) == {Operation("conv2d", dims, tuple(sorted(options.items()))): 1}


def test_attention_multiplies_once_for_each_head(tmp_path: Path) -> None:
    nodes = [helper.make_node("MatMul", ["q", "k"], ["s"])]
    inputs = [("q", TensorProto.FLOAT, [2, 4, 9, 8]), ("k", TensorProto.FLOAT, [2, 4, 8, 9])]
    model = import_model(save(tmp_path, nodes, inputs, [("s", TensorProto.FLOAT, [2, 4, 9, 9])]))
    assert dict(model.operations) == {Operation("gemm", (("I", 9), ("J", 9), ("K", 8)), ()): 8}


def test_unknown_sizes_and_files_that_are_no_models_are_errors_that_say_what_to_do(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    dynamic = save(tmp_path, nodes, [("x", TensorProto.FLOAT, ["n", 4])], [("y", TensorProto.FLOAT, ["n", 4])])
    with pytest.raises(ConfigError, match=r"shape of tensor 'x'[\s\S]*fix the inputs' sizes"):
        import_model(dynamic)
    (tmp_path / "broken.onnx").write_bytes(b"\xffno model")
    with pytest.raises(ConfigError, match=r"cannot read the model .*broken\.onnx"):
        import_model(tmp_path / "broken.onnx")


def test_without_onnx_the_message_has_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ConfigError, match=r"pip install 'autocomp\[models\]'"):
        import_model(SHIPPED / "light_vgg19.onnx")


def test_operations_are_ranked_by_their_gain_and_end_where_the_rest_cannot_matter() -> None:
    def prediction(size: int, count: int, best: int) -> Prediction:
        operation = Operation("gemm", (("I", size), ("J", size), ("K", size)), ())
        return Prediction(operation, count, best, best, 100, "naive")

    small, often, large = prediction(1, 1, 105), prediction(2, 10, 300), prediction(3, 1, 1100)
    costs = Forecast((small, often, large), host=895)
    assert costs.after == 105 + 3000 + 1100 + 895
    assert costs.speed_up(often) == pytest.approx(5100 / 3100)
    assert ranked(costs, 0.01) == ([often, large], [small])
    assert ranked(costs, 0.0) == ([often, large, small], [])
    assert ranked(costs, 1.0) == ([], [often, large, small])


def test_without_a_schedule_the_naive_kernel_is_simulated(tmp_path: Path) -> None:
    watched: list[str] = []
    costs = forecast(import_model(two_layers(tmp_path)), load_target("simulator:gemmini"), (), 2.0, watched.append)
    assert watched == ["gemm_I7_J24_K20_activation_relu", "gemm_I7_J10_K24"]
    assert costs.host == 280
    assert all(p.best == p.naive >= p.bound and p.source == "naive" for p in costs.predictions)


def test_a_search_reports_the_cycles_before_and_after_and_leaves_schedules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("autocomp.models.search.FEWEST", 2)
    command = ["model", str(two_layers(tmp_path)), "--accelerator", "tiny", "--json"]
    first = CliRunner().invoke(autocomp, [*command, "--search", "4", "--workers", "1"])
    assert first.exit_code == 0, first.output
    document = json.loads(first.stdout)
    done = document["search"]
    assert done["cycles_before"] == document["naive_cycles"] > done["cycles_after"] == document["cycles"]
    assert 2 <= done["evaluations"] <= 4
    assert len(done["searched"]) == 2
    again = json.loads(CliRunner().invoke(autocomp, command).stdout)
    assert again["cycles"] == done["cycles_after"]
    found = [record_at(one) for one in all_schedules(pytest.fail)]
    assert [record.operation.arguments for record in found] == [("scale",)] * 2  # one serves any scale


def test_a_float_model_is_quantised_on_the_way_with_a_warning_of_what_its_scales_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["model", str(two_layers(tmp_path)), "--accelerator", "tiny", "--quantise", "int8.onnx", "--json"]
    result = CliRunner().invoke(autocomp, command)
    assert result.exit_code == 0, result.output
    assert "drawn at random" in result.stderr
    assert sum(o["count"] for o in json.loads(result.stdout)["operations"]) == 2
    assert {n.op_type for n in onnx.load("int8.onnx").graph.node} >= {"QLinearMatMul", "QGemm"}
    Path("module.mlir").touch()
    refused = CliRunner().invoke(autocomp, ["model", "module.mlir", *command[2:]])
    assert refused.exit_code == 2
    assert "--quantise needs an ONNX model, and module.mlir is a StableHLO module" in refused.output


@pytest.mark.long
def test_what_is_written_is_searched_and_then_found_as_a_schedule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOCOMP_SCHEDULES", str(tmp_path / "schedules"))
    monkeypatch.chdir(tmp_path)
    command = ["model", str(two_layers(tmp_path)), "--accelerator", "gemmini", "--write", "worth", "--json"]
    before = json.loads(CliRunner().invoke(autocomp, command).stdout)
    assert len(before["workloads"]) == 2
    search = ["search", *before["workloads"], "--evaluations", "16", "--executor", "inline", "--json"]
    assert CliRunner().invoke(autocomp, search).exit_code == 0
    after = json.loads(CliRunner().invoke(autocomp, command).stdout)
    assert after["naive_cycles"] == before["cycles"] > after["cycles"]
    assert {Path(o["source"]).suffix for o in after["operations"]} == {".yaml"}
