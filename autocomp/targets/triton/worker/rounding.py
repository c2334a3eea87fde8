"""The rounding of operands of float32 convolutions by PyTorch's library on a device: some kinds it leaves as they are.

The library's choice of a kernel depends on the sizes and on the device. So each convolution runs once on random
operands, and the first image is compared with what each rounding gives in float64.
"""

from __future__ import annotations

from collections.abc import Callable

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


ROUNDINGS: dict[str, Callable[[Tensor], Tensor]] = {"no": lambda x: x, "away": _away, "even": _to_even}


def roundings_of(graph: GraphModule, device: str) -> dict[str, str]:
    """The rounding of each convolution of a graph, by the name that its document has for it."""
    known: dict[str, str] = {}
    found = {}
    for node in graph.graph.nodes:
        if node.op == "call_function" and node.target is torch.ops.aten.convolution.default:
            source, weight = (tuple(one.meta["val"].shape) for one in node.args[:2])
            key = repr((source, weight, node.args[3:]))
            if key not in known:
                known[key] = _rounding(source, weight, node.args[3:], device)
            found[f"{node.name}_"] = known[key]
    torch.cuda.empty_cache()  # others judge on the same device
    return found


def _rounding(source: tuple[int, ...], weight: tuple[int, ...], how: tuple[object, ...], device: str) -> str:
    """The rounding that gives what is nearest to the library's result."""
    generator = torch.Generator(device).manual_seed(1)
    x, w = (torch.randn(shape, generator=generator, device=device) for shape in (source, weight))
    convolve = torch.ops.aten.convolution.default
    with torch.no_grad(), torch.backends.cudnn.flags(enabled=True, benchmark=False, allow_tf32=True):
        result = convolve(x, w, None, *how)[:1].double()
        errors = {
            name: float((convolve(rounded(x[:1]).double(), rounded(w).double(), None, *how) - result).square().mean())
            for name, rounded in ROUNDINGS.items()
        }
    return min(errors, key=lambda name: errors[name])
