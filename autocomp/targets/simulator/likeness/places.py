"""Results that are right, and lie elsewhere: stale tiles, and stores to the wrong address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.targets.simulator.likeness.wrong import Wrong
from autocomp.workload.model import Arrays, Workload
from autocomp.workload.reference import bounds, compute

Array = npt.NDArray[Any]
LETTERS = "ijklmn"


def other_places(workload: Workload, arrays: Arrays, got: Mapping[str, Array]) -> Iterator[str]:
    """Where along an axis the right values lie that wrong elements hold, in words."""
    results = compute(workload, arrays)
    errors = bounds(workload, arrays, results)
    for name, expected in results.items():
        wrong = Wrong.of(got[name], expected, errors.get(name))
        for axis in range(expected.ndim) if wrong is not None else ():
            assert wrong is not None
            shift = _shift(wrong, expected, axis)
            if shift is not None:
                letters = LETTERS[: expected.ndim]
                indices = "".join(f"[{letter}]" for letter in letters)
                moved = indices.replace(letters[axis], f"{letters[axis]} {'-' if shift < 0 else '+'} {abs(shift)}")
                yield f"wherever {name}{indices} is wrong, it holds what belongs in {name}{moved}"


def _shift(wrong: Wrong, expected: Array, axis: int) -> int | None:
    """The number of places further on where the values of all wrong elements belong, the nearest of several."""
    at = wrong.indices[:, axis]
    shifts = np.arange(-int(at.min()), expected.shape[axis] - int(at.max()))
    shifts = shifts[shifts != 0]
    places = [indices[:, None] + (shifts if number == axis else 0) for number, indices in enumerate(wrong.indices.T)]
    found = shifts[wrong.explained(expected[tuple(places)])]
    return int(min(found, key=abs)) if len(found) else None
