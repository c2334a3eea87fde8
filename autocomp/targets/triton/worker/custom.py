"""An operation that a user defines in PyTorch: a function of tensors, or a module in KernelBench's format.

A module's class is called `Model`; `get_init_inputs()` gives what it is made of and `get_inputs()` draws what it is
given. Its parameters are inputs of the kernel too, after those of `forward`, then the buffers that results depend on.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from autocomp.errors import ConfigError
from autocomp.targets.triton.start.traced.graph import graph_of
from autocomp.targets.triton.start.traced.summed import with_summed_operands
from autocomp.targets.triton.worker.compare import PART
from autocomp.targets.triton.worker.estimate import Reference
from autocomp.targets.triton.worker.kinds import IN_PLACE_OF, Kind
from autocomp.targets.triton.worker.memory import TYPES
from autocomp.targets.triton.worker.rounding import roundings_of
from autocomp.targets.triton.worker.trace import document, traced
from autocomp.targets.triton.worker.turns import Turns
from autocomp.workload.datatypes import data_type
from autocomp.workload.tensor import Expected, Operand, Operation
from autocomp.workload.tensor.operation import Dims, OptionValues, Work
from autocomp.workload.tensor.rounding import ACCUMULATOR, total

SPREAD = 0.1  # standard deviation of what is added to a parameter: one that is 1 or 0 everywhere can be left out
WIDE = 2.0  # rows differ by factors up to e^WIDE either way
PARTLY = frozenset(
    ["slice", "select", "gather", "index", "index_select", "embedding"]
)  # operators that read some elements
PRODUCTS = frozenset({"mm", "bmm", "convolution"})
FILLING = frozenset({torch.ops.aten.uniform_.default, torch.ops.aten.normal_.default})
FACTORS = frozenset({"prod", "cumprod"})  # operators that multiply many elements, and so leave the range of their type
NEAR = 0.02  # standard deviation of the logarithm of factors whose products stay within it


@dataclass(frozen=True)
class Problem:
    """The user's reference. `run` maps tensors to results; `draw` gives inputs, None where there is no such function;
    `parameters` are the names of those that belong to a module, the last of them its `buffers`."""

    run: Callable[..., Any]
    inputs: tuple[str, ...]
    draw: Callable[[], list[Any]] | None = None
    parameters: tuple[str, ...] = ()
    buffers: tuple[str, ...] = ()


def problem_of(text: str, name: str, names: Sequence[str] = ()) -> Problem:
    """The reference of a file's text. A function's inputs have `names`; of a module's buffers, those among them are
    inputs, or all where there are no names. Raises ConfigError where the file does not have it."""
    module = ModuleType("autocomp_reference")
    try:
        exec(compile(text, "reference.py", "exec"), module.__dict__)
    except Exception as error:
        raise ConfigError(f"the reference failed to load: {type(error).__name__}: {error}") from None
    attribute = getattr(module, name, None)
    if isinstance(attribute, type) and issubclass(attribute, torch.nn.Module):
        return _problem_of_module(module, attribute, names)
    if not callable(attribute):
        raise ConfigError(f"the reference has no function or module {name!r}", hint="`reference` is file.py:name")
    return Problem(lambda *tensors: attribute(**dict(zip(names, tensors, strict=True))), tuple(names))


def _problem_of_module(module: ModuleType, kind: type[torch.nn.Module], names: Sequence[str]) -> Problem:
    first, made = getattr(module, "get_init_inputs", list), getattr(module, "get_inputs", None)
    if made is None:
        raise ConfigError("the reference has a module and no function get_inputs()")
    with _Unfilled():
        model = kind(*first())
    parameters = dict(model.named_parameters())
    own = {name: buffer for name, buffer in model.named_buffers() if not names or _identifier(name) in names}
    others = {name: buffer for name, buffer in model.named_buffers() if name not in own}
    examples = _shapes(made)
    forward = list(inspect.signature(model.forward).parameters)
    inputs = [name for name, value in zip(forward, examples, strict=False) if isinstance(value, Tensor)]
    of_module = tuple(_identifier(name) for name in (*parameters, *own))

    def run(*tensors: Tensor) -> Any:
        given = iter(tensors)
        full = tuple(_typed(next(given), value) if isinstance(value, Tensor) else value for value in examples)
        told = {name: _shaped(_typed(next(given), value), value) for name, value in (parameters | own).items()}
        kept = {name: _like(buffer, tensors) for name, buffer in others.items()}
        return torch.func.functional_call(model, told | kept, full)

    def draw() -> list[Any]:
        fresh = kind(*first())
        drawn = [value for value in made() if isinstance(value, Tensor)]
        kept = [_drawn_like(buffer) for name, buffer in fresh.named_buffers() if name in own]
        return drawn + [_drawn_near(parameter) for parameter in fresh.parameters()] + kept

    return Problem(run, (*inputs, *of_module), draw, of_module, of_module[len(parameters) :])


class _Unfilled(TorchDispatchMode):  # type: ignore[misc]
    """Does not draw values of parameters, of which the shape is enough: a network's may take minutes."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in FILLING and args and isinstance(args[0], torch.nn.Parameter):
            return args[0]
        return func(*args, **(kwargs or {}))


def _shapes(made: Callable[[], list[Any]]) -> list[Any]:
    """Inputs without contents, which may be many gigabytes; with contents where the drawing of them reads some."""
    try:
        with torch.device("meta"):
            return made()
    except (RuntimeError, NotImplementedError):
        return made()


def _shaped(tensor: Tensor, parameter: Tensor) -> Tensor:
    """A parameter's value: a number is shared with kernels as a tensor of one element."""
    return tensor if tensor.shape == parameter.shape else tensor.reshape(parameter.shape)


def _drawn_near(parameter: Tensor) -> Tensor:
    """A parameter, moved at random."""
    moved = parameter.detach() + SPREAD * torch.randn_like(parameter)
    return moved.reshape(moved.shape or (1,))


def _drawn_like(buffer: Tensor) -> Tensor:
    """A buffer; one of the same number everywhere is moved at random, as it could be left out otherwise."""
    if buffer.is_meta or not buffer.is_floating_point() or not bool((buffer == buffer.view(-1)[0]).all()):
        return buffer.reshape(buffer.shape or (1,))
    return _drawn_near(buffer)


def _typed(tensor: Tensor, example: Tensor) -> Tensor:
    """A tensor as the module takes it: truth values are shared with kernels as bytes."""
    return tensor != 0 if example.dtype == torch.bool and tensor.dtype != torch.bool else tensor


def _identifier(name: str) -> str:
    return name.replace(".", "_")


def _like(buffer: Tensor, tensors: Sequence[Tensor]) -> Tensor:
    """A buffer in the type and on the device of the tensors."""
    first = next((one for one in tensors if one.dtype.is_floating_point), None)
    if first is None or not buffer.dtype.is_floating_point:
        return buffer.clone()
    return buffer.to(dtype=first.dtype, device=first.device)


def describe(text: str, name: str) -> dict[str, Any]:
    """The `tensors` of a problem in KernelBench's format, inputs first, and what its workload must say of its
    `convolutions`. Nothing of the tensors' size is filled."""
    try:
        with torch.device("meta"):
            problem, drawn = _drawn_once(text, name)
    except (RuntimeError, NotImplementedError):  # it reads numbers of its tensors
        with _Unfilled():
            problem, drawn = _drawn_once(text, name)
    if not drawn:
        raise ConfigError(f"{name!r} is not a module with get_inputs(): state its tensors in a workload file")
    drawn = [tensor.to(torch.uint8) if tensor.dtype == torch.bool else tensor for tensor in drawn]
    outputs = document(traced(problem.run, drawn), problem.inputs)
    by_name = {node["name"]: node for node in outputs["nodes"]}
    used = {ref for node in outputs["nodes"] for ref in _refs(node["args"])} | set(outputs["outputs"])
    floats = next((str(t.dtype) for t in drawn if t.dtype.is_floating_point), "torch.float32").removeprefix("torch.")
    inputs = [
        {"name": name, "dtype": _stored_type(tensor.dtype), "shape": list(tensor.shape), "role": "input"}
        for name, tensor in zip(problem.inputs, drawn, strict=True)
        if name in used or name not in problem.buffers
    ]
    for position, result in enumerate(outputs["outputs"]):
        node = by_name[result]
        dtype = floats if "float" in node["dtype"] else node["dtype"]
        name = "out" if len(outputs["outputs"]) == 1 else f"out{position}"
        inputs.append({"name": name, "dtype": dtype, "shape": node["shape"] or [1], "role": "output"})
    convolves = any(node["op"] == "convolution" for node in outputs["nodes"])
    return {"tensors": inputs, "convolutions": "tf32" if convolves and floats == "float32" else "float32"}


def _drawn_once(text: str, name: str) -> tuple[Problem, list[Any]]:
    problem = problem_of(text, name)
    return problem, problem.draw() if problem.draw is not None else []


def _stored_type(dtype: torch.dtype) -> str:
    return "uint8" if dtype == torch.bool else str(dtype).removeprefix("torch.")


@cache
def custom_operation(text: str) -> CustomOperation:
    """The operation of a task's `custom` document, as JSON text. Its reference runs here: the user trusts it."""
    told = json.loads(text)
    operands = tuple(Operand(t["name"], t["dtype"], tuple(t["shape"]), t["role"], centre=1.0) for t in told["tensors"])
    ranges = {name: (low, high) for name, (low, high) in told.get("ranges", {}).items()}
    names = [operand.name for operand in operands if operand.role == "input"]
    problem = problem_of(told["reference"], told["name"], names)
    tf32 = told.get("convolutions") == "tf32"
    return CustomOperation(problem, operands, ranges, told.get("tolerance") or {}, tf32)


@dataclass(eq=False)
class CustomOperation(Operation):
    """A user's operation, at its own size alone: what else it is defined for, nobody says."""

    problem: Problem
    tensors: tuple[Operand, ...]
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    tolerance: Mapping[str, float] = field(default_factory=dict)
    tf32: bool = False  # True where kernels may round the operands of convolutions
    name = "custom"
    doc = "a function of PyTorch"
    dims = ()

    def operands(self, dims: Dims, dtype: str, options: OptionValues) -> tuple[Operand, ...]:
        """The tensors; those of a type that an interpreter replaces by `dtype` have that."""
        return tuple(replace(t, dtype=dtype) if IN_PLACE_OF.get(t.dtype) == dtype else t for t in self.tensors)

    def edges(self, dims: Dims, options: OptionValues) -> tuple[Dims, ...]:
        return (dims,)

    def work(self, dims: Dims, dtype: str, options: OptionValues) -> Work:
        return Work(tensor=self.needs["products"], multiplied=dtype)

    @cached_property
    def graph(self) -> torch.fx.GraphModule:
        return self.reference.graph([torch.empty(o.shape, dtype=TYPES[o.dtype], device="meta") for o in self.given])

    @cached_property
    def reference(self) -> Reference:
        return Reference(self.problem.run, tuple(self.results), self.problem.parameters, self.tf32)

    @property
    def given(self) -> list[Operand]:
        return [operand for operand in self.tensors if operand.role == "input"]

    @property
    def results(self) -> list[Operand]:
        return [operand for operand in self.tensors if operand.role == "output"]

    @property
    def document(self) -> dict[str, Any]:
        return document(self.graph, [operand.name for operand in self.given])

    def document_on(self, device: str) -> dict[str, Any]:
        """The document, with how the library on a device rounds the operands of convolutions, where kernels may."""
        told = self.document
        if self.tf32 and device != "cpu":
            with Turns(device).alone():
                roundings = roundings_of(self.graph, device)
            for node in told["nodes"]:
                if node["name"] in roundings:
                    node["options"]["roundings"] = list(roundings[node["name"]])
        return told

    @cached_property
    def needs(self) -> dict[str, int]:
        """Bytes that must be read and written at least, and operations in products of matrices: sums of convolutions
        need few, as operands may be added first."""
        nodes = self.document["nodes"]
        users: dict[str, set[str]] = {}
        for node in nodes:
            for ref in _refs(node["args"]):
                users.setdefault(ref, set()).add(node["op"])
        read = [o for o in self.given if users.get(o.name, set()) - PARTLY]
        moved = sum(data_type(o.dtype).bytes(math.prod(o.shape)) for o in (*read, *self.results))
        graph = with_summed_operands(graph_of(self.document))
        products = 0
        for node in graph.needed():
            if node.op in PRODUCTS:
                weight = graph[node.args[1]].shape
                if node.op == "convolution":
                    # each input of a transposed one is multiplied by a filter's weights, else each result
                    base = graph[node.args[0]].elements if node.args[6] else node.elements
                    products += 2 * base * math.prod(weight[1:])
                else:
                    products += 2 * node.elements * weight[-2]
        return {"bytes": moved, "products": products}

    def draw(self, kind: str, seed: int, device: str) -> dict[str, Tensor] | None:
        """Inputs of a kind; None where the usual ones do."""
        if self.problem.draw is not None:
            with torch.random.fork_rng(devices=[] if device == "cpu" else [device]), torch.device(device):
                torch.manual_seed(seed)
                drawn = dict(zip(self.problem.inputs, self.problem.draw(), strict=True))
                if kind != "wide":
                    return drawn
                return {n: _near_one(t) if self._multiplies else _widened(t) for n, t in drawn.items()}
        if not self.ranges:
            return None
        generator = torch.Generator(device).manual_seed(seed)
        return {o.name: _ranged(o, kind, self.ranges.get(o.name, (-1.0, 1.0)), generator, device) for o in self.given}

    @cached_property
    def _multiplies(self) -> bool:
        """True where random inputs say little, as products of many of them are zero, and those of different magnitudes
        refuse right kernels: parts of a product overflow where the whole does not."""
        try:
            return any(node["op"] in FACTORS for node in self.document["nodes"])
        except ConfigError:
            return False

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds of values that suit the inputs, besides random ones."""
        if self.problem.draw is not None:
            return ("wide",)
        return ("constant",) if self.ranges else ("centred", "wide", "sparse", "constant", "zeros")

    def expected(
        self, xp: Any, given: Mapping[str, Tensor], dims: Dims, dtype: str, options: OptionValues
    ) -> dict[str, Expected]:
        """The results in float64. The inputs may be of their own types."""
        return self.expected_of(given)

    def expected_of(self, given: Mapping[str, Tensor], closer: bool = False) -> dict[str, Expected]:
        """The results in float64; with `closer`, from more runs."""
        inputs = {operand.name: given[operand.name] for operand in self.given}
        with torch.no_grad():
            try:
                self.graph  # noqa: B018
            except ConfigError:
                if not self.tolerance:
                    raise
                return self._stated(self.reference.values(list(inputs.values())))
            results = zip(self.results, self.reference.estimates(inputs, closer), strict=True)
            return {o.name: Expected(value, self._tolerance(o, value, squared)) for o, (value, squared) in results}

    def _tolerance(self, operand: Operand, value: Tensor, squared: Tensor) -> Tensor:
        """In float32, part by part and in place: a benchmark's tensors may fill a good part of the device."""
        if not data_type(operand.dtype).is_float:
            return torch.zeros_like(value, dtype=torch.float32)
        values, bound = value.view(-1).split(PART), squared.view(-1).split(PART)
        sizes = (one.to(torch.float32).nan_to_num_(nan=0.0, posinf=0.0, neginf=0.0) for one in values)
        norm = math.hypot(*(float(size.norm()) for size in sizes))
        least = float(squared.mean(dtype=torch.float64)) + (ACCUMULATOR * norm) ** 2 / value.numel()
        for one, own in zip(values, bound, strict=True):
            size = one.to(torch.float32).nan_to_num_(nan=0.0, posinf=0.0, neginf=0.0)
            own.copy_(total(size, own.add_(least).sqrt_(), operand.dtype))
            if self.tolerance:
                torch.maximum(own, _stated(self.tolerance, size), out=own)
        return squared

    def _stated(self, values: Sequence[Tensor]) -> dict[str, Expected]:
        results = zip(self.results, values, strict=True)
        return {operand.name: Expected(value, _stated(self.tolerance, value)) for operand, value in results}


def _stated(tolerance: Mapping[str, float], value: Tensor) -> Tensor:
    return abs(value) * tolerance.get("relative", 0.0) + tolerance.get("absolute", 0.0)


def _widened(tensor: Tensor) -> Tensor:
    if not tensor.dtype.is_floating_point or tensor.dim() < 2:
        return tensor
    rows = torch.rand((*tensor.shape[:-1], 1), device=tensor.device)
    return (tensor * torch.exp(WIDE * (2.0 * rows - 1.0))).to(tensor.dtype)


def _near_one(tensor: Tensor) -> Tensor:
    return torch.exp(NEAR * torch.randn_like(tensor)) if tensor.dtype.is_floating_point else tensor


def _ranged(
    operand: Operand, kind: str, between: tuple[float, float], generator: torch.Generator, device: str
) -> Tensor:
    low, high = between
    dtype = TYPES[operand.dtype]
    if kind == "constant":
        return torch.full(operand.shape, (low + high) / 2, dtype=dtype, device=device)
    if not dtype.is_floating_point:
        return torch.randint(int(low), int(high) + 1, operand.shape, generator=generator, device=device, dtype=dtype)
    return (low + (high - low) * torch.rand(operand.shape, generator=generator, device=device)).to(dtype)


def _refs(arguments: Any) -> list[str]:
    if isinstance(arguments, Mapping):
        return [arguments["ref"]]
    return [ref for one in arguments for ref in _refs(one)] if isinstance(arguments, list) else []
