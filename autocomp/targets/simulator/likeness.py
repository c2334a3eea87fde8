"""Results that are wrong as a whole, and right for another problem: mistakes that show in values alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.errors import ConfigError
from autocomp.workload.model import Arrays, Workload
from autocomp.workload.reference import compute

Array = npt.NDArray[Any]
OTHER_OPTIONS: tuple[tuple[str, Any, str], ...] = (
    ("scale", 1.0, "were scaled by 1"),
    ("activation", "none", "had no activation"),
    ("activation", "relu", "had a ReLU"),
)


def alike(workload: Workload, arrays: Arrays, got: Mapping[str, Array]) -> str:
    """The other problem whose results a kernel computes on these inputs, in words; "" where none is known."""
    with suppress(ConfigError):  # a user's own reference may take no such inputs
        for words, results in _others(workload, arrays):
            if all(np.array_equal(got[name], result) for name, result in results.items()):
                return words
    return ""


def _others(workload: Workload, arrays: Arrays) -> Iterator[tuple[str, Mapping[str, Array]]]:
    expected = compute(workload, arrays)
    if all(result.ndim == 2 and len(set(result.shape)) > 1 for result in expected.values()):
        turned = {name: result.T.reshape(result.shape) for name, result in expected.items()}
        yield "the result lies in memory transposed, column by column", turned
    for words, changed in _other_inputs(workload, arrays):
        yield f"the result is right for other inputs: {words}", compute(workload, changed)
    for name, value, words in OTHER_OPTIONS:
        if name in workload.options and workload.options[name] != value:
            other = replace(workload, options={**workload.options, name: value})
            yield f"the result is right if results {words}", compute(other, arrays)


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
