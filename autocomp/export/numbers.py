"""The numbers of a quantised layer, as the exported functions take them, and what is right with them."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.workload import Workload, compute
from autocomp.workload.requantise import Requantise, offset_of

LEAST, MOST = -128, 127  # of int8


class Structure(ctypes.Structure):
    """`struct autocomp_quantisation`."""

    _fields_ = (
        ("scales", ctypes.POINTER(ctypes.c_float)),
        ("scale_count", ctypes.c_size_t),
        *((name, ctypes.c_int32) for name in ("left_zero", "right_zero", "result_zero", "least", "most")),
    )


@dataclass(frozen=True)
class Numbers:
    """Scales, binary32, one or one for each column; zero points and bounds of int8."""

    scales: tuple[float, ...]
    left_zero: int = 0
    right_zero: int = 0
    result_zero: int = 0
    least: int = LEAST
    most: int = MOST

    @classmethod
    def drawn(cls, generator: np.random.Generator, columns: int, *, whole: bool) -> Numbers:
        """Any numbers if `whole`; else those that results in int8 suffice for, of kernels with one scale."""
        scales = np.float32(2.0) ** -generator.uniform(8, 14, generator.choice([1, columns]) if whole else 1)
        zeros = [int(zero) for zero in generator.integers(LEAST, MOST, 3, endpoint=True)]
        bounds = generator.integers(LEAST, MOST, 2, endpoint=True)
        if not whole:
            zeros[:2] = 0, 0
            bounds = np.clip(bounds, max(LEAST, zeros[2] + LEAST), min(MOST, zeros[2] + MOST))
        return cls(_floats(scales), zeros[0], zeros[1], zeros[2], int(bounds.min()), int(bounds.max()))

    def structure(self) -> Structure:
        """As the functions take them; the structure keeps the scales."""
        scales = (ctypes.c_float * len(self.scales))(*self.scales)
        integers = (self.left_zero, self.right_zero, self.result_zero, self.least, self.most)
        return Structure(scales, len(self.scales), *integers)

    def expected(self, workload: Workload, arrays: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.int8]:
        """The results of a layer whose operands are the workload's, by NumPy; its scale is not the workload's."""
        left, right = (arrays[tensor.name] for tensor in workload.tensors[:2])
        options = {**workload.options, "result": "int32", "activation": "none"}
        outputs = tuple(replace(tensor, dtype="int32") for tensor in workload.outputs)
        sums_of = replace(workload, options=options, tensors=(*workload.tensors[: -len(outputs)], *outputs))
        offset = offset_of(sums_of, right, self.left_zero, left=left, right_zero=self.right_zero)
        sums = compute(sums_of, arrays)[outputs[0].name]
        if workload.options["activation"] == "relu":
            sums = np.maximum(sums, 0)
        scales = np.array(self.scales, np.float32)
        made = Requantise(offset, scales, self.result_zero, np.dtype(np.int8), (self.least, self.most))(sums)
        return made.astype(np.int8)


def _floats(values: npt.NDArray[Any]) -> tuple[float, ...]:
    return tuple(float(value) for value in np.atleast_1d(values).astype(np.float32))
