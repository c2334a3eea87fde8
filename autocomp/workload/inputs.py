"""Inputs to try a kernel with: one random set for the smoke stage, then the sets that break careless kernels."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.workload.layout import operand_layout
from autocomp.workload.model import InputSet, TensorSpec, Workload

Array = npt.NDArray[Any]
KINDS = ("random", "extremes", "zeros", "one_hot", "sparse", "large", "mixed")
MIXTURE = KINDS[:-1]
FLOAT_LIMIT = 1.5  # magnitude of the inputs of a gemm of floats


def input_sets(seed: int, operation: str) -> tuple[InputSet, ...]:
    """The sets of a workload: the first is the smoke stage's, the rest the adversarial stage's.

    Each result of a gemm depends on one row and one column, of a convolution on some rows of pixels and one filter, so
    one mixed set tries the kinds in all pairs at once; it is run for the price of one. Of a custom operation nothing
    is known, and each kind gets a run.
    """
    kinds = MIXTURE if operation == "custom" else ("random", "extremes", "mixed")
    return tuple(InputSet(kind, kind, seed) for kind in kinds)


def make_inputs(workload: Workload, input_set: InputSet) -> dict[str, Array]:
    """Arrays of every tensor in signature order; outputs hold a pattern that is not a plausible result.

    random: the whole range, and unless the operation is custom, rows and columns of very different magnitudes, so
    that some results saturate, some do not, and both signs occur. extremes: the ends of the range, -1, 0, 1. zeros: all
    zero. one_hot: in each row a single 1 (the other operand random), so that each result shows where it came from.
    sparse: mostly zero, small results that do not saturate. large: the most negative and most positive values in
    whole rows, so that sums are as large as they get. mixed: each row of the left and each column of the right
    operand is of one of these kinds.
    """
    random = np.random.default_rng([input_set.seed, KINDS.index(input_set.kind)])
    arrays: dict[str, Array] = {}
    for position, tensor in enumerate(workload.tensors):
        if tensor.role == "output":
            arrays[tensor.name] = poison(tensor)
        elif workload.operation == "custom":
            arrays[tensor.name] = _operand(workload, tensor, position, input_set.kind, random)
        elif tensor.name == "bias":
            arrays[tensor.name] = _bias(workload, tensor, input_set.kind, random)
        elif workload.operation == "conv2d":
            arrays[tensor.name] = _conv2d_operand(workload, tensor, input_set.kind, random)
        else:
            arrays[tensor.name] = _stored_operand(workload, tensor, input_set.kind, random)
    return arrays


def poison(tensor: TensorSpec) -> Array:
    """Contents of an output before the run: 0x5B bytes, or NaN for floats."""
    if tensor.dtype.startswith("float"):
        return np.full(tensor.shape, np.nan, np.dtype(tensor.dtype))
    pattern: Array = np.frombuffer(b"\x5b" * tensor.bytes, dtype=tensor.dtype).reshape(tensor.shape).copy()
    return pattern


def _stored_operand(workload: Workload, tensor: TensorSpec, kind: str, random: np.random.Generator) -> Array:
    """An operand of a gemm as it lies in memory."""
    text = workload.options.get("layout", {}).get(tensor.name)
    if text is None:
        return _gemm_operand(workload, tensor, kind, random)
    layout = operand_layout(tensor.name, text, workload.dims)
    return layout.store(_gemm_operand(workload, replace(tensor, shape=layout.logical_shape), kind, random))


def _gemm_operand(workload: Workload, tensor: TensorSpec, kind: str, random: np.random.Generator) -> Array:
    transposed = bool(workload.options["transpose_a" if tensor.name == "A" else "transpose_b"])
    rows, cols = tensor.shape[::-1] if transposed else tensor.shape  # logical orientation: A[I][K], B[K][J]
    logical = _matrix(rows, cols, tensor.name == "A", kind, workload, random)
    stored = np.ascontiguousarray(logical.T if transposed else logical)
    return stored.astype(np.int8) if tensor.dtype == "int8" else _fractions(stored, kind, random)


def _fractions(integers: npt.NDArray[np.int64], kind: str, random: np.random.Generator) -> Array:
    """int8 values as multiples of 1/128, whose short sums are exact in binary32; general numbers for `random`."""
    values = integers / 128.0
    if kind == "random":
        values = values * random.uniform(0.5, FLOAT_LIMIT, values.shape)
    return values.astype(np.float32)


def _conv2d_operand(workload: Workload, tensor: TensorSpec, kind: str, random: np.random.Generator) -> Array:
    """Images as a left operand whose rows are rows of pixels, filters as a right operand with a column for each."""
    images = tensor.name == "inp"
    n, h, w, c = tensor.shape
    matrix = _matrix(n * h if images else n * h * w, w * c if images else c, images, kind, workload, random)
    return matrix.astype(np.int8).reshape(tensor.shape)


def _matrix(
    rows: int, cols: int, left: bool, kind: str, workload: Workload, random: np.random.Generator
) -> npt.NDArray[np.int64]:
    """A logical operand. What varies, varies along I of the left and J of the right operand, never along K."""
    outer = (rows, 1) if left else (1, cols)
    if kind == "mixed":
        chosen = random.integers(len(MIXTURE), size=outer)
        parts = [_matrix(rows, cols, left, part, workload, random) for part in MIXTURE]
        return np.choose(np.broadcast_to(chosen, (rows, cols)), parts)
    if kind == "zeros":
        return np.zeros((rows, cols), np.int64)
    if kind == "extremes":
        return random.choice(np.array([-128, -127, -1, 0, 1, 127]), (rows, cols), p=[0.3, 0.1, 0.1, 0.1, 0.1, 0.3])
    if kind == "large":
        return np.broadcast_to(random.choice(np.array([-128, 127]), outer), (rows, cols))
    if kind == "one_hot" and left:
        hot = np.zeros((rows, cols), np.int64)
        hot[np.arange(rows), (np.arange(rows) * 7 + random.integers(cols)) % cols] = 1
        return hot
    full = random.integers(-128, 128, (rows, cols))
    if kind == "sparse":
        return _sparse(full, left, workload, random)
    if kind == "one_hot":
        return full
    magnitude = np.minimum(128.0, np.exp(random.uniform(0.0, math.log(256.0), outer)))
    varied: npt.NDArray[np.int64] = np.rint(full * magnitude / 128.0).astype(np.int64)
    return varied


def _sparse(
    full: npt.NDArray[np.int64], left: bool, workload: Workload, random: np.random.Generator
) -> npt.NDArray[np.int64]:
    """The left operand in {-1, 0, 1} and few of them, so that sums stay near the range of the result."""
    if not left:
        return full // 2
    scale = abs(float(workload.options["scale"])) or 1.0
    wanted = min(1.0, max(2.0, (64.0 / scale / 37.0) ** 2) / _depth(workload))
    signs: npt.NDArray[np.int64] = np.sign(full) * (random.random(full.shape) < wanted)
    return signs


def _depth(workload: Workload) -> int:
    """Products in the sum of one result."""
    dims = workload.dims
    if workload.operation == "gemm":
        return dims["K"]
    return dims["R"] * dims["S"] * dims["C"] // int(workload.options["groups"])


def _bias(workload: Workload, tensor: TensorSpec, kind: str, random: np.random.Generator) -> Array:
    """Biases of the size of the result; for `large` up to 2^30, where float32 already rounds."""
    if tensor.dtype != "int32":
        return _fractions(random.integers(-128, 129, tensor.shape), kind, random)
    scale = abs(float(workload.options["scale"])) or 1.0
    if kind == "zeros":
        return np.zeros(tensor.shape, np.int32)
    if kind in ("extremes", "mixed"):
        choices = np.array([-(1 << 30), -129, -128, -1, 0, 1, 127, 128, 1 << 30])
        return random.choice(choices, tensor.shape).astype(np.int32)
    limit = (1 << 30) if kind == "large" else int(min(1 << 30, max(2.0, 200.0 / scale)))
    return random.integers(-limit, limit + 1, tensor.shape).astype(np.int32)


def _operand(workload: Workload, tensor: TensorSpec, position: int, kind: str, random: np.random.Generator) -> Array:
    low, high = _range(workload, tensor)
    dtype = np.dtype(tensor.dtype)
    if kind == "zeros":
        return np.full(tensor.shape, min(max(0, low), high), dtype)
    if kind == "one_hot" and position == 0:
        hot = np.full(tensor.shape, min(max(0, low), high), dtype)
        hot.reshape(-1)[:: tensor.shape[-1] + 1] = min(max(1, low), high)
        return hot
    if kind in ("extremes", "large"):
        ends = [low, high] if kind == "large" else [low, high, *(v for v in (-1, 0, 1) if low <= v <= high)]
        return random.choice(np.array(ends, dtype), tensor.shape)
    if dtype.kind == "f":
        values = random.uniform(low, high, tensor.shape)
    else:
        values = random.integers(int(low), int(high), tensor.shape, dtype=dtype.type, endpoint=True)
    if kind == "sparse":
        values = np.where(random.random(tensor.shape) < 0.1, values, min(max(0, low), high))
    return np.asarray(values).astype(dtype)


def _range(workload: Workload, tensor: TensorSpec) -> tuple[float, float]:
    """Values a custom operation's tensor may take: as stated, else all of a narrow type and moderate ones of a wide."""
    stated = workload.options.get("ranges", {}).get(tensor.name)
    if stated is not None:
        low, high = stated
        return (low, high) if tensor.dtype.startswith("float") else (math.ceil(low), math.floor(high))
    if tensor.dtype.startswith("float"):
        return -8.0, 8.0
    limits = np.iinfo(tensor.dtype)
    return int(limits.min), int(limits.max)
