"""Nodes of a quantised ONNX graph that a kernel can take over exactly, as workloads with constant operands.

Exactly: a kernel multiplies int8 by int8 into int32, adds a row of int32, multiplies by one binary32, rounds to even
and saturates to int8. So does a node whose tensors are int8 with one scale each and zero points of 0, which is what
symmetric post-training quantisation makes. All others stay with the framework, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.errors import ConfigError
from autocomp.models.operations import Operation, Shape, convolution, gemm
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.workload import Workload, parse

Array = npt.NDArray[Any]
# Where a node has its operands, its scales and zero points (left, right, result) and its bias.
_PLACES: Mapping[str, tuple[int, int, tuple[int, ...], tuple[int, ...], int | None]] = {
    "QLinearMatMul": (0, 3, (1, 4, 6), (2, 5, 7), None),
    "QLinearConv": (0, 3, (1, 4, 6), (2, 5, 7), 8),
    "QGemm": (0, 3, (1, 4, 7), (2, 5, 8), 6),
}


class Stays(Exception):
    """A node stays with the framework; the message says why."""


@dataclass(frozen=True)
class Offload:
    """A node that a kernel takes over, and RELU after it. `input` and `output` are the names of tensors in the graph;
    `weights` and `bias` lie as the workload wants them."""

    node: str
    input: str
    output: str
    workload: Workload
    weights: Array
    bias: Array | None
    result: Shape  # of the node, channels first if it is a convolution
    image: bool  # channels of its input and result come second in the graph, and last in the workload

    def operands(self, value: Array) -> dict[str, Array]:
        """The workload's tensors for a value of the input; the output holds zeros."""
        left, right = self.workload.tensors[:2]
        laid = np.moveaxis(value, 1, -1) if self.image else value
        arrays = {left.name: np.ascontiguousarray(laid).reshape(left.shape), right.name: self.weights}
        if self.bias is not None:
            arrays["bias"] = self.bias
        output = self.workload.outputs[0]
        return {**arrays, output.name: np.zeros(output.shape, output.dtype)}

    def value(self, output: Array) -> Array:
        """The node's result from the workload's output."""
        if not self.image:
            return output.reshape(self.result)
        count, channels, *pixels = self.result
        return np.ascontiguousarray(np.moveaxis(output.reshape(count, *pixels, channels), -1, 1))


def offload(
    node: Any,
    attributes: Mapping[str, Any],
    shapes: Mapping[str, Shape],
    constants: Mapping[str, Array],
    machine: Accelerator,
    relu: str = "",
) -> Offload:
    """The node as a workload of the machine, with the RELU after it whose result is named `relu`. Raises Stays."""
    if node.op_type not in _PLACES:
        raise Stays("it is not a quantised multiplication or convolution")
    left, right, scales, zeros, bias_place = _PLACES[node.op_type]
    weights = _constant(node.input[right], constants, "its second operand")
    if weights.dtype != np.int8 or any(
        _constant(node.input[z], constants, "a zero point").dtype != np.int8 for z in zeros
    ):
        raise Stays("its operands are not int8")
    if any(constants[node.input[z]].any() for z in zeros):
        raise Stays("a zero point is not 0")
    scale = _scale(*(_constant(node.input[s], constants, "a scale") for s in scales))
    bias = None
    if bias_place is not None and len(node.input) > bias_place and node.input[bias_place]:
        bias = _constant(node.input[bias_place], constants, "its bias").reshape(1, -1)
    options: dict[str, Any] = {"scale": scale, **({} if bias is None else {"bias": "row"})}
    if relu:
        options["activation"] = "relu"
    shape = shapes.get(node.input[left])
    if shape is None:
        raise Stays("the shape of its input is not known")
    image = node.op_type == "QLinearConv"
    if image:
        operation = convolution(shape, weights.shape, attributes, options)
        laid = np.transpose(weights, (2, 3, 1, 0))
    else:
        operation, laid = _multiplication(shape, weights, attributes, options)
    if operation is None:
        raise Stays("no workload can say it: it has other than two dimensions, or cuts pixels off")
    workload = _workload(operation, node, machine)
    result = shapes[node.output[0]]
    return Offload(
        node.name or node.output[0],
        node.input[left],
        relu or node.output[0],
        workload,
        np.ascontiguousarray(laid).reshape(workload.tensors[1].shape),
        None if bias is None else np.ascontiguousarray(np.broadcast_to(bias, (1, result[1 if image else -1]))),
        result,
        image,
    )


def _multiplication(
    shape: Shape, weights: Array, attributes: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[Operation | None, Array]:
    if attributes.get("transA") or attributes.get("alpha", 1.0) != 1.0:
        raise Stays("its left operand is transposed or scaled")
    if weights.ndim != 2:
        raise Stays("its second operand is not one matrix")
    laid = weights.T if attributes.get("transB") else weights
    operation = gemm(shape, laid.shape, options)
    return (None if operation is None else operation[0]), laid


def _workload(operation: Operation, node: Any, machine: Accelerator) -> Workload:
    try:
        return parse(operation.text(machine.full_name), Path(node.name or node.output[0]))
    except ConfigError as error:
        raise Stays(error.message) from None


def _constant(name: str, constants: Mapping[str, Array], what: str) -> Array:
    if name not in constants:
        raise Stays(f"{what} is not a constant")
    return constants[name]


def _scale(left: Array, right: Array, result: Array) -> float:
    """In binary32 and this order, as ONNX Runtime does."""
    if any(math.prod(s.shape) != 1 for s in (left, right, result)):
        raise Stays("its channels have scales of their own")
    factor = np.float32(left.reshape(())) * np.float32(right.reshape(())) / np.float32(result.reshape(()))
    return float(np.float32(factor))
