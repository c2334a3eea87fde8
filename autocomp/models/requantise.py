"""Quantised nodes of which a kernel makes no more than the sums; `autocomp.workload.requantise` does the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
SIGN = 0x80  # from a byte without a sign to one with: both less 128
# Where a quantised node has its scales and its zero points: of the left operand, the right one and the result.
SCALES: Mapping[str, tuple[int, int, int]] = {"QLinearMatMul": (1, 4, 6), "QLinearConv": (1, 4, 6), "QGemm": (1, 4, 7)}
ZEROS: Mapping[str, tuple[int, int, int]] = {"QLinearMatMul": (2, 5, 7), "QLinearConv": (2, 5, 7), "QGemm": (2, 5, 8)}


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
