"""Results that are right as a whole for other inputs or options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.workload.model import Arrays, Workload
from autocomp.workload.reference import bounds, compute
from autocomp.workload.tolerance import outside

Array = npt.NDArray[Any]
TILES = (4, 8, 16, 32)  # elements along the sides of tiles
OTHER_OPTIONS: tuple[tuple[str, Any, str], ...] = (
    ("scale", 1.0, "were scaled by 1"),
    ("activation", "none", "had no activation"),
    ("activation", "relu", "had a ReLU"),
)


def other_problems(workload: Workload, arrays: Arrays, got: Mapping[str, Array]) -> Iterator[str]:
    """The problems whose results these are, in words."""
    for tensor in workload.outputs:
        results = got[tensor.name]
        if results.ndim != 2 or len(set(results.shape)) == 1:
            break
    else:
        expected = compute(workload, arrays)
        if all(np.array_equal(got[name], result.T.reshape(result.shape)) for name, result in expected.items()):
            yield "the result lies in memory transposed, column by column"
    for words, changed in _other_inputs(workload, arrays):
        if _gives(workload, changed, got):
            yield f"the result is right for other inputs: {words}"
    for name, value, words in OTHER_OPTIONS:
        if name in workload.options and workload.options[name] != value:
            other = replace(workload, options={**workload.options, name: value})
            if _gives(other, arrays, got):
                yield f"the result is right if results {words}"


def _gives(workload: Workload, arrays: Arrays, got: Mapping[str, Array]) -> bool:
    results = compute(workload, arrays)
    errors = bounds(workload, arrays, results)
    return not any(outside(got[name], result, errors.get(name)).any() for name, result in results.items())


def _rearranged(array: Array) -> Iterator[tuple[str, Array]]:
    """The elements in other orders: matrices and their tiles transposed, equal axes of larger tensors swapped, and the
    first two reversed, as those of filters may be."""
    if array.ndim == 2 and min(array.shape) > 1:
        yield "stored transposed", array.reshape(array.shape[::-1]).T.copy()
        for side in TILES:
            if side < max(array.shape) and not any(extent % side for extent in array.shape):
                tiles = array.reshape(array.shape[0] // side, side, array.shape[1] // side, side)
                turned = tiles.transpose(0, 3, 2, 1).reshape(array.shape)
                yield f"stored with each tile of {side} x {side} transposed", turned
    if array.ndim > 2:
        for one, other in combinations(range(array.ndim), 2):
            if array.shape[one] == array.shape[other] > 1:
                yield f"stored with axes {one} and {other} swapped", array.swapaxes(one, other).copy()
        if max(array.shape[:2]) > 1:
            yield "stored with the first two axes reversed", np.flip(array, (0, 1)).copy()


def _other_inputs(workload: Workload, arrays: Arrays) -> Iterator[tuple[str, Arrays]]:
    inputs = [tensor for tensor in workload.tensors if tensor.role == "input"]
    for tensor in inputs:
        array = arrays[tensor.name]
        for words, changed in (("0", np.zeros_like(array)), *_rearranged(array)):
            yield f"as if {tensor.name} were {words}", {**arrays, tensor.name: changed}
    for one, other in combinations(inputs, 2):
        if (one.dtype, one.shape) == (other.dtype, other.shape):
            swapped = {one.name: arrays[other.name], other.name: arrays[one.name]}
            yield f"as if {one.name} and {other.name} were swapped", {**arrays, **swapped}
