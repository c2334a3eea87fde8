"""A reference of which each row of a batch is computed from that row alone: it is evaluated a few rows at a time, so
that what it computes in between needs little memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

PART_BYTES = 1 << 28  # of inputs and results of a part; the values in between, in float64, are many times that
AGREES = 1e-9  # largest relative distance between the results for one row and those for two


def rows_of_part(
    run: Callable[..., Sequence[Tensor]],
    inputs: Mapping[str, Tensor],
    shared: Sequence[str],
    results: Sequence[Sequence[int]],
    size: int,
) -> int:
    """The rows of a part; 0 where the whole is small or its rows depend on each other. `run` maps the inputs to
    results of the shapes `results`; `shared` are inputs that all rows use. `size` is in bytes."""
    extents = {shape[0] for shape in results if shape}
    rows = next(iter(extents), 0)
    if size <= PART_BYTES or len(extents) != 1 or rows < 2:
        return 0
    batched = _batched(inputs, shared, rows)
    two = {name: one[:2] if name in batched else one for name, one in inputs.items()}
    return max(1, rows * PART_BYTES // size) if batched and _apart(run, two, batched) else 0


def parts(inputs: Mapping[str, Tensor], shared: Sequence[str], rows: int, at_once: int) -> Iterator[tuple[slice, Any]]:
    """The rows of each part, and its inputs."""
    batched = _batched(inputs, shared, rows)
    for start in range(0, rows, at_once):
        part = slice(start, min(rows, start + at_once))
        yield part, {name: one[part] if name in batched else one for name, one in inputs.items()}


def _batched(inputs: Mapping[str, Tensor], shared: Sequence[str], rows: int) -> set[str]:
    return {name for name, one in inputs.items() if name not in shared and one.dim() and one.shape[0] == rows}


def _apart(run: Callable[..., Sequence[Tensor]], two: Mapping[str, Tensor], batched: set[str]) -> bool:
    """True if two rows, of which each has another result, give together what each gives alone."""
    try:
        together = run(*two.values())
        alone = [run(*(v[r : r + 1] if n in batched else v for n, v in two.items())) for r in range(2)]
    except (RuntimeError, ValueError, IndexError):
        return False
    for whole, first, second in zip(together, *alone, strict=True):
        if whole.shape[0] != 2 or whole.shape[1:] != first.shape[1:] or torch.equal(first, second):
            return False
        for row, one in enumerate((first, second)):
            miss = float((whole[row] - one[0]).abs().max())
            if not miss <= AGREES * float(one.abs().max()):
                return False
    return True
