"""A quantised model in ONNX Runtime whose multiplications and convolutions run as our kernels, on the simulator.

The graph is cut where a kernel takes over: what lies between is run by sessions of ONNX Runtime, one a section.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autocomp.errors import ConfigError, KernelError
from autocomp.models.kernels import Choose, known_kernel
from autocomp.models.offload import Array, Offload, Stays, offload
from autocomp.models.shapes import attributes_of, known_shapes, load_model
from autocomp.simulator import SimulationOptions, _core, run_program
from autocomp.targets.protocol import Target
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.target import accelerator_of


@dataclass(frozen=True)
class Taken:
    """A node that runs as a kernel. `source` is the schedule's file, or `naive`."""

    offload: Offload
    kernel: str
    source: str
    program: _core.Program
    names: tuple[str, ...]  # of the kernel's parameters


@dataclass(frozen=True)
class Section:
    """Nodes that ONNX Runtime runs between two kernels."""

    session: Any
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """The results of one inference: the graph's outputs, and the cycles of each kernel by its node, if timed."""

    outputs: Mapping[str, Array]
    cycles: Mapping[str, int]


class PartitionedModel:
    """An ONNX model cut in parts. `taken` are those on the accelerator, `stays` says of every other quantised
    multiplication and convolution why it is not. Raises ConfigError where the model or a package is not as it has to
    be."""

    def __init__(self, path: Path, target: Target, choose: Choose = known_kernel) -> None:
        self._model = load_model(path)
        self._target = target
        self._accelerator = accelerator_of(target, "a partitioned model")
        self._tables = isa.lower(self._accelerator)
        self.stays: dict[str, str] = {}
        self._parts: list[Taken | Section] = list(self._cut(choose))

    @property
    def taken(self) -> tuple[Taken, ...]:
        return tuple(part for part in self._parts if isinstance(part, Taken))

    def run(self, inputs: Mapping[str, Array], *, timed: bool = False) -> Run:
        """One inference. Raises KernelError where a kernel fails on the simulator."""
        values: dict[str, Array] = dict(inputs)
        cycles: dict[str, int] = {}
        for part in self._parts:
            if isinstance(part, Section):
                feed = {name: values[name] for name in part.inputs}
                values.update(zip(part.outputs, part.session.run(part.outputs, feed), strict=True))
            else:
                value, took = self._simulated(part, values[part.offload.input], timed)
                values[part.offload.output] = value
                if took is not None:
                    cycles[part.offload.node] = took
        return Run({output.name: values[output.name] for output in self._model.graph.output}, cycles)

    def _simulated(self, part: Taken, value: Array, timed: bool) -> tuple[Array, int | None]:
        tensors = part.offload.workload.tensors
        operands = part.offload.operands(value)
        given = {name: operands[tensor.name] for name, tensor in zip(part.names, tensors, strict=True)}
        result = run_program(self._tables.machine, part.program, given, SimulationOptions(timing=timed))
        if result.error is not None:
            raise KernelError(f"the kernel of {part.offload.node} from {part.source}: {result.error.message}")
        output = part.offload.workload.outputs[0].name
        name = next(name for name, tensor in zip(part.names, tensors, strict=True) if tensor.name == output)
        return part.offload.value(result.outputs[name]), None if result.timing is None else result.timing.cycles

    def _cut(self, choose: Choose) -> Iterator[Taken | Section]:
        import onnx

        graph = self._model.graph
        constants = {i.name: onnx.numpy_helper.to_array(i) for i in graph.initializer}
        shapes = known_shapes(graph)
        host: list[Any] = []
        within: set[str] = set()  # results of nodes that run within a kernel
        for node in graph.node:
            if node.output[0] in within:
                continue
            relu = self._relu_behind(node)
            try:
                offloaded = offload(node, attributes_of(node), shapes, constants, self._accelerator, relu)
                part = self._taken(offloaded, choose)
            except Stays as reason:
                if node.op_type.startswith("Q") and node.op_type != "QuantizeLinear":
                    self.stays[node.name or node.output[0]] = str(reason)
                host.append(node)
                continue
            within.add(offloaded.output)
            if host:
                yield self._section(host)
                host = []
            yield part
        if host:
            yield self._section(host)

    def _relu_behind(self, node: Any) -> str:
        """The result of the RELU that alone uses a node's result; "" where no such node is."""
        graph, name = self._model.graph, node.output[0]
        users = [other for other in graph.node if name in other.input]
        alone = len(users) == 1 and not any(output.name == name for output in graph.output)
        return str(users[0].output[0]) if alone and users[0].op_type == "Relu" else ""

    def _taken(self, offloaded: Offload, choose: Choose) -> Taken:
        workload = offloaded.workload
        try:
            text, source = choose(workload, self._target)
        except ConfigError as error:
            raise Stays(error.message) from None
        tree = kernel.parse(text, source, {**self._accelerator.all_constants, **workload.constants})
        checked = kernel.check(tree, self._accelerator, workload.constants, workload.tensors)
        names = tuple(parameter.name for parameter in checked.parameters)
        return Taken(offloaded, text, source, kernel.link(checked.program, self._tables), names)

    def _section(self, nodes: Sequence[Any]) -> Section:
        """A session of its own for these nodes."""
        from onnx import helper

        graph = self._model.graph
        made = {name for node in nodes for name in node.output}
        read = dict.fromkeys(name for node in nodes for name in node.input if name and name not in made)
        constants = [i for i in graph.initializer if i.name in read]
        inputs = [name for name in read if name not in {i.name for i in constants}]
        own = {id(node) for node in nodes}
        wanted = {name for node in graph.node if id(node) not in own for name in node.input}
        wanted |= {output.name for output in graph.output}
        outputs = [name for name in dict.fromkeys(n for node in nodes for n in node.output) if name in wanted]
        types = {info.name: info for info in (*graph.input, *graph.value_info, *graph.output)}
        missing = [name for name in (*inputs, *outputs) if name not in types]
        if missing:
            raise ConfigError(f"the type of tensor {missing[0]!r} is not known: fix the sizes of the model's inputs")
        part = helper.make_graph(
            list(nodes), "section", [types[n] for n in inputs], [types[n] for n in outputs], constants
        )
        model = helper.make_model(part, opset_imports=self._model.opset_import, ir_version=self._model.ir_version)
        return Section(session(model.SerializeToString()), tuple(inputs), tuple(outputs))


def session(model: bytes | str) -> Any:
    """A session that runs a model node by node as the graph says, so that results do not depend on how it is cut."""
    try:
        import onnxruntime
    except ImportError:
        raise ConfigError(
            "running models needs the package onnxruntime", hint="pip install 'autocomp[onnxruntime]'"
        ) from None
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
