"""PyTorch programs with their int8 products and convolutions computed by autocomp's kernels, on the simulator.

`SymmetricInt8` says how `prepare_pt2e` has to quantise, and `offload` replaces what the machine can do in the module
that `convert_pt2e` makes. The rest stays with PyTorch. Written for torch 2.13 and torchao 0.18.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import fx
from torch.fx.passes.shape_prop import ShapeProp
from torchao.quantization.pt2e import HistogramObserver, MinMaxObserver
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, QuantizationSpec, Quantizer

import autocomp
from autocomp import workload as workloads
from autocomp.errors import AutocompError
from autocomp.models.offload import Offload
from autocomp.models.operations import convolution, gemm
from autocomp.serving import to_c

LINEAR, CONVOLUTION = torch.ops.aten.linear.default, torch.ops.aten.conv2d.default
PRODUCTS = (torch.ops.aten.matmul.default, torch.ops.aten.bmm.default, torch.ops.aten.mm.default)
ATTENTION = torch.ops.aten.scaled_dot_product_attention.default
RELU = (torch.ops.aten.relu.default, torch.ops.aten.relu_.default)
QUANTIZE = torch.ops.quantized_decomposed.quantize_per_tensor.default
DEQUANTIZE = torch.ops.quantized_decomposed.dequantize_per_tensor.default
LOW, HIGH = -128, 127
MIDDLE = 128  # 0 as PyTorch's integer kernels count, from 0 to 255
ROUNDS = 20  # that are timed
ANNOTATION = "quantization_annotation"


class SymmetricInt8(Quantizer):
    """int8 with a zero point of 0 and one scale a tensor, for linear layers and convolutions, their ReLU included."""

    values = QuantizationSpec(torch.int8, HistogramObserver, LOW, HIGH, torch.per_tensor_symmetric)
    weights = QuantizationSpec(torch.int8, MinMaxObserver, LOW + 1, HIGH, torch.per_tensor_symmetric)

    def annotate(self, model: fx.GraphModule) -> fx.GraphModule:
        for node in model.graph.nodes:
            if node.target not in (LINEAR, CONVOLUTION):
                continue
            end = _rectified(node) or node
            given = {node.args[0]: self.values, node.args[1]: self.weights}
            node.meta[ANNOTATION] = QuantizationAnnotation(given, None if end is not node else self.values, True)
            if end is not node:
                end.meta[ANNOTATION] = QuantizationAnnotation({}, self.values, True)
        return model

    def validate(self, model: fx.GraphModule) -> None:
        pass


@dataclass(frozen=True)
class Program:
    """A module whose calls go to kernels. `offloaded` are in the module's order, `stays` says why other linear layers
    and convolutions stay. `work` has the multiply-accumulates of these, and of the products of two activations."""

    module: fx.GraphModule
    offloaded: Mapping[str, Kernel]
    stays: Mapping[str, str]
    work: Mapping[str, int]

    @property
    def cycles(self) -> int:
        return sum(int(kernel.answer.record.result.value) for kernel in self.offloaded.values())

    @property
    def share_of_operations(self) -> float:
        """Of the multiply-accumulates of all linear layers, convolutions and products."""
        return sum(self.work[name] for name in self.offloaded) / max(1, sum(self.work.values()))

    def to_c(self) -> dict[str, str]:
        """The C of all kernels by file name, with a dispatch over sizes."""
        return to_c([kernel.answer for kernel in self.offloaded.values()])


class Kernel(torch.nn.Module):
    """A layer on a kernel of ours: int8 to int8."""

    def __init__(self, layer: Offload, answer: autocomp.Answer) -> None:
        super().__init__()
        self.layer, self.answer = layer, answer

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        memory = self.answer.run(self.layer.operands(value.numpy()))
        return torch.from_numpy(self.layer.value(memory[self.layer.workload.outputs[0].name]))


class Integer(torch.nn.Module):
    """A layer on PyTorch's own integer kernels (those of QNNPACK): int8 to int8."""

    def __init__(self, operator: Any, packed: Any, given: float, made: float) -> None:
        super().__init__()
        self.operator, self.packed, self.given, self.made = operator, packed, given, made

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        counted = (value.to(torch.int16) + MIDDLE).to(torch.uint8)
        packed = torch._make_per_tensor_quantized_tensor(counted, self.given, MIDDLE)
        result = self.operator(packed, self.packed, self.made, MIDDLE).int_repr()
        return (result.to(torch.int16) - MIDDLE).to(torch.int8)


def offload(
    module: fx.GraphModule,
    arguments: Sequence[torch.Tensor],
    accelerator: str = "gemmini",
    evaluations: int = 8,
    keep: bool = False,
) -> Program:
    """The module with kernels for what the accelerator can do; each new kernel costs at most `evaluations`. The
    `arguments` are examples, which fix all shapes."""
    ShapeProp(module).propagate(*arguments)

    def make(layer: _Layer) -> Kernel:
        found = layer.offload(accelerator)
        return Kernel(found, autocomp.lookup_or_adapt(found.workload, evaluations=evaluations, keep=keep))

    changed, taken, stays = _replaced(module, make)
    return Program(changed, taken, stays, {node.name: work for node in module.graph.nodes if (work := _work(node))})


def on_integers(module: fx.GraphModule) -> fx.GraphModule:
    """The module with the same layers on PyTorch's own integer kernels, which are what ours are compared with."""
    engine = torch.backends.quantized.engine
    torch.backends.quantized.engine = "qnnpack"
    try:
        return _replaced(module, _Layer.integer)[0]
    finally:
        torch.backends.quantized.engine = engine


def share_of_time(program: Program, original: fx.GraphModule, *arguments: torch.Tensor) -> float:
    """The share of PyTorch's own time for the quantised module that goes into what was offloaded, node by node."""
    timed = _Timed(original)
    for _ in range(ROUNDS):
        timed.run(*arguments)
    ours = {node.name for layer in _layers(original) if layer.name in program.offloaded for node in layer.nodes}
    return sum(timed.seconds.get(name, 0.0) for name in ours) / sum(timed.seconds.values())


class _Timed(fx.Interpreter):
    """A module run node by node; `seconds` are each node's fewest."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.seconds: dict[str, float] = {}

    def run_node(self, node: fx.Node) -> Any:
        begin = time.perf_counter()
        result = super().run_node(node)
        seconds = time.perf_counter() - begin
        self.seconds[node.name] = min(seconds, self.seconds.get(node.name, seconds))
        return result


class _Stays(Exception):
    """A layer stays with PyTorch; the message says why."""


@dataclass(frozen=True)
class _Quantised:
    """An int8 tensor of the graph and its scale; raises _Stays for others."""

    node: fx.Node
    scale: float

    @classmethod
    def of(cls, node: Any, target: Any, what: str) -> _Quantised:
        if not isinstance(node, fx.Node) or node.target != target:
            raise _Stays(f"{what} is not quantised with one scale")
        value, scale, zero, _, high, kind = node.args
        if kind != torch.int8 or zero != 0 or high != HIGH:
            raise _Stays(f"{what} is {kind} with the zero point {zero}, not int8 with 0")
        return cls(value, float(scale))


@dataclass(frozen=True)
class _Layer:
    """A linear layer or a convolution; `end` is its ReLU or itself."""

    owner: fx.GraphModule
    node: fx.Node
    end: fx.Node

    @property
    def name(self) -> str:
        return str(self.node.name)

    @property
    def nodes(self) -> Iterator[fx.Node]:
        """All that a kernel does in one call."""
        yield from {self.node, self.end, self.node.args[0], self.node.args[1], *self.end.users}

    @property
    def value(self) -> _Quantised:
        return _Quantised.of(self.node.args[0], DEQUANTIZE, "its input")

    @property
    def weights(self) -> tuple[torch.Tensor, float]:
        found = _Quantised.of(self.node.args[1], DEQUANTIZE, "its weight")
        return _constant(self.owner, found.node), found.scale

    @property
    def result(self) -> _Quantised:
        """The node that quantises the results."""
        users = list(self.end.users)
        if len(users) != 1:
            raise _Stays("its unrounded results are used more than once")
        return _Quantised(users[0], _Quantised.of(users[0], QUANTIZE, "its result").scale)

    @property
    def bias(self) -> torch.Tensor | None:
        given = self.node.args[2] if len(self.node.args) > 2 else None
        return None if given is None else _constant(self.owner, given)

    @property
    def window(self) -> dict[str, Any]:
        """Of a convolution, as ONNX names its attributes."""
        usual = ([1, 1], [0, 0], [1, 1], 1)
        given = self.node.args[3:]
        stride, padding, dilation, groups = (*given, *usual[len(given) :])
        return {"strides": stride, "pads": [*padding, *padding], "dilations": dilation, "group": groups}

    def offload(self, accelerator: str) -> Offload:
        """The layer as a workload with constant operands."""
        weights, of_weights = self.weights
        of_value, of_result = np.float32(self.value.scale), np.float32(self.result.scale)
        of_sums = of_value * np.float32(of_weights)
        bias = None if self.bias is None else self._rounded(float(of_sums))
        options = {
            "scale": float(of_sums * (np.float32(1) / of_result)),  # in this order, as PyTorch does
            "activation": "none" if self.end is self.node else "relu",
            **({} if bias is None else {"bias": "row"}),
        }
        shape, result = _shape(self.node.args[0]), _shape(self.node)
        image = self.node.target == CONVOLUTION
        if image:
            operation = convolution(shape, tuple(weights.shape), self.window, options)
            laid = weights.permute(2, 3, 1, 0)
        else:
            operation, _ = gemm(shape, (weights.shape[1], weights.shape[0]), options) or (None, 0)
            laid = weights.T
        if operation is None:
            raise _Stays("no workload can say it: it has other than two dimensions")
        workload = workloads.parse(operation.text(accelerator), Path(self.name))
        laid = np.ascontiguousarray(laid.numpy()).reshape(workload.tensors[1].shape)
        return Offload(self.name, "", "", workload, laid, bias, result, image)

    def _rounded(self, scale: float) -> np.ndarray:
        """The biases as the integers that PyTorch adds."""
        return torch.quantize_per_tensor(self.bias.detach(), scale, 0, torch.qint32).int_repr().numpy().reshape(1, -1)

    def integer(self) -> Integer:
        weights, scale = self.weights
        packed = torch._make_per_tensor_quantized_tensor(weights, scale, 0)
        names = "linear" if self.node.target == LINEAR else "conv2d"
        operator = getattr(torch.ops.quantized, names if self.end is self.node else f"{names}_relu")
        if self.node.target == LINEAR:
            prepared = torch.ops.quantized.linear_prepack(packed, self.bias)
        else:
            w = self.window
            prepared = torch.ops.quantized.conv2d_prepack(
                packed, self.bias, w["strides"], w["pads"][:2], w["dilations"], w["group"]
            )
        return Integer(operator, prepared, self.value.scale, self.result.scale)


def _layers(module: fx.GraphModule) -> Iterator[_Layer]:
    for node in module.graph.nodes:
        if node.target in (LINEAR, CONVOLUTION):
            yield _Layer(module, node, _rectified(node) or node)


def _rectified(node: fx.Node) -> fx.Node | None:
    """The ReLU that alone uses a node."""
    users = list(node.users)
    return users[0] if len(users) == 1 and users[0].target in RELU else None


def _replaced(
    module: fx.GraphModule, make: Callable[[_Layer], Any]
) -> tuple[fx.GraphModule, dict[str, Any], dict[str, str]]:
    """A copy of the module with other modules in the place of its layers, these, and why other layers stay."""
    changed = copy.deepcopy(module)
    graph = changed.graph
    taken: dict[str, Any] = {}
    stays: dict[str, str] = {}
    for layer in list(_layers(changed)):
        try:
            value, result = layer.value.node, layer.result.node
            taken[layer.name] = make(layer)
        except (AutocompError, _Stays) as error:
            stays[layer.name] = str(error)
            continue
        place = f"autocomp_{layer.name}"
        changed.add_submodule(place, taken[layer.name])
        with graph.inserting_before(result):
            result.replace_all_uses_with(graph.call_module(place, (value,)))
    graph.eliminate_dead_code()
    changed.recompile()
    return changed, taken, stays


def _work(node: fx.Node) -> int:
    """Multiply-accumulates; 0 of what neither multiplies matrices nor convolves."""
    if node.target in (LINEAR, CONVOLUTION):
        return math.prod(_shape(node)) * math.prod(_shape(node.args[1])[1:])
    if node.target in PRODUCTS:
        return math.prod(_shape(node)) * _shape(node.args[0])[-1]
    if node.target == ATTENTION:
        query, key, value = (_shape(argument) for argument in node.args[:3])
        return math.prod(query[:-1]) * key[-2] * (query[-1] + value[-1])
    return 0


def _shape(node: fx.Node) -> tuple[int, ...]:
    return tuple(node.meta["tensor_meta"].shape)


def _constant(owner: fx.GraphModule, node: fx.Node) -> torch.Tensor:
    if node.op != "get_attr":
        raise _Stays("its weights or biases are not constant")
    return _attribute(owner, str(node.target).split("."))


def _attribute(owner: Any, path: Sequence[str]) -> torch.Tensor:
    for name in path:
        owner = getattr(owner, name)
    return owner.detach()
