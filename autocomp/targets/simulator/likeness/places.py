"""Results that are right, and lie elsewhere: stale tiles, and stores to the wrong address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.targets.simulator.likeness.wrong import Wrong
from autocomp.workload.model import Arrays, Workload
from autocomp.workload.reference import bounds, compute
from autocomp.workload.tolerance import outside

Array = npt.NDArray[Any]
LETTERS = "ijklmn"


def other_places(workload: Workload, arrays: Arrays, got: Mapping[str, Array]) -> Iterator[str]:
    """The places where the right values belong that wrong elements hold, in words."""
    results = compute(workload, arrays)
    errors = bounds(workload, arrays, results)
    for name, expected in results.items():
        for wrong in Wrong.of(name, got[name], expected, errors.get(name)):
            shift = _shift(wrong, expected)
            if shift is not None:
                letters = LETTERS[: expected.ndim]
                here = "".join(f"[{letter}]" for letter in letters)
                there = "".join(map(_index, letters, shift))
                yield f"{wrong.where}, {name}{here} holds what belongs in {name}{there}"


def _index(letter: str, shift: int) -> str:
    return f"[{letter} {'-' if shift < 0 else '+'} {abs(shift)}]" if shift else f"[{letter}]"


def _shift(wrong: Wrong, expected: Array) -> list[int] | None:
    """The places along each axis to where the values of all wrong elements belong, the nearest of several."""
    shifts = np.argwhere(~outside(wrong.got[0], expected, None if wrong.bounds is None else wrong.bounds[0]))
    shifts = shifts - wrong.indices[0]
    for index, got, bound in zip(wrong.indices, wrong.got, wrong.each_bound, strict=True):
        places = shifts + index
        inside = np.all((places >= 0) & (places < expected.shape), axis=1)
        shifts, places = shifts[inside], places[inside]
        shifts = shifts[~outside(got, expected[tuple(places.T)], bound)]
    return [int(step) for step in shifts[np.abs(shifts).sum(1).argmin()]] if len(shifts) else None
