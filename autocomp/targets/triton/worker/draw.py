"""Inputs of every kind, drawn on the device from a seed."""

from __future__ import annotations

import torch

from autocomp.targets.triton.worker.kinds import Kind
from autocomp.targets.triton.worker.memory import TYPES
from autocomp.workload.tensor import Operand

CONSTANT = 0.5
SPARSE = 0.1  # share of elements that are not zero
WIDE = 2.0  # rows differ by factors up to e^WIDE either way
INFINITE = 0.1  # share of elements that are -inf


def fill(target: torch.Tensor, operand: Operand, kind: Kind, generator: torch.Generator) -> None:
    """Fill an input with values of a kind. `random`: normal numbers; `centred`: around the operand's centre; `wide`:
    rows of different magnitudes; `sparse`: most are zero; `constant`, `zeros`; `infinite`: some are -inf, not all of a
    row. Integers are any but the largest."""
    device, shape = target.device, operand.shape
    if operand.fill == "indices":
        target.copy_(torch.randint(0, operand.below, shape, device=device, generator=generator))
        return
    if kind in ("zeros", "constant"):
        target.copy_(torch.full(shape, 0.0 if kind == "zeros" else CONSTANT * operand.scale, device=device))
        return
    if not TYPES[operand.dtype].is_floating_point:
        held = torch.iinfo(TYPES[operand.dtype])
        target.copy_(torch.randint(held.min, held.max, shape, dtype=torch.int64, device=device, generator=generator))
        return
    if operand.fill == "unit":
        values = torch.rand(shape, device=device, generator=generator) * 2.0 - 1.0
    else:
        values = torch.randn(shape, device=device, generator=generator) * operand.scale
    if operand.fill == "normal" and kind == "centred":
        values += operand.centre
    elif operand.fill == "normal" and kind == "wide" and len(shape) > 1:
        rows = torch.rand((*shape[:-1], 1), device=device, generator=generator)
        values *= torch.exp(WIDE * (2.0 * rows - 1.0))
    elif operand.fill == "normal" and kind == "sparse":
        values *= torch.rand(shape, device=device, generator=generator) < SPARSE
    elif operand.fill == "normal" and kind == "infinite":
        hidden = torch.rand(shape, device=device, generator=generator) < INFINITE
        hidden[..., 0] = False
        values[hidden] = -torch.inf
    largest = torch.finfo(TYPES[operand.dtype]).max
    target.copy_(torch.where(torch.isinf(values), values, values.clamp(-largest, largest)))


def exact(tensor: torch.Tensor) -> torch.Tensor:
    """The values of an input in float64, or int64 for indices."""
    return tensor if tensor.dtype == torch.int64 else tensor.to(torch.float64)
