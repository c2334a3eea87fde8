"""Results of a reference in float64, and how far a right kernel's may be from them.

The error is estimated by Monte Carlo arithmetic (Parker, 1997): every operator's result is rounded at random, as
float32 would, in several runs. A large batch is evaluated a few rows at a time where each row has a result of its own,
so that what is computed in between needs little memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule

from autocomp.errors import ConfigError
from autocomp.targets.triton.worker.noise import DRAWS, PAIRS, Noise, add_squares
from autocomp.targets.triton.worker.parts import parts, rows_of_part
from autocomp.targets.triton.worker.trace import Rounded, traced
from autocomp.workload.tensor import Operand

CLOSER = 4  # times as many runs, for a closer look


@dataclass(frozen=True)
class Reference:
    """A function of tensors. `shared` are inputs that all rows of a batch use, parameters for example. With `tf32`,
    kernels may round the operands of convolutions."""

    run: Callable[..., Any]
    results: tuple[Operand, ...]
    shared: tuple[str, ...] = ()
    tf32: bool = False
    graphs: dict[tuple[torch.Size, ...], GraphModule] = field(default_factory=dict, repr=False, compare=False)

    def graph(self, tensors: Sequence[Tensor]) -> GraphModule:
        """The graph of the operators, for tensors like these. Raises ConfigError."""
        shapes = tuple(one.shape for one in tensors)
        if shapes not in self.graphs:
            self.graphs[shapes] = traced(self.run, [torch.empty_like(one, device="meta") for one in tensors])
        return self.graphs[shapes]

    def values(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The results in float64. Raises ConfigError where they do not have the shapes that were stated."""
        return self._results(self.run(*map(_wide, tensors)))

    def estimates(self, inputs: Mapping[str, Tensor], closer: bool = False) -> list[tuple[Tensor, Tensor]]:
        """Each result in float64, and in float32 the estimated square of its standard deviation."""
        rounds = (PAIRS if self.tf32 else DRAWS) * (CLOSER if closer else 1)
        generator = torch.Generator(next(iter(inputs.values())).device).manual_seed(1)
        results = [operand.shape for operand in self.results]
        size = 4 * (sum(one.numel() for one in inputs.values()) + sum(map(math.prod, results)))
        at_once = rows_of_part(lambda *some: listed(self.run(*map(_wide, some))), inputs, self.shared, results, size)
        if not at_once:
            return self._estimated(list(inputs.values()), rounds, generator)
        empty = [torch.empty(shape, dtype=torch.float64, device=generator.device) for shape in results]
        estimates = [(value, torch.empty_like(value, dtype=torch.float32)) for value in empty]
        for part, own in parts(inputs, self.shared, results[0][0], at_once):
            estimated = self._estimated(list(own.values()), rounds, generator, part.stop - part.start)
            for (value, squared), (own_value, own_squared) in zip(estimates, estimated, strict=True):
                value[part], squared[part] = own_value, own_squared
        return estimates

    def _estimated(
        self, inputs: Sequence[Tensor], rounds: int, generator: torch.Generator, rows: int = 0
    ) -> list[tuple[Tensor, Tensor]]:
        graph, tensors = self.graph(inputs), [_wide(one) for one in inputs]
        kept: dict[str, tuple[Tensor, Tensor]] = {}
        exact = self._results(Rounded(graph, generator.device, None, kept).run(*tensors), rows)
        deviations = [torch.zeros_like(value, dtype=torch.float32) for value in exact]
        at_once = 2 if self.tf32 else 1  # draws that move operands in opposite directions
        for first in range(0, rounds * at_once, at_once):
            noises = [Noise(generator, draw, self.tf32) for draw in range(first, first + at_once)]
            runs = [
                self._results(Rounded(graph, generator.device, noise, kept).run(*tensors), rows) for noise in noises
            ]
            share = 1.0 / (rounds * noises[0].size ** 2)
            for place, value in enumerate(exact):
                add_squares(deviations[place], value, [run[place] for run in runs], share)
            del runs
        return list(zip(exact, deviations, strict=True))

    def _results(self, returned: Any, rows: int = 0) -> list[Tensor]:
        values = listed(returned)
        shapes = [(rows or operand.shape[0], *operand.shape[1:]) for operand in self.results]
        for operand, value, shape in zip(self.results, values, shapes, strict=False):
            if tuple(value.shape or (1,)) != shape:
                raise ConfigError(
                    f"the reference's result {operand.name!r} has shape {tuple(value.shape)}, expected {shape}"
                )
        if len(values) != len(self.results):
            raise ConfigError(f"the reference gives {len(values)} results, expected {len(self.results)}")
        wide = (value.to(torch.float64).reshape(shape) for value, shape in zip(values, shapes, strict=True))
        return [value.contiguous() for value in wide]  # those of other layouts are read as they lie


def listed(returned: Any) -> list[Tensor]:
    """The tensors that a reference returned, as a list."""
    values = list(returned.values()) if isinstance(returned, Mapping) else returned
    return list(values) if isinstance(values, (tuple, list)) else [values]


def _wide(tensor: Tensor) -> Tensor:
    """Values in float64, but those of integers in their own type: the reference may shift or divide them."""
    return tensor.to(torch.float64) if tensor.dtype.is_floating_point else tensor
