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


def _other_inputs(workload: Workload, arrays: Arrays) -> Iterator[tuple[str, Arrays]]:
    inputs = [tensor for tensor in workload.tensors if tensor.role == "input"]
    for tensor in inputs:
        array = arrays[tensor.name]
        yield f"as if {tensor.name} were 0", {**arrays, tensor.name: np.zeros_like(array)}
        if array.ndim == 2 and min(array.shape) > 1:
            turned = array.reshape(array.shape[::-1]).T.copy()
            yield f"as if {tensor.name} were stored transposed", {**arrays, tensor.name: turned}
    for one, other in combinations(inputs, 2):
        if (one.dtype, one.shape) == (other.dtype, other.shape):
            swapped = {one.name: arrays[other.name], other.name: arrays[one.name]}
            yield f"as if {one.name} and {other.name} were swapped", {**arrays, **swapped}
