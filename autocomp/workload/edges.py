"""Sums of products that a careless rounding or saturation gets wrong, and int8 operands that have them as sums.

A result is saturate<int8>(round(sum * scale)) with the product rounded to binary32. Of interest are sums whose product
is a tie, exactly or after that rounding, their neighbours, and sums at the ends of the range of int8.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from autocomp.workload.model import Workload

Sums = npt.NDArray[np.int64]
FACTORS = (1, 3, 5, 25, 125)  # what all elements of a right vector are; odd, since an odd multiple of a tie is a tie
MOST = 120  # magnitude of an element that leaves room to settle a vector's sum
SAMPLED = 64  # sums of each sort to choose from


def depth_of(workload: Workload) -> int:
    """Products in the sum of one result."""
    dims: Mapping[str, int] = workload.dims
    if workload.operation == "gemm":
        return dims["K"]
    return dims["R"] * dims["S"] * dims["C"] // int(workload.options["groups"])


def sums(workload: Workload, reach: int, random: np.random.Generator) -> Sums:
    """Sums of at most `reach` in magnitude whose results lie on an edge: ties, ends of the range and others beside them
    in turn. If no such sum exists, only 0."""
    scale = np.float32(workload.options["scale"])
    if scale == 0 or not np.isfinite(scale):
        return np.zeros(1, np.int64)
    # The products wanted: ties within the range of int8, and the ends of that range with one beyond.
    wanted = np.concatenate([np.arange(-129, 129) + 0.5, [126, 127, 128, 129, -127, -128, -129, -130]])
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.rint(wanted / float(scale))
    around = (np.where(np.abs(near) < reach, near, 0).astype(np.int64)[:, None] + np.arange(-1, 2)).reshape(-1)
    around = around[np.abs(around) <= reach]
    products = around.astype(np.float32) * scale
    ties = np.abs(products - np.trunc(products)) == 0.5
    ends = (np.abs(products) >= 126) & (np.abs(products) <= 131)
    sorts = [np.unique(around[chosen]) for chosen in (ties, ends, ~ties & ~ends) if chosen.any()]
    orders = [np.resize(random.permutation(sort), SAMPLED) for sort in sorts]
    return np.stack(orders, axis=1).reshape(-1) if orders else np.zeros(1, np.int64)


def left(count: int, length: int, workload: Workload, random: np.random.Generator) -> npt.NDArray[np.int8]:
    """Vectors whose sums, times a right vector's factor, are edges: of a convolution, those of each pixel's group."""
    piece = length if workload.operation == "gemm" else int(workload.dims["C"]) // int(workload.options["groups"])
    pieces = count * (length // piece)
    factor = _factor(workload, piece)
    wanted = sums(workload, MOST * piece * factor, random)
    exact = wanted[wanted % factor == 0] // factor
    chosen = np.resize(exact if len(exact) else wanted // factor, pieces)
    return _with_sums(random.permutation(chosen), piece, random).reshape(count, length)


def right(count: int, length: int, workload: Workload, random: np.random.Generator) -> npt.NDArray[np.int8]:
    """Vectors of one factor with either sign; of a convolution, at one tap, and 0 at the others."""
    piece = length if workload.operation == "gemm" else int(workload.dims["C"]) // int(workload.options["groups"])
    factor = _factor(workload, piece)
    vectors = np.zeros((count, length // piece, piece), np.int8)
    taps = random.integers(length // piece, size=count)
    vectors[np.arange(count), taps] = (random.choice((-1, 1), count) * factor)[:, None]
    return vectors.reshape(count, length)


def _factor(workload: Workload, length: int) -> int:
    """The smallest factor with which vectors reach from one end of the range of int8 to the other, or the largest."""
    scale = abs(float(workload.options["scale"])) or 1.0
    return next((factor for factor in FACTORS if MOST * length * factor * scale >= 130), FACTORS[-1])


def _with_sums(wanted: Sums, length: int, random: np.random.Generator) -> npt.NDArray[np.int8]:
    """Random int8 vectors [len(wanted)][length] with these sums, as far as their elements reach."""
    wanted = np.clip(wanted, -MOST * length, MOST * length)
    even = (wanted // length).astype(np.int16)[:, None]
    room = np.minimum(8, MOST - np.abs(even))
    vectors = even + np.clip(random.integers(-8, 9, (len(wanted), length), np.int16), -room, room)
    missing = wanted - vectors.sum(axis=1, dtype=np.int64)
    vectors += (missing // length).astype(np.int16)[:, None]
    first = random.integers(length, size=(len(wanted), 1), dtype=np.int32)
    place = np.arange(length, dtype=np.int32) - first
    place[place < 0] += length
    vectors += place < (missing % length)[:, None]
    settled: npt.NDArray[np.int8] = np.clip(vectors, -128, 127).astype(np.int8)
    return settled
