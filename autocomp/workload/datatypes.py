"""Data types of tensors: their widths, ranges and rounding errors (IEEE 754-2019; OCP 8-bit floating point 1.0)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from autocomp.errors import ConfigError


@dataclass(frozen=True)
class DataType:
    """`precision` counts the significant bits of a float, the implicit one included, and 0 marks an integer. `largest`
    is the largest finite value, `smallest` the smallest positive one; `infinite` says whether the type has infinity."""

    name: str
    bits: int
    precision: int
    largest: float
    smallest: float = 1.0
    infinite: bool = True

    @property
    def is_float(self) -> bool:
        return self.precision > 0

    @property
    def roundoff(self) -> float:
        """Largest relative error of rounding to nearest a value in the normal range; 0 for integers."""
        return 2.0**-self.precision if self.is_float else 0.0

    def bytes(self, elements: int) -> int:
        return (elements * self.bits + 7) // 8


def _integer(bits: int, signed: bool) -> DataType:
    name = f"{'' if signed else 'u'}int{bits}"
    return DataType(name, bits, 0, float(2 ** (bits - 1 if signed else bits) - 1), infinite=False)


DATA_TYPES = {
    known.name: known
    for known in (
        *(_integer(bits, signed) for signed in (True, False) for bits in (4, 8, 16, 32, 64)),
        DataType("float8_e4m3", 8, 4, 448.0, 2.0**-9, infinite=False),
        DataType("float8_e5m2", 8, 3, 57344.0, 2.0**-16),
        DataType("bfloat16", 16, 8, 3.3895313892515355e38, 2.0**-133),
        DataType("float16", 16, 11, 65504.0, 2.0**-24),
        DataType("float32", 32, 24, 3.4028234663852886e38, 2.0**-149),
        DataType("float64", 64, 53, 1.7976931348623157e308, 5e-324),
    )
}


def data_type(name: str) -> DataType:
    """The data type of a name such as `bfloat16`, also by the name that NumPy has for it. Raises ConfigError."""
    name = _NUMPY_NAMES.get(name, name)
    if name not in DATA_TYPES:
        raise ConfigError(f"unknown data type {name!r}", hint=f"data types: {', '.join(DATA_TYPES)}")
    return DATA_TYPES[name]


# Narrow floats that NumPy has not.
_NARROW: dict[str, Any] = {
    "float8_e4m3": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "bfloat16": ml_dtypes.bfloat16,
}
_NUMPY_NAMES = {np.dtype(element).name: name for name, element in _NARROW.items()}


def array_type(name: str) -> np.dtype[Any]:
    """The type of an array of a data type's elements."""
    element: np.dtype[Any] = np.dtype(_NARROW.get(name, name))
    return element
