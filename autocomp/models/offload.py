"""Nodes of a quantised ONNX graph that a kernel can take over exactly, as workloads with constant operands.

Exactly: a kernel multiplies int8 by int8 into int32, adds a row of int32, multiplies by one binary32, rounds to even
and saturates to int8. So does a node whose tensors are int8 with one scale each and zero points of 0, which is what
symmetric post-training quantisation makes. Of nodes with zero points, bytes without a sign, or scales for each channel
a kernel makes the int32 sums, and the host their results. All others stay with the framework, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.errors import ConfigError
from autocomp.models.operations import SUMS, Operation, Shape, convolution, gemm
from autocomp.models.requantise import SCALES, ZEROS, needs_host, signed
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.workload import Workload, parse
from autocomp.workload.requantise import Requantise, offset_of

Array = npt.NDArray[Any]
# Where a node has its operands and its bias.
_PLACES: Mapping[str, tuple[int, int, int | None]] = {
    "QLinearMatMul": (0, 3, None),
    "QLinearConv": (0, 3, 8),
    "QGemm": (0, 3, 6),
}
UNSAID = "no workload can say it: it has other than two dimensions, or cuts pixels off"


class Stays(Exception):
    """A node stays with the framework; the message says why."""


@dataclass(frozen=True)
class Offload:
    """A node that a kernel takes over, and RELU after it. `input` and `output` are the names of tensors in the graph;
    `weights` and `bias` lie as the workload wants them. With `requantise` the workload's results are sums, and RELU
    stays with the framework."""

    node: str
    input: str
    output: str
    workload: Workload
    weights: Array
    bias: Array | None
    result: Shape  # of the node, channels first if it is a convolution
    image: bool  # channels of its input and result come second in the graph, and last in the workload
    requantise: Requantise | None = None

    def operands(self, value: Array) -> dict[str, Array]:
        """The workload's tensors for a value of the input; the output holds zeros."""
        left, right = self.workload.tensors[:2]
        laid = np.moveaxis(signed(value), 1, -1) if self.image else signed(value)
        arrays = {left.name: np.ascontiguousarray(laid).reshape(left.shape), right.name: self.weights}
        if self.bias is not None:
            arrays["bias"] = self.bias
        output = self.workload.outputs[0]
        return {**arrays, output.name: np.zeros(output.shape, output.dtype)}

    def value(self, output: Array) -> Array:
        """The node's result from the workload's output."""
        made = output if self.requantise is None else self.requantise(output)
        if not self.image:
            return made.reshape(self.result)
        count, channels, *pixels = self.result
        return np.ascontiguousarray(np.moveaxis(made.reshape(count, *pixels, channels), -1, 1))


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
    left, right, bias_place = _PLACES[node.op_type]
    stored = _constant(node, right, constants, "its second operand")
    scales = [_constant(node, place, constants, "a scale") for place in SCALES[node.op_type]]
    zeros = [_constant(node, place, constants, "a zero point") for place in ZEROS[node.op_type]]
    if any(array.dtype not in (np.int8, np.uint8) for array in (stored, *zeros)):
        raise Stays("its operands are not of eight bits")
    shape, result = shapes.get(node.input[left]), shapes.get(node.output[0])
    if shape is None or result is None:
        raise Stays("the shape of its input or its result is not known")
    image = node.op_type == "QLinearConv"
    columns = result[1 if image else -1]
    weights = _weights(stored, zeros[1], image, attributes)
    factor = _factor(scales, columns)
    whole = not needs_host(node, constants)
    options: dict[str, Any] = {"scale": float(factor.item())} if whole else {**SUMS}
    bias = None
    if bias_place is not None and len(node.input) > bias_place and node.input[bias_place]:
        bias = np.broadcast_to(_constant(node, bias_place, constants, "its bias").reshape(1, -1), (1, columns))
        options["bias"] = "row"
    if relu and whole:
        options["activation"] = "relu"
    workload = _workload(_operation(shape, stored.shape, weights, image, attributes, options), node, machine)
    laid = np.ascontiguousarray(weights).reshape(workload.tensors[1].shape)
    return Offload(
        node.name or node.output[0],
        node.input[left],
        (whole and relu) or node.output[0],
        workload,
        laid,
        None if bias is None else np.ascontiguousarray(bias),
        result,
        image,
        None if whole else _requantise(workload, laid, factor, zeros),
    )


def _weights(stored: Array, zero: Array, image: bool, attributes: Mapping[str, Any]) -> Array:
    """The second operand less its zero point, its columns last."""
    if image and stored.ndim != 4:
        raise Stays(UNSAID)
    if image:
        laid = np.transpose(stored, (2, 3, 1, 0))
    elif stored.ndim != 2:
        raise Stays("its second operand is not one matrix")
    else:
        laid = stored.T if attributes.get("transB") else stored
    less = laid.astype(np.int16) - zero.astype(np.int16).reshape(-1)
    if np.any(less != less.astype(np.int8)):
        raise Stays("its second operand less its zero point does not fit int8")
    return less.astype(np.int8)


def _requantise(workload: Workload, weights: Array, factor: Array, zeros: Sequence[Array]) -> Requantise:
    if any(zeros[place].size != 1 for place in (0, 2)):
        raise Stays("its input or its result has several zero points")
    left = int(signed(zeros[0]).item())
    return Requantise(offset_of(workload, weights, left), factor, int(zeros[2].item()), zeros[2].dtype)


def _operation(
    shape: Shape,
    filters: Shape,
    weights: Array,
    image: bool,
    attributes: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Operation:
    if image:
        operation = convolution(shape, filters, attributes, options)
    elif attributes.get("transA") or attributes.get("alpha", 1.0) != 1.0:
        raise Stays("its left operand is transposed or scaled")
    else:
        product = gemm(shape, weights.shape, options)
        operation = product and product[0]
    if operation is None:
        raise Stays(UNSAID)
    return operation


def _factor(scales: Sequence[Array], columns: int) -> Array:
    """In binary32 and this order, as ONNX Runtime does: one number, or one for each column."""
    left, right, result = (scale.astype(np.float32).reshape(-1) for scale in scales)
    if left.size != 1 or result.size != 1 or right.size not in (1, columns):
        raise Stays("its input or its result has several scales")
    return left * right / result


def _workload(operation: Operation, node: Any, machine: Accelerator) -> Workload:
    try:
        return parse(operation.text(machine.full_name), Path(node.name or node.output[0]))
    except ConfigError as error:
        raise Stays(error.message) from None


def _constant(node: Any, place: int, constants: Mapping[str, Array], what: str) -> Array:
    name = node.input[place] if len(node.input) > place else ""
    if name not in constants:
        raise Stays(f"{what} is not a constant")
    return constants[name]
