"""From an ONNX file to the operations that an accelerator takes over, grouped, and those that stay on the host."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autocomp.errors import ConfigError
from autocomp.models.operations import SUMS, Layer, Operation, Shape, convolution, gemm
from autocomp.models.requantise import SCALES, ZEROS, Array, needs_host
from autocomp.models.shapes import attributes_of, element_types, known_shapes, load_model

# Where a node has its left and right operand, and where its bias, if it may have one.
_OPERANDS = {
    "MatMul": (0, 1, None),
    "MatMulInteger": (0, 1, None),
    "QLinearMatMul": (0, 3, None),
    "Gemm": (0, 1, 2),
    "Conv": (0, 1, 2),
    "ConvInteger": (0, 1, None),
    "QLinearConv": (0, 3, 8),
    "QGemm": (0, 3, 6),  # of ONNX Runtime
}
# What else a kernel does with the results of a node before RELU; an addition, if its other operand is a constant.
_BEFORE_RELU = {"Conv": ("BatchNormalization",), "ConvInteger": ("BatchNormalization",), "MatMul": ("Add",)}
# These say how numbers are stored or tensors are seen, and touch no element when the model runs.
_FREE = (
    *("QuantizeLinear", "DequantizeLinear", "Constant", "ConstantOfShape", "Shape", "Reshape", "Flatten"),
    *("Squeeze", "Unsqueeze", "Identity", "Dropout"),
)


@dataclass(frozen=True)
class HostOperation:
    """All nodes of one ONNX type that no kernel takes over; `work` is the larger of elements read and written and of
    multiply-accumulates, summed over the nodes."""

    name: str
    nodes: int
    work: int


@dataclass(frozen=True)
class Model:
    """`operations` with how often each is done, and by which `layers`; `folded` counts nodes that run within one
    (normalisation of a convolution's results, biases, RELU)."""

    name: str
    operations: Mapping[Operation, int]
    host: tuple[HostOperation, ...]
    folded: int
    layers: Mapping[Operation, tuple[Layer, ...]] = field(default_factory=dict)


def import_onnx(path: Path) -> Model:
    """Read an ONNX model. Raises ConfigError for another kind of file, for unknown shapes, and if `onnx` is not
    installed."""
    graph = load_model(path).graph
    try:
        return _Graph(graph, path).model()
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ConfigError(
            f"{path}: a node does not have what its operator needs ({type(error).__name__}: {error})",
            hint="onnx.checker.check_model says which",
        ) from error


class _Graph:
    """One graph with the shapes and the consumers of its tensors."""

    def __init__(self, graph: Any, path: Path) -> None:
        self._graph, self._path = graph, path
        self._shapes = known_shapes(graph)
        self._initializers = {i.name: i for i in graph.initializer}
        self._constant = {*self._initializers}
        self._results = {output.name for output in graph.output}
        self._types = element_types(graph)
        self._consumers: dict[str, list[Any]] = {}
        for node in graph.node:
            if all(name in self._constant or not name for name in node.input):
                self._constant.update(node.output)
            for name in node.input:
                self._consumers.setdefault(name, []).append(node)

    def model(self) -> Model:
        operations: Counter[Operation] = Counter()
        layers: dict[Operation, list[Layer]] = {}
        host: dict[str, tuple[int, int]] = {}
        folded: set[str] = set()  # by first output, which is unique in a graph
        for node in self._graph.node:
            if node.output[0] in folded or node.op_type in _FREE or node.output[0] in self._constant:
                continue
            operation = self._operation(node, folded)
            if operation is not None:
                operations[operation[0]] += operation[1]
                dtype = self._types.get(node.input[0], "")
                layers.setdefault(operation[0], []).append(Layer(node.name or node.output[0], dtype))
                continue
            nodes, work = host.get(node.op_type, (0, 0))
            host[node.op_type] = (nodes + 1, work + self._work(node))
        stay = sorted((HostOperation(name, *cost) for name, cost in host.items()), key=lambda h: -h.work)
        named = {operation: tuple(of_it) for operation, of_it in layers.items()}
        return Model(self._path.stem, operations, tuple(stay), len(folded), named)

    def _operation(self, node: Any, folded: set[str]) -> tuple[Operation, int] | None:
        """The operation of a kernel for a node, and its count; nodes that run within it are added to `folded`."""
        places = _OPERANDS.get(node.op_type)
        if places is None:
            return None
        left, right, bias = places
        attributes = attributes_of(node)
        sums = needs_host(node, self._constants_of(node))
        followers = [] if sums else self._followers(node)
        options: dict[str, Any] = {**SUMS} if sums else {}
        added = node.input[bias] if bias is not None and len(node.input) > bias else ""
        added = next((self._addend(f) for f in followers if f.op_type == "Add"), added)
        if added or any(f.op_type == "BatchNormalization" for f in followers):
            options["bias"] = "full" if _has_rows(self._shapes.get(added, ())) and "Conv" not in node.op_type else "row"
        if followers and followers[-1].op_type == "Relu":
            options["activation"] = "relu"
        a, b = self._shape(node.input[left], node), self._shape(node.input[right], node)
        if "Conv" in node.op_type:
            single = convolution(a, b, attributes, options)
            operation = None if single is None else (single, 1)
        else:
            if attributes.get("transB"):
                if node.input[right] in self._constant:
                    b = (*b[:-2], b[-1], b[-2])  # weights are laid out as a kernel wants them before the model runs
                else:
                    options["transpose_b"] = True
            if attributes.get("transA"):
                options["transpose_a"] = True
            operation = gemm(a, b, options)
        if operation is not None:
            folded.update(follower.output[0] for follower in followers)
        return operation

    def _constants_of(self, node: Any) -> dict[str, Array]:
        """The scales and zero points of a quantised node that its file states."""
        from onnx import numpy_helper

        places = (*SCALES.get(node.op_type, ()), *ZEROS.get(node.op_type, ()))
        names = (node.input[place] for place in places if place < len(node.input))
        return {n: numpy_helper.to_array(self._initializers[n]) for n in names if n in self._initializers}

    def _followers(self, node: Any) -> list[Any]:
        """Nodes after this one that are the only users of its results, and that a kernel applies when it stores
        them."""
        chain: list[Any] = []
        wanted = [*_BEFORE_RELU.get(node.op_type, ()), "Relu"]
        end = node
        while wanted:
            consumers = self._consumers.get(end.output[0], [])
            if end.output[0] in self._results or len(consumers) != 1 or consumers[0].op_type not in wanted:
                break
            if consumers[0].op_type == "Add" and not self._addend(consumers[0]):
                break
            end = consumers[0]
            chain.append(end)
            wanted = wanted[wanted.index(end.op_type) + 1 :]
        return chain

    def _addend(self, node: Any) -> str:
        """The constant that a node adds to the columns or the elements of a matrix; "" for another addition."""
        names = [name for name in node.input if name in self._constant]
        result, (added, *_) = self._shapes.get(node.output[0], ()), (*names, "")
        shape = self._shapes.get(added, ())
        fits = math.prod(shape) in (math.prod(shape[-1:]), math.prod(shape[-2:])) and shape[-1:] == result[-1:]
        rows = not _has_rows(shape) or (shape[-2:] == result[-2:] and math.prod(result[:-2]) == 1)
        return added if len(names) == 1 and fits and rows else ""

    def _work(self, node: Any) -> int:
        names = [n for n in (*node.input, *node.output) if n and n not in self._constant]
        elements = sum(math.prod(self._shape(name, node)) for name in names)
        if node.op_type not in _OPERANDS:
            return elements
        right = self._shape(node.input[_OPERANDS[node.op_type][1]], node)
        depth = math.prod(right[1:]) if "Conv" in node.op_type else right[-2] if len(right) > 1 else right[0]
        return max(elements, math.prod(self._shape(node.output[0], node)) * depth)

    def _shape(self, name: str, node: Any) -> Shape:
        if name not in self._shapes:
            raise ConfigError(
                f"{self._path}: the shape of tensor {name!r} at node {node.name or node.op_type!r} is not known",
                hint="fix the inputs' sizes, as python -m onnxruntime.tools.make_dynamic_shape_fixed does",
            )
        return self._shapes[name]


def _has_rows(bias: Shape) -> bool:
    """True if a bias differs from row to row of the results."""
    return len(bias) > 1 and bias[-2] > 1
