"""The rounding of operands of float32 convolutions by PyTorch's library on a device: some kinds it leaves as they are.

The library's choice of a kernel depends on the sizes and on the device. So each convolution runs once for each operand,
whose elements all lie in the middle between two numbers of tf32, while the other operand has such numbers alone. There
roundings differ in every element. The first image is compared with what each rounding gives in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.fx import GraphModule

KEPT = 13  # bits of a float32 number that tf32 leaves out


def _away(x: Tensor) -> Tensor:
    return _cut(x.view(torch.int32) + (1 << (KEPT - 1)))


def _to_even(x: Tensor) -> Tensor:
    bits = x.view(torch.int32)
    return _cut(bits + ((1 << (KEPT - 1)) - 1) + ((bits >> KEPT) & 1))


def _cut(bits: Tensor) -> Tensor:
    return (bits & -(1 << KEPT)).view(torch.float32)


def _to_zero(x: Tensor) -> Tensor:
    return _cut(x.view(torch.int32))


ROUNDINGS: dict[str, Callable[[Tensor], Tensor]] = {
    "no": lambda x: x,
    "away": _away,
    "even": _to_even,
    "zero": _to_zero,
}
CLEAR = 8.0  # how many times as large the next error must be for the least one to tell: rightly it is 300 or more


def roundings_of(graph: GraphModule, device: str) -> dict[str, tuple[str, str]]:
    """The roundings of both operands of each convolution of a graph, by the name that its document has for it. Left out
    are those that no rounding explains."""
    known: dict[str, tuple[str, str] | None] = {}
    found = {}
    for node in graph.graph.nodes:
        if node.op == "call_function" and node.target is torch.ops.aten.convolution.default:
            shapes = tuple(tuple(one.meta["val"].shape) for one in node.args[:2])
            key = repr((shapes, node.args[3:]))
            if key not in known:
                both = [rounding_of(shapes, at, node.args[3:], device) for at in range(2)]
                known[key] = (both[0], both[1]) if both[0] and both[1] else None
            if (roundings := known[key]) is not None:
                found[f"{node.name}_"] = roundings
    torch.cuda.empty_cache()  # others judge on the same device
    return found


def rounding_of(shapes: Sequence[tuple[int, ...]], position: int, how: tuple[object, ...], device: str) -> str:
    """The rounding of one operand that gives what is nearest to the library's result; empty where that is not clear."""
    generator = torch.Generator(device).manual_seed(1)
    x, w = (
        between(shape, generator) if at == position else _away(torch.randn(shape, generator=generator, device=device))
        for at, shape in enumerate(shapes)
    )
    with torch.no_grad():
        result = by_library(x, w, None, *how)[:1].double()
        errors = {}
        for name, rounded in ROUNDINGS.items():
            operands = (rounded(x[:1]), w) if position == 0 else (x[:1], rounded(w))
            expected = torch.ops.aten.convolution.default(operands[0].double(), operands[1].double(), None, *how)
            errors[name] = float((expected - result).square().mean().sqrt())
    least, following, *_ = sorted(errors, key=lambda name: errors[name])
    return least if CLEAR * errors[least] < errors[following] else ""


def by_library(x: Tensor, w: Tensor, *how: object) -> Tensor:
    """A convolution as the library makes it by default."""
    with torch.backends.cudnn.flags(enabled=True, benchmark=False, allow_tf32=True):
        result: Tensor = torch.ops.aten.convolution.default(x, w, *how)
    return result


def between(shape: Sequence[int], generator: torch.Generator) -> Tensor:
    """Random numbers in the middle between two neighbours of tf32."""
    x = _away(torch.randn(tuple(shape), generator=generator, device=generator.device))
    return (x.view(torch.int32) + (1 << (KEPT - 1))).view(torch.float32)
