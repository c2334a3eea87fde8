"""The check of a result: element by element, with NaN and infinity compared by position.

Written in the operators that NumPy and PyTorch share; `xp` is the module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autocomp.workload.datatypes import data_type
from autocomp.workload.tensor import Expected

Array = Any
SHOWN = 3  # wrong elements that a message lists
PART = 1 << 26  # elements that are compared at a time


def difference(xp: Any, got: Array, expected: Expected, dtype: str, poison: float | None = None) -> str | None:
    """A description of the wrong elements, or None for a right result. It is compared in float64, part by part, so
    that a tensor may fill much of a device. `poison` is what the output held before the run.

    A result may be infinite where the exact one is so large that, within its tolerance, its type rounds it to infinity.
    """
    results, value, tolerance = (each.reshape(-1) for each in (got, expected.value, expected.tolerance))
    total = int(results.shape[0])
    count = stale = 0
    places: list[int] = []
    for start in range(0, total, PART):
        part = slice(start, start + PART)
        own = xp.asarray(results[part], dtype=xp.float64)
        wrong = wrongness(xp, own, Expected(value[part], tolerance[part]), dtype)
        mistakes = int(wrong.sum())
        if mistakes == 0:
            continue
        count += mistakes
        stale += int((wrong & _same(xp, own, poison)).sum()) if poison is not None else 0
        places += [start + place for place in _first(wrong, SHOWN - len(places))]
    if count == 0:
        return None
    shown = ", ".join(
        f"[{', '.join(str(i) for i in _index(place, got.shape))}]: {float(results[place]):.6g}, "
        f"expected {float(value[place]):.6g} ± {float(tolerance[place]):.2g}"
        for place in places
    )
    written = f"; {stale:,} of them were never written" if stale else ""
    return f"{count:,} of {total:,} elements are wrong{written}; {shown}"


def wrong_share(xp: Any, got: Array, expected: Expected, dtype: str) -> float:
    """The share of wrong elements."""
    flat = [each.reshape(-1) for each in (got, expected.value, expected.tolerance)]
    total, count = int(flat[0].shape[0]), 0
    for start in range(0, total, PART):
        results, value, tolerance = (each[start : start + PART] for each in flat)
        own = xp.asarray(results, dtype=xp.float64)
        count += int(wrongness(xp, own, Expected(value, tolerance), dtype).sum())
    return count / max(total, 1)


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


def _first(wrong: Array, count: int) -> list[int]:
    """Places of the first true elements of a row."""
    places = wrong.nonzero()[0] if isinstance(wrong.nonzero(), tuple) else wrong.nonzero()[:, 0]
    return [int(place) for place in places[:count].tolist()]


def _index(place: int, shape: Sequence[int]) -> tuple[int, ...]:
    """The indices of an element by its place in row-major order."""
    index: list[int] = []
    for extent in reversed(shape):
        index.append(place % extent)
        place //= extent
    return tuple(reversed(index))


def _same(xp: Any, got: Array, poison: float) -> Array:
    return xp.isnan(got) if poison != poison else got == poison
