"""From arrays that differ to words that let one mend the kernel: where, how many, and what pattern they follow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.workload import TensorSpec
from autocomp.workload.tolerance import Bounds, outside

Array = npt.NDArray[Any]


def difference(
    tensor: TensorSpec, got: Array, expected: Array, bounds: Bounds | None, before: Array | None = None
) -> str | None:
    """The mistake in one output, or None when it is right. `bounds` of each element's error, None for equality;
    `before` is what the output held before the run."""
    with np.errstate(invalid="ignore"):  # NaN of types that NumPy has not itself
        if np.array_equal(got, expected):
            return None
    wrong = outside(got, expected, bounds)
    count = int(np.count_nonzero(wrong))
    if count == 0:
        return None
    first = tuple(int(axis[0]) for axis in np.nonzero(wrong))
    patterns = [*_where(wrong), *_what(tensor, got, expected, wrong, before)]
    place = tensor.name + "".join(f"[{index}]" for index in first)
    words = f"{place} is {_number(got[first])}, expected {_number(expected[first])}"
    if bounds is not None and bounds[first] > 0:
        words += f" within {bounds[first]:.3g}"
    words += f"; {count} of {got.size} elements of {tensor.name} are wrong"
    return words + (": " + "; ".join(patterns) if patterns else "")


def _where(wrong: npt.NDArray[np.bool_]) -> Iterator[str]:
    """The box that holds every wrong element, if it is smaller than the tensor."""
    if bool(wrong.all()):
        yield "that is all of them"
        return
    words = []
    for axis in range(wrong.ndim):
        hit = np.flatnonzero(wrong.any(axis=tuple(a for a in range(wrong.ndim) if a != axis)))
        low, high = int(hit[0]), int(hit[-1])
        if len(hit) == wrong.shape[axis]:
            continue
        name = _axis_name(axis, wrong.ndim)
        if high - low + 1 == len(hit):
            words.append(f"{name} {low}..{high}" if high > low else f"{name} {low}")
        else:
            words.append(_periodic(hit, name) or f"{name} {low}..{high} ({len(hit)} of them)")
    if words:
        yield f"all of the wrong ones lie in {', '.join(words)}"


def _axis_name(axis: int, axes: int) -> str:
    if axes == 2:
        return ("rows", "columns")[axis]
    return f"index {axis} in"


def _periodic(hit: npt.NDArray[np.intp], name: str) -> str | None:
    """Runs of equal length at equal distances, as tiles give them."""
    starts = hit[np.flatnonzero(np.diff(hit, prepend=-2) > 1)]
    if len(starts) < 3:
        return None
    period = int(starts[1] - starts[0])
    offsets = np.unique(hit % period)
    regular = bool(np.all(np.diff(starts) == period)) and len(offsets) * len(starts) >= len(hit)
    if not regular:
        return None
    return f"{name} {int(offsets[0])}..{int(offsets[-1])} of every {period}, from {int(hit[0])} on"


def _what(
    tensor: TensorSpec, got: Array, expected: Array, wrong: npt.NDArray[np.bool_], before: Array | None
) -> Iterator[str]:
    """A trait that the wrong values have in common."""
    bad, good = got[wrong], expected[wrong]
    if tensor.role == "output" and before is not None and bad.tobytes() == before[wrong].tobytes():
        yield "they still hold what was there before the kernel, so they were never stored"
    elif not bad.any():
        yield "they are all 0"
    elif got.ndim == 2 and got.shape[0] == got.shape[1] and np.array_equal(got, expected.T):
        yield "the result is transposed"
    elif got.dtype.kind == "i":
        limits = np.iinfo(got.dtype)
        saturated = (good == limits.max) | (good == limits.min)
        if bool(saturated.all()):
            yield f"where they are wrong the right result saturates at {limits.min} or {limits.max}"
        elif bool(np.all(np.abs(bad.astype(np.int64) - good.astype(np.int64)) == 1)):
            yield "each is off by one, as a wrong rounding or a missing bias of 1 makes it"
        elif bool(np.all(bad < 0)) and bool(np.all(good == 0)):
            yield "negative results were expected to become 0, so the activation is missing"


def _number(value: Any) -> str:
    return repr(value.item())
