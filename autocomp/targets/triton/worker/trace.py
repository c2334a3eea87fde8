"""A user's reference as a graph of PyTorch's operators: for starting kernels, and for how far roundings take a result.

The graph is traced in float64 and on tensors without contents, with operators taken apart into simpler ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functionalize
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._pytree import tree_map_only

from autocomp.errors import ConfigError
from autocomp.targets.triton.start.traced.graph import VIEWS
from autocomp.targets.triton.worker.decompositions import decompositions
from autocomp.targets.triton.worker.sums import Sums, moved, roots_of

aten = torch.ops.aten
EXACT = 1 << 53  # up to here float64 holds every integer


def traced(function: Callable[..., Any], tensors: Sequence[Tensor]) -> GraphModule:
    """The graph of a function for tensors like these. Raises ConfigError where it cannot be traced."""
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), sdpa_kernel(SDPBackend.MATH), torch.no_grad():
            examples = [_example(tensor) for tensor in tensors]
            graph = make_fx(functionalize(function), decomposition_table=decompositions())(*examples)
            # what operators are taken apart into may change tensors in place again
            return make_fx(functionalize(graph), decompositions())(*examples) if _changes(graph) else graph
    except Exception as error:
        if "non-functional tensor" in str(error):
            raise ConfigError("the reference changes a tensor of its own: make it an input and a result") from None
        raise ConfigError(f"the reference cannot be traced: {type(error).__name__}: {str(error)[:300]}") from None


def _changes(graph: GraphModule) -> bool:
    targets = (node.target for node in graph.graph.nodes)
    return any(one._schema.is_mutable for one in targets if isinstance(one, torch._ops.OpOverload))


def _example(tensor: Tensor) -> Tensor:
    dtype = torch.float64 if tensor.dtype.is_floating_point else tensor.dtype
    return torch.empty(tensor.shape, dtype=dtype)


def document(graph: GraphModule, names: Sequence[str]) -> dict[str, Any]:
    """A graph as a message has it; `names` are those of the inputs."""
    nodes: list[dict[str, Any]] = []
    outputs: list[str] = []
    given = iter(names)
    called: dict[str, str] = {}
    needed = _needed(graph)
    for node in graph.graph.nodes:
        if node.op == "call_function" and node not in needed:
            continue
        if node.op == "output":
            returned = node.args[0]
            outputs = [called[one.name] for one in (returned if isinstance(returned, (tuple, list)) else (returned,))]
            continue
        if node.op == "get_attr":
            if node in needed:
                called[node.name] = node.name
                nodes.append(_constant(node.name, getattr(graph, node.target)))
            continue
        if _name(node.target) == "getitem" and node.args[1] == 0:
            called[node.name] = called[node.args[0].name]  # the first result stands for the operator
            continue
        called[node.name] = next(given) if node.op == "placeholder" else f"{node.name}_"
        value = node.meta["val"]
        value = value[0] if isinstance(value, (tuple, list)) else value
        nodes.append(
            {
                "name": called[node.name],
                "op": "input" if node.op == "placeholder" else _name(node.target),
                "args": [_written(argument, called) for argument in node.args],
                "options": {key: _written(argument, called) for key, argument in node.kwargs.items()},
                "shape": list(value.shape),
                "dtype": str(value.dtype).removeprefix("torch."),
            }
        )
    return {"nodes": nodes, "outputs": outputs}


def _constant(name: str, tensor: Tensor) -> dict[str, Any]:
    """The node of a tensor that the reference makes from a number."""
    if tensor.numel() != 1:
        raise ConfigError(f"the reference uses a tensor of its own, {name}; make it an input or a parameter")
    dtype = str(tensor.dtype).removeprefix("torch.")
    args = [list(tensor.shape), tensor.item()]
    return {"name": name, "op": "full", "args": args, "options": {}, "shape": list(tensor.shape), "dtype": dtype}


def _needed(graph: GraphModule) -> set[torch.fx.Node]:
    """The nodes that the results depend on; changes of buffers in place are not among them."""
    nodes: set[torch.fx.Node] = set()
    for node in reversed(graph.graph.nodes):
        if node.op == "output" or node in nodes:
            nodes.update(node.all_input_nodes)
    return nodes


def _name(target: Any) -> str:
    """`aten.add.Tensor` is `add`; Python's `getitem` picks one of several results."""
    return (
        str(target).split(".")[1]
        if isinstance(target, torch._ops.OpOverload)
        else getattr(target, "__name__", str(target))
    )


def _written(argument: Any, called: Mapping[str, str]) -> Any:
    if isinstance(argument, torch.fx.Node):
        return {"ref": called[argument.name]}
    if isinstance(argument, (tuple, list)):
        return [_written(one, called) for one in argument]
    return argument if isinstance(argument, (bool, int, float)) or argument is None else str(argument)


class Rounded(torch.fx.Interpreter):  # type: ignore[misc]
    """Runs a graph on a device and hands each float result to `round_`, which may change it, with the operator's name
    and what its elements are sums of. A convolution of the inputs themselves is the same in every run, and slow in
    float64: `kept` has those of earlier runs."""

    def __init__(
        self,
        graph: GraphModule,
        device: torch.device,
        round_: Callable[[str, Tensor, Sums], Tensor] | None = None,
        kept: dict[str, tuple[Tensor, Tensor]] | None = None,
    ) -> None:
        super().__init__(graph)
        self._device = device
        self._round = round_
        self._kept = kept

    def run_node(self, n: torch.fx.Node) -> Any:
        inputs = all(one.op == "placeholder" for one in n.all_input_nodes)
        if self._kept is None or not inputs or _name(n.target) != "convolution":
            return super().run_node(n)
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        if n.name not in self._kept:
            self._kept[n.name] = n.target(*args, **kwargs), roots_of(n.target, args)
        result, roots = self._kept[n.name]
        if self._round is None:
            return result
        length = summed("convolution", args, args[0], result)
        return self._round("convolution", result.clone(), Sums(length, roots, partial(moved, n.target, args)))

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        result = self._result(target, args, kwargs)
        if isinstance(result, Tensor) and result.device != self._device:
            result = result.to(self._device)  # a constant of the graph, which was traced without a device
        if self._round is not None and isinstance(result, Tensor) and result.dtype == torch.float64:
            first = next((one for one in args if isinstance(one, Tensor)), result)
            name = _name(target)
            length = summed(name, args, first, result)
            roots = None
            if name == "convolution":
                roots = roots_of(target, args)
            elif length > 1 and name not in ("prod", "cumprod"):
                squared = [one * one if isinstance(one, Tensor) and one.dtype == torch.float64 else one for one in args]
                roots = super().call_function(target, tuple(squared), kwargs).sqrt()
            if length and any(isinstance(one, Tensor) and _shares(one, result) for one in args):
                result = result.clone()
            return self._round(name, result, Sums(length, roots, partial(moved, target, args)))
        return result

    def _result(self, target: Any, args: Any, kwargs: Any) -> Any:
        """An operator's result. GPUs lack some operators on integers, products of matrices among them: those run in
        float64 where that is exact, else on the host. Results may lie in another order than they were traced in."""
        target = aten.reshape.default if target is aten.view.default else target
        try:
            return super().call_function(target, args, kwargs)
        except NotImplementedError:
            if _name(target) in ("mm", "bmm") and _exact(*args):
                return (args[0].double() @ args[1].double()).to(torch.int64).to(args[0].dtype)
            host = tree_map_only(Tensor, lambda one: one.cpu(), (args, kwargs))
            return super().call_function(target, *host)


def _exact(a: Tensor, b: Tensor) -> bool:
    """True if float64 holds each sum in the product of two matrices of integers."""
    largest = [max(abs(int(one.min())), abs(int(one.max()))) if one.numel() else 0 for one in (a, b)]
    return bool(a.shape[-1] * largest[0] * largest[1] <= EXACT)


def _shares(one: Tensor, other: Tensor) -> bool:
    """True if two tensors lie in the same memory."""
    return bool(one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr())


def summed(name: str, args: Sequence[Any], first: Tensor, result: Tensor) -> int:
    """The number of terms of each sum in an operator's result; 1 where it adds up nothing, 0 for what only moves."""
    if name in ("mm", "bmm"):
        return int(first.shape[-1])
    if name == "convolution":
        weight = args[1]
        return int(weight.numel() // (weight.shape[1] if args[6] else weight.shape[0]))
    if name in ("sum", "prod", "avg_pool2d", "avg_pool3d"):
        return max(1, int(first.numel() // max(result.numel(), 1)))
    if name in ("cumsum", "cumprod"):
        return int(result.shape[int(args[1])]) if result.dim() else 1
    return 0 if name in MOVES else 1


MOVES = VIEWS | {
    "cat",
    "constant_pad_nd",
    "clone",
    "detach",
    "alias",
    "amax",
    "amin",
    "max_pool2d_with_indices",
    "max_pool3d_with_indices",
    "where",
    "relu",
    "neg",
    "abs",
    "gather",
    "index",
    "full",
    "full_like",
    "scalar_tensor",
    "zeros",
    "zeros_like",
    "ones",
    "ones_like",
    "arange",
    "clamp",
    "getitem",
    "lift_fresh_copy",
    "_to_copy",
}
