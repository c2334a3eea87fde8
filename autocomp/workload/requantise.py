"""The part that is left to the host where a kernel makes no results: zero points, bounds, scales for each channel.

A kernel multiplies the stored numbers and leaves int32 sums. The sum over (x - z) (w - y), with zero points z and y, is
the kernel's less what these add, its `offset`. It wraps as the kernel's does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.workload.model import Workload
from autocomp.workload.reference import compute

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Requantise:
    """From the int32 sums of a workload to a quantised result of type `dtype`. `offset` is what the zero points of the
    operands add to each sum; `scales` are binary32, one or one for each column; `zero` is added last. Results lie
    within `bounds`, both included; without them, within those of the type."""

    offset: Array
    scales: Array
    zero: int
    dtype: np.dtype[Any]
    bounds: tuple[int, int] | None = None

    def __call__(self, sums: Array) -> Array:
        """In binary32, bounded before it is rounded to even, as ONNX Runtime does."""
        limits = np.iinfo(self.dtype)
        least, most = self.bounds or (limits.min, limits.max)
        scaled = np.subtract(sums, self.offset, dtype=np.int32).astype(np.float32) * self.scales
        return (np.rint(np.clip(scaled, least - self.zero, most - self.zero)) + self.zero).astype(self.dtype)


def offset_of(
    workload: Workload, right: Array, left_zero: int, *, left: Array | None = None, right_zero: int = 0
) -> Array:
    """The zero points' part of the workload's sums of these stored operands. Pixels that pad an image are the zero
    point, and add nothing. The left operand matters only where the right one has a zero point."""

    def sums(left: Array | int, right: Array | int) -> Array:
        shapes = {tensor.name: np.zeros(tensor.shape, tensor.dtype) for tensor in workload.tensors}
        for tensor, values in zip(workload.tensors, (left, right), strict=False):
            shapes[tensor.name] = np.broadcast_to(np.asarray(values, tensor.dtype), tensor.shape)
        return compute(workload, shapes)[workload.outputs[0].name]

    offset = np.zeros(workload.outputs[0].shape, np.int32)
    if left_zero:
        offset = offset + sums(left_zero, right)
    if right_zero and left is not None:
        offset = offset + sums(left, right_zero) - sums(left_zero, right_zero)
    return offset
