"""The part that is left to the host where a kernel cannot make results: zero points, and scales for each channel.

A kernel multiplies the stored numbers and leaves int32 sums. With x and z the stored left operand and its zero point,
the sum over (x - z) w is the kernel's less that of an operand which is z everywhere. It wraps as the kernel's does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.workload import Workload, compute

Array = npt.NDArray[Any]
SIGN = 0x80  # from a byte without a sign to one with: both less 128
# Where a quantised node has its scales and its zero points: of the left operand, the right one and the result.
SCALES: Mapping[str, tuple[int, int, int]] = {"QLinearMatMul": (1, 4, 6), "QLinearConv": (1, 4, 6), "QGemm": (1, 4, 7)}
ZEROS: Mapping[str, tuple[int, int, int]] = {"QLinearMatMul": (2, 5, 7), "QLinearConv": (2, 5, 7), "QGemm": (2, 5, 8)}


@dataclass(frozen=True)
class Requantise:
    """From the int32 sums of a workload to the node's result of type `dtype`. `offset` is what the zero point of the
    left operand adds to each sum; `scales` are binary32, one or one for each column; `zero` is added last."""

    offset: Array
    scales: Array
    zero: int
    dtype: np.dtype[Any]

    def __call__(self, sums: Array) -> Array:
        """In binary32, bounded before it is rounded to even, as ONNX Runtime does."""
        limits = np.iinfo(self.dtype)
        scaled = np.subtract(sums, self.offset, dtype=np.int32).astype(np.float32) * self.scales
        return (np.rint(np.clip(scaled, limits.min - self.zero, limits.max - self.zero)) + self.zero).astype(self.dtype)


def offset_of(workload: Workload, weights: Array, zero: int) -> Array:
    """The sums of a left operand that is `zero` everywhere but in its padding, which adds nothing."""
    left, right, *others = workload.tensors
    arrays = {tensor.name: np.zeros(tensor.shape, tensor.dtype) for tensor in others}
    if zero == 0:
        return np.zeros(workload.outputs[0].shape, np.int32)
    arrays |= {left.name: np.full(left.shape, zero, left.dtype), right.name: weights}
    return compute(workload, arrays)[workload.outputs[0].name]


def needs_host(node: Any, constants: Mapping[str, Array]) -> bool:
    """True if a kernel makes no more than the sums of a quantised node. `constants` has its scales and zero points;
    those of a node that computes them are not there, and no kernel makes anything of it."""
    scales, zeros = (
        [
            constants[name]
            for place in places.get(node.op_type, ())
            for name in node.input[place : place + 1]
            if name in constants
        ]
        for places in (SCALES, ZEROS)
    )
    return any(array.size > 1 for array in scales) or any(zero.any() or zero.dtype != np.int8 for zero in zeros)


def signed(value: Array) -> Array:
    """Bytes of either kind as int8; uint8 less 128."""
    return value if value.dtype == np.int8 else (value ^ np.uint8(SIGN)).view(np.int8)
