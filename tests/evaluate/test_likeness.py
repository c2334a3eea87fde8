"""Wrong results of products and convolutions are told by their values: hypotheses about how sums were formed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from autocomp.targets.simulator.likeness import alike
from autocomp.targets.simulator.profile.recording import EXAMPLE
from autocomp.workload import Workload, parse
from autocomp.workload.inputs import make_inputs
from autocomp.workload.reference import compute, finished, products

Array = npt.NDArray[Any]
Mistake = Callable[[Workload, Array, Array, Array], Array]
PRODUCT = "operation: gemm\naccelerator: gemmini\nscale: 0.002\nbias: row\ndims: {I: 20, J: 30, K: 90}\n"
CONVOLUTION = """
operation: conv2d
accelerator: gemmini
scale: 0.002
bias: row
padding: 1
dims: {N: 2, H: 5, W: 4, C: 20, K: 24, R: 3, S: 3}
"""
FLOATS = "operation: gemm\naccelerator: gemmini:fp32\ndtype: float32\nbias: row\ndims: {I: 20, J: 30, K: 90}\n"


def told(text: str, mistake: Mistake) -> str:
    """The likeness named for the results of a mistake, which gets a workload, operands as matrices, and biases."""
    workload = parse(text, Path("w.yaml"))
    arrays = make_inputs(workload, EXAMPLE)
    ((a, b, bias),) = products(workload, arrays)
    assert bias is not None
    exact = np.int64 if workload.exact else np.float64
    (name, expected), *_ = compute(workload, arrays).items()
    wrong = mistake(workload, a.astype(exact), b.astype(exact), bias.astype(exact))
    return alike(workload, arrays, {name: wrong.astype(expected.dtype).reshape(expected.shape)})


def without(first: int, last: int) -> Mistake:
    """A sum that the products of a part of the depth are taken from."""
    part = slice(first, last + 1)
    return lambda workload, a, b, bias: finished(workload, a @ b - a[:, part] @ b[part], bias)


def twice(workload: Workload, a: Array, b: Array, bias: Array) -> Array:
    return finished(workload, a @ b + a[:, 74:76] @ b[74:76], bias)


def bias_each_time(workload: Workload, a: Array, b: Array, bias: Array) -> Array:
    return finished(workload, a @ b, 6 * bias)


def wrapped(workload: Workload, a: Array, b: Array, bias: Array) -> Array:
    return np.rint((a @ b + bias).astype(np.float32) * np.float32(workload.options["scale"])).astype(np.int64)


def scaled_parts(workload: Workload, a: Array, b: Array, bias: Array) -> Array:
    total = np.zeros((len(a), b.shape[1]), np.int64)
    for k in range(0, a.shape[1], 32):
        part = finished(workload, a[:, k : k + 32] @ b[k : k + 32], bias if k == 0 else None)
        total = np.clip(total + part, -128, 127)
    return total


def stored_sums(workload: Workload, a: Array, b: Array, bias: Array) -> Array:
    total = np.zeros((len(a), b.shape[1]), np.int64)
    for k in range(0, a.shape[1], 32):
        total = np.clip(total + a[:, k : k + 32] @ b[k : k + 32] + (bias if k == 0 else 0), -128, 127)
    return finished(workload, total, None)


def another_scale(workload: Workload, a: Array, b: Array, bias: Array) -> Array:
    return finished(replace(workload, options={**workload.options, "scale": 0.0031}), a @ b, bias)


def going_on(workload: Workload, a: Array, b: Array, bias: Array) -> Array:
    """Rows of the second block of 8 add to the sums of the first one, and so on."""
    total = a @ b
    for row in range(8, len(total)):
        total[row] += total[row - 8]
    return finished(workload, total, bias)


def each_tile_otherwise(workload: Workload, a: Array, b: Array, bias: Array) -> Array:
    """The first tile lacks the end of its sums, the other one their beginning."""
    first = finished(workload, a[:, :16] @ b[:16], bias)
    return np.concatenate((first[:, :16], without(0, 15)(workload, a, b, bias)[:, 16:]), 1)


def swapped_tiles(workload: Workload, a: Array, b: Array, bias: Array) -> Array:
    results = finished(workload, a @ b, bias)
    results[:8, 10:20], results[10:18, :10] = results[10:18, :10].copy(), results[:8, 10:20].copy()
    return results


def stale_columns(workload: Workload, a: Array, b: Array, bias: Array) -> Array:
    results = finished(workload, a @ b, bias)
    results[:, -6:] = results[:, -22:-16]
    return results


@pytest.mark.parametrize(
    ("text", "mistake", "words"),
    [
        (PRODUCT, without(0, 79), "wherever C is wrong, results lack the products 0 to 79 of the 90 that they sum"),
        (FLOATS, without(16, 31), "wherever C is wrong, results lack the products 16 to 31 of the 90 that they sum"),
        (
            CONVOLUTION,
            without(0, 159),
            "wherever output is wrong, results lack the products 0 to 159 of the 180 that they sum",
        ),
        (PRODUCT, twice, "results have twice the products 74 to 75 of the 90 that they sum"),
        (PRODUCT, bias_each_time, "results have their bias 6 times"),
        (PRODUCT, another_scale, "wherever C is wrong, results are right if they are scaled by 0.0031"),
        (PRODUCT, going_on, "wherever C is wrong, results go on from the sums of 8 rows before"),
        (FLOATS, going_on, "wherever C is wrong, results go on from the sums of 8 rows before"),
        (PRODUCT, each_tile_otherwise, "around C[0][2], results lack the products 16 to 89"),
        (PRODUCT, swapped_tiles, "around C[0][10], C[i][j] holds what belongs in C[i + 10][j - 10]"),
        (PRODUCT, stale_columns, "wherever C is wrong, C[i][j] holds what belongs in C[i][j - 16]"),
        (
            CONVOLUTION,
            stale_columns,
            "output[i][j][k][l] holds what belongs in output[i][j][k][l - 16]",
        ),
        (PRODUCT.replace("0.002", "0.01"), wrapped, "right if they wrapped instead of saturating"),
        (
            PRODUCT,
            scaled_parts,
            "right if parts are scaled and rounded by themselves and added after every 32 products",
        ),
        (PRODUCT.replace("0.002", "0.1"), stored_sums, "right if sums saturate at int8 after every 32 products"),
    ],
    ids=[
        "the last part alone",
        "a part left out, of floats",
        "the last tap alone",
        "a part taken twice",
        "a bias with each part",
        "another scale",
        "sums that go on",
        "sums of floats that go on",
        "a mistake of each tile",
        "tiles in each other's place",
        "stale columns",
        "stale filters",
        "wrapping",
        "rounding of parts",
        "saturation between parts",
    ],
)
def test_the_values_tell_the_mistake(text: str, mistake: Mistake, words: str) -> None:
    assert words in told(text, mistake)


def test_nothing_is_told_of_values_of_no_kind() -> None:
    assert told(PRODUCT, lambda workload, a, b, bias: finished(workload, a @ b + 900 * (a[:, :1] > b[:1]), bias)) == ""


@pytest.mark.parametrize(
    ("text", "tensor", "order", "words"),
    [
        (CONVOLUTION, "weights", lambda w: w.swapaxes(0, 1), "as if weights were stored with axes 0 and 1 swapped"),
        (CONVOLUTION, "weights", lambda w: w[::-1, ::-1], "as if weights were stored with the first two axes reversed"),
        (
            PRODUCT.replace("30, K: 90", "24, K: 40"),
            "B",
            lambda b: b.reshape(5, 8, 3, 8).transpose(0, 3, 2, 1).reshape(40, 24),
            "as if B were stored with each tile of 8 x 8 transposed",
        ),
    ],
)
def test_an_operand_in_another_order_is_named(
    text: str, tensor: str, order: Callable[[Array], Array], words: str
) -> None:
    workload = parse(text, Path("w.yaml"))
    arrays = make_inputs(workload, EXAMPLE)
    assert words in alike(workload, arrays, compute(workload, {**arrays, tensor: order(arrays[tensor]).copy()}))
