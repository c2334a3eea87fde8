"""RELU of a quantised ONNX model on its int8 values, directly after the operator whose results it takes.

Quantisation leaves `operator -> DequantizeLinear -> Relu`, in float. With zero points of 0, RELU of the int8 values is
the same. So a kernel can do it when it stores its results. Where the results of RELU are quantised again, the operator
takes over that scale, and they are rounded once instead of twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autocomp.models.shapes import known_shapes

OPERATOR_SCALE = {"QLinearConv": 6, "QLinearMatMul": 6, "QGemm": 7}  # the input that is the scale of the results
FIRST_OPSET = 14  # of ONNX, with RELU of integers


def on_integers(model: Any) -> int:
    """Move each RELU that can be moved, within the model; the result is their number. Models of older operator sets
    stay as they are."""
    if not any(entry.domain in ("", "ai.onnx") and entry.version >= FIRST_OPSET for entry in model.opset_import):
        return 0
    moved = sum(_moved(model.graph, node) for node in [n for n in model.graph.node if n.op_type == "Relu"])
    read = {name for node in model.graph.node for name in node.input}
    for unused in [i for i in model.graph.initializer if i.name not in read]:
        model.graph.initializer.remove(unused)
    return moved


def _moved(graph: Any, relu: Any) -> bool:
    """Put `Relu` between an operator and `DequantizeLinear`, and drop the latter with what follows it if that only
    quantises the results again."""
    from onnx import TensorProto, helper

    float_node = _producer(graph, relu.input[0])
    operator = None if float_node is None else _producer(graph, float_node.input[0])
    if float_node is None or float_node.op_type != "DequantizeLinear" or not _symmetric(graph, float_node):
        return False
    if operator is None or operator.op_type not in OPERATOR_SCALE:
        return False
    if any(_users(graph, name) != [user] for name, user in ((operator.output[0], float_node), (relu.input[0], relu))):
        return False
    shape = known_shapes(graph).get(operator.output[0])
    if shape is None:
        return False
    before, after = operator.output[0], f"{operator.output[0]}_relu"
    again = [n for n in _users(graph, relu.output[0]) if n is not None and n.op_type == "QuantizeLinear"]
    same = bool(again) and all(
        _symmetric(graph, n) and n.input[1] == again[0].input[1] and None not in _users(graph, n.output[0])
        for n in again
    )
    if same:
        operator.input[OPERATOR_SCALE[operator.op_type]] = again[0].input[1]
        for node in again:
            _rename(graph, node.output[0], after)
            graph.node.remove(node)
    scale = again[0].input[1] if same else float_node.input[1]
    made = helper.make_node("Relu", [before], [after], relu.name)
    behind = helper.make_node(
        "DequantizeLinear", [after, scale, float_node.input[2]], [relu.output[0]], float_node.name
    )
    place = list(graph.node).index(float_node)
    graph.node.remove(relu)
    graph.node.remove(float_node)
    graph.node.insert(place, made)
    if _users(graph, relu.output[0]):
        graph.node.insert(place + 1, behind)
    graph.value_info.append(helper.make_tensor_value_info(after, TensorProto.INT8, shape))
    return True


def _producer(graph: Any, name: str) -> Any:
    return next((node for node in graph.node if name in node.output), None)


def _users(graph: Any, name: str) -> Sequence[Any]:
    """The nodes that read a tensor; None is the graph, for its own results."""
    users = [node for node in graph.node if name in node.input]
    return [*users, None] if any(output.name == name for output in graph.output) else users


def _symmetric(graph: Any, node: Any) -> bool:
    """True if the zero point of a node that quantises or dequantises is a constant int8 of 0."""
    from onnx import TensorProto, numpy_helper

    zero = next((i for i in graph.initializer if len(node.input) > 2 and i.name == node.input[2]), None)
    return zero is not None and zero.data_type == TensorProto.INT8 and not numpy_helper.to_array(zero).any()


def _rename(graph: Any, old: str, new: str) -> None:
    for node in graph.node:
        for place, name in enumerate(node.input):
            if name == old:
                node.input[place] = new
