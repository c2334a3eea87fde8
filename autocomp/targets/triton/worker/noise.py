"""Monte Carlo arithmetic: results rounded at random, as float32 would round them (Parker, 1997)."""

from __future__ import annotations

import torch
from torch import Tensor

from autocomp.targets.triton.worker.compare import PART
from autocomp.workload.tensor.rounding import ACCUMULATOR, FUNCTION

DRAWS = 4  # runs with random roundings, of which the deviation of a result is estimated
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
    the operands of convolutions too."""

    def __init__(self, generator: torch.Generator, tf32: bool = False) -> None:
        self._generator = generator
        self._tf32 = tf32

    def __call__(self, target: str, result: Tensor, squares: Tensor | None, length: int) -> Tensor:
        if length == 0:
            return result
        unit = FUNCTION if target in FUNCTIONS else ACCUMULATOR
        of_operands = PRODUCT_OF_TF32 if self._tf32 and target == "convolution" else 0.0
        shaken = result.contiguous()
        flat, terms = shaken.view(-1), None if squares is None else squares.reshape(-1)
        for start in range(0, flat.numel(), PART):
            own = flat[start : start + PART]
            noise = torch.randn(own.shape, generator=self._generator, device=own.device, dtype=torch.float32)
            noise *= own if terms is None else abs(own) + 4.0 * terms[start : start + PART] ** 0.5
            own.add_(noise, alpha=unit * length**0.5)
            if of_operands and terms is not None:
                # its size is known: as a random sign, so that four runs estimate it without a spread of their own
                noise = torch.randint(2, own.shape, generator=self._generator, device=own.device, dtype=torch.int8)
                noise = (2 * noise - 1).to(torch.float32)
                noise *= terms[start : start + PART] ** 0.5
                own.add_(noise, alpha=of_operands)
        return shaken


def add_squares(sums: Tensor, value: Tensor, other: Tensor) -> None:
    """Add the squared distances of a run's results to the mean over all runs."""
    flat, exact, shaken = sums.view(-1), value.reshape(-1), other.reshape(-1)
    for start in range(0, flat.numel(), PART):
        part = slice(start, start + PART)
        miss = (shaken[part] - exact[part]).to(torch.float32).nan_to_num_(nan=0.0, posinf=0.0, neginf=0.0)
        flat[part].add_(miss.square_(), alpha=1 / DRAWS)
