"""The check of a result: element by element, with NaN and infinity compared by position.

Written in the operators that NumPy and PyTorch share; `xp` is the module.
"""

from __future__ import annotations

from typing import Any

from autocomp.workload.datatypes import data_type
from autocomp.workload.tensor import Expected

Array = Any
SHOWN = 3  # wrong elements that a message lists


def difference(xp: Any, got: Array, expected: Expected, dtype: str, poison: float | None = None) -> str | None:
    """Why a result in float64 is wrong, or None if it is right. `poison` is what the output held before the run.

    A result may be infinite where the exact one is so large that, within its tolerance, its type rounds it to infinity.
    """
    wrong = wrongness(xp, got, expected, dtype)
    count = int(wrong.sum())
    if count == 0:
        return None
    where = first_places(wrong, SHOWN)
    shown = ", ".join(
        f"[{', '.join(str(i) for i in place)}]: {float(got[place]):.6g}, expected {float(expected.value[place]):.6g} "
        f"± {float(expected.tolerance[place]):.2g}"
        for place in where
    )
    total = 1
    for extent in wrong.shape:
        total *= extent
    stale = int((wrong & _same(xp, got, poison)).sum()) if poison is not None else 0
    written = f"; {stale:,} of them were never written" if stale else ""
    return f"{count:,} of {total:,} elements are wrong{written}; {shown}"


def wrongness(xp: Any, got: Array, expected: Expected, dtype: str) -> Array:
    """A truth value for each element: whether it is wrong."""
    value, tolerance = expected.value, expected.tolerance
    kind = data_type(dtype)
    limit = kind.largest * (1.0 + kind.roundoff)
    special = xp.isnan(value) | xp.isinf(value)
    miss = abs(got - value)
    right = miss <= tolerance
    if kind.infinite:
        overflows = (abs(value) + tolerance >= limit) & ~special
        right = right | (overflows & xp.isinf(got) & ((got > 0) == (value > 0)))
    exact = (xp.isnan(value) & xp.isnan(got)) | (xp.isinf(value) & (got == value))
    return xp.where(special, ~exact, ~right)


def first_places(wrong: Array, count: int) -> list[tuple[int, ...]]:
    """Indices of the first true elements."""
    flat = wrong.reshape(-1)
    places = flat.nonzero()[0] if isinstance(flat.nonzero(), tuple) else flat.nonzero()[:, 0]
    found: list[tuple[int, ...]] = []
    for position in places[:count].tolist():
        index: list[int] = []
        for extent in reversed(tuple(wrong.shape)):
            index.append(position % extent)
            position //= extent
        found.append(tuple(reversed(index)))
    return found


def _same(xp: Any, got: Array, poison: float) -> Array:
    return xp.isnan(got) if poison != poison else got == poison
