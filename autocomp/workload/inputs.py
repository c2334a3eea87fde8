"""Inputs to try a kernel with. Each judgement draws its own; the seed that it draws from says which.

A draw is of one kind, or mixed. Of a matrix multiplication or convolution each result depends on one vector of the left
operand (a row, some pixels) and one of the right (a column, a filter). So a mixed draw tries the kinds in pairs,
for the price of one run. Of a custom operation nothing is known, and each kind gets a draw.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.workload import edges
from autocomp.workload.datatypes import array_type, data_type
from autocomp.workload.layout import operand_layouts
from autocomp.workload.model import InputSet, TensorSpec, Workload

Array = npt.NDArray[Any]
Vectors = npt.NDArray[np.int8]
MIXTURE = ("random", "extremes", "zeros", "one_hot", "sparse", "large", "cancelling", "edges")
CUSTOM = ("random", "extremes", "zeros", "one_hot", "sparse", "large", "short")
KINDS = (*MIXTURE, "mixed", "short")
DRAWS = {
    "smoke": ("random", "mixed"),
    "adversarial": ("extremes", "edges", "mixed"),
    "discipline": ("mixed",),
    "determinism": ("mixed",),
    "rtl": ("random", "extremes", "mixed"),
}
CUSTOM_DRAWS = {
    "smoke": ("random", "mixed"),
    "adversarial": (*CUSTOM[1:], "mixed", "random"),
    "discipline": ("mixed",),
    "determinism": ("random", "mixed"),
    "rtl": CUSTOM,
}
ENOUGH = 4096  # results that a kind has to try; a smaller operation gets more draws of it
MOST_DRAWS = 8
SEED_BITS = 53
FLOAT_LIMIT = 1.5  # magnitude of the inputs of a gemm of floats
SHORT = 13  # significant bits of short numbers at most: one more than binary16 has, for its ties
SHORT_RANGE = 20  # powers of two that short floats spread over
PAIRS = (0x77, 0x78, 0x87, 0x88)  # a byte with two elements of 4 bits, each at an end of their range
FRACTION = 128  # floats other than random ones are multiples of 1 / FRACTION


def fresh_seed() -> int:
    """A seed that nobody knows, from the operating system's entropy; every reader of JSON holds it exactly."""
    return secrets.randbits(SEED_BITS)


def derived_seed(seed: int, *parts: object) -> int:
    """A seed of its own for each purpose; none of them tells another, nor the seed that they come from."""
    text = "/".join([str(seed), *map(str, parts)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> (64 - SEED_BITS)


def input_sets(workload: Workload, stage: str, seed: int) -> tuple[InputSet, ...]:
    """The draws of a stage of one judgement. Operations with few results show few edges at a time: they get more draws,
    each of which costs little."""
    kinds = (CUSTOM_DRAWS if workload.operation == "custom" else DRAWS)[stage]
    if stage == "adversarial":
        results = sum(math.prod(tensor.shape) for tensor in workload.outputs)
        more = min(MOST_DRAWS, math.ceil(ENOUGH / results)) - 1
        kinds = (*kinds, *(("large", "mixed") if workload.operation == "custom" else ("edges", "mixed")) * more)
    return tuple(InputSet(kind, kind, derived_seed(seed, "inputs", stage, number)) for number, kind in enumerate(kinds))


def make_inputs(workload: Workload, input_set: InputSet) -> dict[str, Array]:
    """Arrays of every tensor in signature order; outputs hold bytes of no meaning.

    - random: the whole range. Unless the operation is custom, vectors have very different magnitudes, so that some
      results saturate on either side, some do not, and both signs occur.
    - extremes: the ends of the range, -1, 0, 1. Of floats, results are near the largest that the types hold.
    - zeros: all zero.
    - one_hot: in each left and every other right vector a single 1, the others random. Results show single elements.
    - sparse: mostly zero, small results that do not saturate.
    - large: the most negative or most positive value throughout, so that sums are as large as they get; of a custom
      operation in blocks.
    - cancelling: sums that leave the range on one side or on both before they come back.
    - edges: results on and beside ties of the rounding, and at the ends of the range.
    - short: numbers of few significant bits and of all magnitudes, and those beside them, as a custom operation's
      ties of a rounding and its small results need.
    - mixed: each vector is of one of these kinds; of a custom operation each element.
    """
    random = np.random.default_rng([input_set.seed, KINDS.index(input_set.kind)])
    arrays: dict[str, Array] = {}
    for position, tensor in enumerate(workload.tensors):
        if tensor.role == "output":
            arrays[tensor.name] = poison(tensor, random)
        elif workload.operation == "custom":
            arrays[tensor.name] = _operand(workload, tensor, position, input_set.kind, random)
        elif tensor.name == "bias":
            arrays[tensor.name] = _bias(workload, tensor, input_set.kind, random)
        else:
            arrays[tensor.name] = _stored_operand(workload, tensor, input_set.kind, random)
    floats = workload.operation != "custom" and data_type(workload.tensors[0].dtype).is_float
    if floats and input_set.kind == "extremes":
        _enlarge(workload, arrays)
    return arrays


def _enlarge(workload: Workload, arrays: dict[str, Array]) -> None:
    """Multiply the left operand and the biases by a power of two that leaves sums and results finite."""
    right = workload.tensors[1].name
    sums = (edges.depth_of(workload) + 1) * FLOAT_LIMIT**2 * max(1.0, abs(float(workload.options["scale"])))
    held = [data_type(tensor.dtype).largest / sums for tensor in workload.tensors if tensor.name != right]
    factor = 2.0 ** (math.floor(math.log2(min(held))) - 1)
    for tensor in workload.tensors:
        if tensor.role == "input" and tensor.name != right:
            arrays[tensor.name] = (arrays[tensor.name] * factor).astype(arrays[tensor.name].dtype)


def poison(tensor: TensorSpec, random: np.random.Generator) -> Array:
    """Contents of an output before the run: random bytes; of floats, numbers of all sizes, and NaN here and there."""
    if not data_type(tensor.dtype).is_float:
        pattern: Array = np.frombuffer(random.bytes(tensor.bytes), dtype=tensor.dtype).reshape(tensor.shape).copy()
        return pattern
    values = random.choice((-1.0, 1.0), tensor.shape) * np.exp2(random.uniform(-20, 20, tensor.shape))
    with np.errstate(over="ignore"):  # what a narrow type cannot hold is infinite
        return np.where(random.random(tensor.shape) < 0.25, np.nan, values).astype(array_type(tensor.dtype))


# --- matrix multiplications and convolutions: vectors of int8, one for each result's row or column -----------------


def _stored_operand(workload: Workload, tensor: TensorSpec, kind: str, random: np.random.Generator) -> Array:
    """An operand of a gemm or a convolution as it lies in memory."""
    draw = _conv2d_operand if workload.operation == "conv2d" else _gemm_operand
    texts = {name: text for name, text in workload.options.get("layout", {}).items() if name == tensor.name}
    layout = operand_layouts(texts, workload.dims, workload.options.get("groups", 1)).get(tensor.name)
    if layout is None:
        return draw(workload, tensor, kind, random)
    return layout.store(draw(workload, replace(tensor, shape=layout.logical_shape), kind, random))


def _gemm_operand(workload: Workload, tensor: TensorSpec, kind: str, random: np.random.Generator) -> Array:
    left = tensor.name == "A"
    transposed = bool(workload.options["transpose_a" if left else "transpose_b"])
    outer, depth = tensor.shape if left != transposed else tensor.shape[::-1]
    vectors = _vectors(outer, depth, left, kind, workload, random)
    return np.ascontiguousarray(vectors if left != transposed else vectors.T)


def _fractions(integers: Array, depth: int, kind: str, random: np.random.Generator) -> Array:
    """Fractions whose sums of `depth` products are exact in binary32 in any order; of the kinds that show products as
    they are, numbers that need all of their significands."""
    if kind in ("random", "one_hot"):
        return (integers / FRACTION * random.uniform(0.5, FLOAT_LIMIT, integers.shape)).astype(np.float32)
    most = min(FRACTION, math.isqrt((1 << 24) // (depth + 1)))
    return (np.clip(integers, -most, most) / FRACTION).astype(np.float32)


def _conv2d_operand(workload: Workload, tensor: TensorSpec, kind: str, random: np.random.Generator) -> Array:
    """Images as vectors of rows of pixels, filters as vectors of their taps and channels."""
    if tensor.name == "inp":
        n, h, w, c = tensor.shape
        return _vectors(n * h, w * c, True, kind, workload, random).reshape(tensor.shape)
    rows, cols, depth, filters = tensor.shape
    vectors = _vectors(filters, rows * cols * depth, False, kind, workload, random)
    return np.ascontiguousarray(vectors.T).reshape(tensor.shape)


def _vectors(count: int, length: int, left: bool, kind: str, workload: Workload, random: np.random.Generator) -> Array:
    """[count][length] of the operands' type; each vector of one kind. Mixed: the kinds in equal shares, in random
    order."""
    if kind != "mixed":
        integers = _of_kind(count, length, left, kind, workload, random)
        stored = array_type(workload.tensors[0].dtype)
        if stored == np.int8:
            return integers
        return _fractions(integers, edges.depth_of(workload), kind, random).astype(stored)
    kinds = random.permutation(np.resize(random.permutation(len(MIXTURE)), count))
    vectors = np.empty((count, length), array_type(workload.tensors[0].dtype))
    for number, name in enumerate(MIXTURE):
        chosen = np.flatnonzero(kinds == number)
        vectors[chosen] = _vectors(len(chosen), length, left, name, workload, random)
    return vectors


def _of_kind(
    count: int, length: int, left: bool, kind: str, workload: Workload, random: np.random.Generator
) -> Vectors:
    if kind == "zeros":
        return np.zeros((count, length), np.int8)
    if kind == "extremes":
        ends = np.array([-128, -128, -128, 127, 127, 127, -127, -1, 0, 1], np.int8)
        return ends[random.integers(len(ends), size=(count, length))]
    if kind == "large":
        return np.repeat(random.choice(np.array([-128, 127], np.int8), (count, 1)), length, axis=1)
    if kind == "cancelling":
        return _cancelling(count, length, random)
    if kind == "edges":
        return edges.left(count, length, workload, random) if left else edges.right(count, length, workload, random)
    full = random.integers(-128, 128, (count, length), np.int8)
    if kind == "one_hot":
        hot = np.flatnonzero(random.random(count) < (1.0 if left else 0.5))
        full[hot] = 0
        full[hot, random.integers(length, size=len(hot))] = 1
        return full
    if kind == "sparse":
        return _sparse(full, left, workload, random)
    magnitude = np.minimum(1.0, np.exp(random.uniform(0.0, math.log(256.0), (count, 1))) / 128).astype(np.float32)
    return np.rint(full * magnitude).astype(np.int8)


def _cancelling(count: int, length: int, random: np.random.Generator) -> Vectors:
    """One size in two or four stretches of alternating sign, so that sums go far out and come back to little."""
    stretches = random.choice((2, 4), (count, 1))
    position = np.arange(length) * stretches // max(1, length)
    outward = np.where(stretches == 2, position == 0, (position == 0) | (position == 3))
    size = random.integers(64, 128, (count, 1)) * random.choice((-1, 1), (count, 1))
    vectors: Vectors = np.where(outward, size, -size).astype(np.int8)
    return vectors


def _sparse(full: Vectors, left: bool, workload: Workload, random: np.random.Generator) -> Vectors:
    """The left operand in {-1, 0, 1} and few of them, so that sums stay near the range of the result."""
    if not left:
        return full // 2
    scale = abs(float(workload.options["scale"])) or 1.0
    wanted = min(1.0, max(2.0, (64.0 / scale / 37.0) ** 2) / edges.depth_of(workload))
    signs: Vectors = np.sign(full) * (random.random(full.shape, np.float32) < wanted)
    return signs


def _bias(workload: Workload, tensor: TensorSpec, kind: str, random: np.random.Generator) -> Array:
    """Biases of the size of the result, half of them 0; for `large` up to 2^30, where binary32 already rounds."""
    if tensor.dtype != "int32":
        depth = edges.depth_of(workload)
        return _fractions(random.integers(-128, 129, tensor.shape), depth, kind, random)
    scale = abs(float(workload.options["scale"])) or 1.0
    if kind in ("zeros", "edges"):
        return np.zeros(tensor.shape, np.int32)
    if kind in ("extremes", "mixed"):
        ends = [-(1 << 30), -129, -128, -1, 1, 127, 128, 1 << 30]
        choices = np.concatenate([ends, edges.sums(workload, 1 << 24, random)]).astype(np.int32)
        return np.where(random.random(tensor.shape) < 0.5, 0, random.choice(choices, tensor.shape)).astype(np.int32)
    limit = (1 << 30) if kind == "large" else int(min(1 << 30, max(2.0, 200.0 / scale)))
    return random.integers(-limit, limit + 1, tensor.shape).astype(np.int32)


# --- custom operations ---------------------------------------------------------------------------------------------


def _operand(workload: Workload, tensor: TensorSpec, position: int, kind: str, random: np.random.Generator) -> Array:
    if kind == "mixed":
        parts = [_operand(workload, tensor, position, part, random) for part in CUSTOM]
        chosen: Array = np.choose(random.integers(len(parts), size=tensor.shape), parts)
        return chosen
    low, high = _range(workload, tensor)
    dtype = array_type(tensor.dtype)
    if kind == "zeros":
        return np.full(tensor.shape, min(max(0, low), high), dtype)
    if kind == "one_hot" and position == 0:
        hot = np.full(tensor.shape, min(max(0, low), high), dtype)
        start = random.integers(tensor.shape[-1])
        hot.reshape(-1)[start :: tensor.shape[-1] + 1] = min(max(1, low), high)
        return hot
    if kind in ("extremes", "large"):
        pairs = PAIRS if tensor.dtype == "uint8" else ()
        others = pairs if kind == "large" else (-1, 0, 1, *pairs)
        ends = np.array([low, high, *(v for v in others if low <= v <= high)], dtype)
        return _blocks(ends, tensor.shape, random) if kind == "large" else random.choice(ends, tensor.shape)
    if kind == "short":
        values = _short(low, high, dtype, tensor.shape, random)
    elif data_type(tensor.dtype).is_float:
        values = random.uniform(low, high, tensor.shape)
    else:
        values = random.integers(int(low), int(high), tensor.shape, dtype=dtype.type, endpoint=True)
    if kind == "sparse":
        values = np.where(random.random(tensor.shape) < 0.1, values, min(max(0, low), high))
    return np.asarray(values).astype(dtype)


def _blocks(values: Array, shape: tuple[int, ...], random: np.random.Generator) -> Array:
    """One value in each block, up to four blocks along each axis: sums along any axis are as large as they get."""
    counts = random.choice((1, 2, 4), len(shape))
    places = np.ix_(*(np.arange(size) * count // size for size, count in zip(shape, counts, strict=True)))
    chosen: Array = random.choice(values, counts)[places]
    return chosen


def _short(low: float, high: float, dtype: np.dtype[Any], shape: tuple[int, ...], random: np.random.Generator) -> Array:
    """Odd numbers of up to `SHORT` bits times powers of two, half of them moved to the next number on either side."""
    most = max(abs(low), abs(high)) or 1
    width = random.integers(1, SHORT, shape, endpoint=True)
    odd = random.integers(0, 1 << width, shape) | 1
    signs = random.choice((-1, 1) if low < 0 else (1,), shape)
    if data_type(dtype.name).is_float:
        top = math.floor(math.log2(most))
        sizes = np.ldexp(odd / 2.0**width, random.integers(top - SHORT_RANGE, top + 1, shape))
        values = (sizes * signs).astype(dtype)
        beside = np.nextafter(values, (values.astype(np.float64) + random.choice((-1, 1), shape)).astype(dtype))
        values = np.where(random.random(shape) < 0.5, values, beside)
    else:
        bits = min(int(most).bit_length(), 62)
        shift = random.integers(0, np.maximum(bits - width, 0) + 1)
        values = (odd.astype(np.int64) << shift) * signs + random.choice((-1, 0, 0, 1), shape)
    chosen: Array = np.where((values < low) | (values > high), random.uniform(low, high, shape), values)
    return chosen


def _range(workload: Workload, tensor: TensorSpec) -> tuple[float, float]:
    """Values a custom operation's tensor may take: as stated, else all of a narrow type and moderate ones of a wide."""
    stated = workload.options.get("ranges", {}).get(tensor.name)
    if stated is not None:
        low, high = stated
        return (low, high) if data_type(tensor.dtype).is_float else (math.ceil(low), math.floor(high))
    if data_type(tensor.dtype).is_float:
        return -8.0, 8.0
    limits = np.iinfo(tensor.dtype)
    return int(limits.min), int(limits.max)
