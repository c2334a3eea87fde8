"""The sums that elements of a result are, and what roundings of their terms do to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Sums:
    """The terms of each element of a result: their number, 0 where it only moves, and the root of the sum of their
    squares. `moved` draws a change of the result, as random changes of the operands make it."""

    length: int
    roots: Tensor | None = None
    moved: Callable[[torch.Generator], Tensor] | None = None


def roots_of(target: Any, args: Sequence[Any]) -> Tensor:
    """The roots of sums of squared terms of a convolution, in float32: their size is all that counts. Operands are
    scaled so that no square leaves its range."""
    (x, size), (weight, other) = _scaled(args[0]), _scaled(args[1])
    result: Tensor = target(x.square_(), weight.square_(), None, *args[3:])
    return result.sqrt_().mul_(size * other)


def moved(target: Any, args: Sequence[Any], generator: torch.Generator) -> Tensor:
    """The change of a convolution, but for a factor, where each element of its operands changes by a random part of
    it: results that share operands change together."""
    (x, _), (weight, _) = _scaled(args[0]), _scaled(args[1])
    result: Tensor = target(x, _shaken(weight, generator), None, *args[3:])
    return result.add_(target(_shaken(x, generator), weight, None, *args[3:]))


def _scaled(tensor: Tensor) -> tuple[Tensor, float]:
    size = float(tensor.abs().max()) if tensor.numel() else 0.0
    size = size if 0.0 < size < float("inf") else 1.0
    return (tensor / size).to(torch.float32), size


def _shaken(tensor: Tensor, generator: torch.Generator) -> Tensor:
    noise = torch.rand(tensor.shape, generator=generator, device=tensor.device, dtype=torch.float32)
    return noise.mul_(2.0).sub_(1.0).mul_(tensor)
