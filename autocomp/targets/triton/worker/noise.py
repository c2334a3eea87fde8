"""Monte Carlo arithmetic: results rounded at random, as float32 would round them (Parker, 1997)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from autocomp.targets.triton.worker.compare import PART
from autocomp.targets.triton.worker.sums import Sums
from autocomp.workload.tensor.rounding import ACCUMULATOR, CONFIDENCE, FUNCTION

DRAWS = 4  # runs with random roundings, of which the deviation of a result is estimated
PAIRS = 8  # of runs that move operands in opposite directions, where operands are rounded
PRODUCT_OF_TF32 = (2 / 3) ** 0.5 * 2.0**-11  # standard deviation of a product whose two factors are rounded to 11 bits
FUNCTIONS = frozenset(
    [
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log1p",
        "sin",
        "cos",
        "tanh",
        "erf",
        "sigmoid",
        "pow",
        "sqrt",
        "rsqrt",
        "div",
        "reciprocal",
        "gelu",
    ]
)


class Noise:
    """Roundings at random, part by part and in place: of each result, and of the partial sums in it. With `tf32`, of
    the operands of convolutions too: two draws in turn move them in opposite directions. All are as large then as the
    largest that are allowed, so that one of the two goes past where a function bends if a right kernel may."""

    def __init__(self, generator: torch.Generator, draw: int = 0, tf32: bool = False) -> None:
        self._generator = generator
        self._draw = draw
        self._tf32 = tf32
        self.size = CONFIDENCE if tf32 else 1.0  # in standard deviations

    def __call__(self, target: str, result: Tensor, sums: Sums) -> Tensor:
        if sums.length == 0:
            return result
        unit = FUNCTION if target in FUNCTIONS else ACCUMULATOR
        shaken = result.contiguous()
        flat, roots = shaken.view(-1), None if sums.roots is None else sums.roots.reshape(-1)
        for start in range(0, flat.numel(), PART):
            own = flat[start : start + PART]
            noise = torch.randn(own.shape, generator=self._generator, device=own.device, dtype=torch.float32)
            noise *= own if roots is None else abs(own) + 4.0 * roots[start : start + PART]
            own.add_(noise, alpha=self.size * unit * sums.length**0.5)
        if self._tf32 and target == "convolution" and roots is not None and sums.moved is not None:
            self._move(flat, roots, sums.moved)
        return shaken

    def _move(self, flat: Tensor, roots: Tensor, moved: Callable[[torch.Generator], Tensor]) -> None:
        """Roundings of operands. Their size in a result is known: so only their sign is drawn, and few runs estimate
        them without a spread of their own. Results that depend on several convolved ones need more runs."""
        own = torch.Generator(flat.device).manual_seed(1 + self._draw // 2)
        signs = moved(own).reshape(-1)
        size = self.size * PRODUCT_OF_TF32 * (-1.0) ** self._draw
        for start in range(0, flat.numel(), PART):
            part = slice(start, start + PART)
            flat[part].add_(torch.copysign(roots[part], signs[part].to(roots.dtype)), alpha=size)


def add_squares(sums: Tensor, value: Tensor, others: Sequence[Tensor], share: float) -> None:
    """Add `share` of the squared distances of some runs' results, the largest of each element."""
    flat, exact, runs = sums.view(-1), value.reshape(-1), [other.reshape(-1) for other in others]
    for start in range(0, flat.numel(), PART):
        part = slice(start, start + PART)
        misses = [(run[part] - exact[part]).to(torch.float32) for run in runs]
        largest = functools.reduce(torch.maximum, [miss.abs_().nan_to_num_(nan=0.0, posinf=0.0) for miss in misses])
        flat[part].add_(largest.square_(), alpha=share)
