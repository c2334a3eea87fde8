"""The systolic-array machine in NumPy, int8 or binary32, written from its specification and used as the tests' oracle.

One method an instruction of the machine, with the machine's own operands; nothing here is read from its description.
Results follow the hardware where it was measured: output-stationary sums wrap to 20 bits (benchmarks/rtl/facts.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[Any]
NONE = 0xFFFFFFFF
ACC, ACCUMULATE, FULL = 1 << 31, 1 << 30, 1 << 29
KEEP_SCALE = 0xFFFFFFFF
F32 = np.float32


@dataclass(frozen=True)
class Geometry:
    """Sizes of a machine: lanes of a row, rows of its memories, bytes of DRAM that a row of a move may span."""

    dim: int = 16
    spad_rows: int = 16384
    acc_rows: int = 1024
    max_bytes: int = 64
    real: bool = False  # elements and sums are binary32
    reads_acc: bool = False  # operands of the array may lie in the accumulator
    stats: int = 0  # slots of statistics; 0: no normalisations

    @property
    def elem_bytes(self) -> int:
        return 4 if self.real else 1

    @property
    def blocks(self) -> int:
        return max(1, self.max_bytes // (self.elem_bytes * self.dim))

    @property
    def acc_blocks(self) -> int:
        return max(1, self.max_bytes // (4 * self.dim))


def clamp(x: Ints, bits: int) -> Ints:
    return np.clip(x, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def wrap(x: Ints, bits: int) -> Ints:
    half = 1 << (bits - 1)
    return (x + half) % (2 * half) - half


def scale(x: Ints, factor: float, bits: int) -> Ints:
    """Product in binary32, rounded to nearest even, clamped to `bits` bits; not a number gives the largest integer."""
    with np.errstate(all="ignore"):
        product = (x.astype(F32) * F32(factor)).astype(np.float64)
    high = float((1 << (bits - 1)) - 1)
    bounded = np.clip(np.where(np.isnan(product), high, product), -high - 1, high)
    return np.rint(bounded).astype(np.int64)


def rounding_shift(x: Ints, shift: int) -> Ints:
    if shift == 0:
        return x
    half, below = (x >> (shift - 1)) & 1, (x & ((1 << (shift - 1)) - 1)) != 0
    return (x >> shift) + (half & (below | ((x >> shift) & 1)))


def fma(a: Floats, b: Floats, c: Floats) -> Floats:
    """a * b + c with one rounding: the binary64 sum is rounded to odd, so that rounding it again is harmless."""
    with np.errstate(all="ignore"):
        product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)  # the product is exact
        total = product + addend
        part = total - product
        rest = (product - (total - part)) + (addend - part)
        inexact = np.isfinite(total) & (rest != 0) & (total.view(np.int64) & 1 == 0)
        total = np.where(inexact, np.nextafter(total, np.copysign(np.inf, rest)), total)
        rounded: Floats = total.astype(F32)
    return canonical(rounded)


def canonical(x: Floats) -> Floats:
    """The same values with NaN as HardFloat has it: without a sign, and with only the highest fraction bit set."""
    return np.where(np.isnan(x), np.uint32(0x7FC00000).view(F32), x)


class Int8:
    """int8 elements, int32 sums, 20 bits between the processing elements."""

    element: type = np.int8
    sum: type = np.int32
    held: type = np.int64  # what local memories hold here

    def scaled_in(self, x: Numbers, factor: float, full: bool) -> Numbers:
        return x if full else scale(x, factor, 8)

    def add(self, x: Numbers, y: Numbers) -> Numbers:
        return wrap(x + y, 32)

    def multiply(self, a: Numbers, b: Numbers, start: Numbers) -> Numbers:
        return wrap(start + a @ b, 32)

    def outgoing(self, x: Numbers, relu: int, factor: float) -> Numbers:
        return clamp(scale(np.maximum(x, 0) if relu else x, factor, 32), 8)

    def shifted(self, sums: Numbers, shift: int) -> Numbers:
        return wrap(rounding_shift(sums, shift), 20)

    def larger(self, x: Numbers, y: Numbers) -> Numbers:
        return np.maximum(x, y)

    def to_spad(self, x: Numbers, relu: int) -> Numbers:
        return np.maximum(clamp(x, 8), 0) if relu else clamp(x, 8)


class Binary32:
    """binary32 elements and sums: fused multiply-adds in the order of k, nothing saturates or rounds to integers."""

    element: type = np.float32
    sum: type = np.float32
    held: type = np.float32

    def scaled_in(self, x: Numbers, factor: float, full: bool) -> Numbers:
        with np.errstate(all="ignore"):
            return canonical(x * F32(factor))

    def add(self, x: Numbers, y: Numbers) -> Numbers:
        with np.errstate(all="ignore"):
            return canonical(x + y)

    def multiply(self, a: Numbers, b: Numbers, start: Numbers) -> Numbers:
        total = start
        for k in range(a.shape[1]):
            total = fma(a[:, k : k + 1], b[k : k + 1], total)
        return total

    def outgoing(self, x: Numbers, relu: int, factor: float) -> Numbers:
        return self.scaled_in(self.to_spad(x, relu), factor, True)

    def shifted(self, sums: Numbers, shift: int) -> Numbers:
        return canonical(sums * F32(2.0**-shift))

    def larger(self, x: Numbers, y: Numbers) -> Numbers:
        """The number where one is not a number; +0 is larger than -0."""
        return np.where(np.isnan(y) | (x > y) | ((x == y) & ~np.signbit(x)), x, y)

    def to_spad(self, x: Numbers, relu: int) -> Numbers:
        return np.where(np.signbit(x) & (x != 0), F32(0), x) if relu else x


@dataclass
class Execute:
    dataflow: int = 0
    act: int = 0
    shift: int = 0
    acc_scale: float = 1.0
    a_stride: int = 0
    c_stride: int = 0
    a_transpose: int = 0
    b_transpose: int = 0


@dataclass
class Load:
    stride: int = 0
    scale: float = 1.0
    shrunk: int = 0
    block_stride: int = 0
    pixel_repeats: int = 1


@dataclass
class Pool:
    size: int = 0
    out_dim: int = 0
    porows: int = 0
    pocols: int = 0
    orows: int = 0
    ocols: int = 0
    upad: int = 0
    lpad: int = 0


class Model:
    """Memories, configuration and the array. `tensors` is DRAM as bytes; a pointer names one and an offset in it."""

    def __init__(self, geometry: Geometry, tensors: list[npt.NDArray[np.uint8]]) -> None:
        self.geometry, self.tensors = geometry, tensors
        self.numbers = Binary32() if geometry.real else Int8()
        dim, held = geometry.dim, self.numbers.held
        self.spad: Numbers = np.zeros((geometry.spad_rows, dim), held)
        self.acc: Numbers = np.zeros((geometry.acc_rows, dim), held)
        self.ex, self.loads, self.pool = Execute(), [Load(), Load(), Load()], Pool()
        self.out_stride, self.out_act, self.out_scale, self.pool_stride = 0, 0, 0.0, 0
        self.weights: Numbers = np.zeros((dim, dim), held)
        self.preloaded: Numbers = np.zeros((dim, dim), held)
        self.sums: Numbers = np.zeros((dim, dim), held)
        self.destination = (NONE, 0, 0)

    def execute(self, name: str, arguments: tuple[float, ...]) -> None:
        getattr(self, name)(*arguments)

    # --- configuration

    def configure_execute(
        self,
        dataflow: int,
        act: int,
        shift: int,
        acc_scale: float,
        a_stride: int,
        c_stride: int,
        at: int,
        bt: int,
        only: int,
    ) -> None:
        if only:
            self.ex.a_stride, self.ex.c_stride = a_stride, c_stride
        else:
            self.ex = Execute(dataflow, act, shift, acc_scale, a_stride, c_stride, at, bt)

    def configure_load(self, index: int, stride: int, factor: float, shrunk: int, block: int, repeats: int) -> None:
        self.loads[index] = Load(stride, factor, shrunk, block, repeats or 1)

    def configure_store(self, stride: int, act: int, factor: float, pool_stride: int, *pool: int) -> None:
        self.out_stride, self.out_act, self.pool_stride = stride, act, pool_stride
        if F32(factor).view(np.uint32) != KEEP_SCALE:
            self.out_scale = factor
        if pool_stride:
            self.pool = Pool(*pool)

    # --- moves

    def _bytes(self, pointer: int) -> npt.NDArray[np.uint8]:
        return self.tensors[(pointer >> 48) - 1][pointer & ((1 << 48) - 1) :]

    def _elements(self, pointer: int, count: int, dtype: type) -> Numbers:
        return self._bytes(pointer)[: count * np.dtype(dtype).itemsize].copy().view(dtype).astype(self.numbers.held)

    def move_in(self, index: int, src: int, dst: int, cols: int, rows: int) -> None:
        config, dim = self.loads[index], self.geometry.dim
        base, is_acc = dst & 0x1FFFFFFF, dst & ACC
        for r in range(rows):
            at = src + r * config.stride
            if src == 0:
                line: Numbers = np.zeros(cols, self.numbers.held)
            else:
                full = bool(is_acc) and not config.shrunk
                values = self._elements(at, cols, self.numbers.sum if full else self.numbers.element)
                line = self.numbers.scaled_in(values, config.scale, full)
            if config.pixel_repeats > 1:
                self._repeat(base + r, line, config.pixel_repeats)
                continue
            for block, first in enumerate(range(0, cols, dim)):
                part, row = line[first : first + dim], base + r + block * config.block_stride
                if not is_acc:
                    self.spad[row, : len(part)] = part
                elif dst & ACCUMULATE:
                    self.acc[row, : len(part)] = self.numbers.add(self.acc[row, : len(part)], part)
                else:
                    self.acc[row, : len(part)] = part

    def _repeat(self, row: int, line: Numbers, repeats: int) -> None:
        """Copy q goes q rows up and q groups to the right; none leaves the half of the scratchpad that holds `row`."""
        half = self.geometry.spad_rows // 2
        floor = half if row >= half else 0
        for q in range(repeats):
            if row - q >= floor:
                self.spad[row - q, q * len(line) : (q + 1) * len(line)] = line

    def move_out(self, dst: int, src: int, cols: int, rows: int) -> None:
        base, dim = src & 0x1FFFFFFF, self.geometry.dim
        if self.pool_stride:
            self._pooled(dst, src, cols)
            return
        for r in range(rows):
            for block, first in enumerate(range(0, cols, dim)):
                width, row = min(dim, cols - first), base + r + block * dim
                at = dst + r * self.out_stride + first * self.geometry.elem_bytes
                self._put(at, self._outgoing(src, row, width))

    def _put(self, pointer: int, line: Numbers) -> None:
        data = line.view(np.uint8)
        self._bytes(pointer)[: len(data)] = data

    def _outgoing(self, src: int, row: int, width: int) -> Numbers:
        if not src & ACC:
            return self.spad[row, :width].astype(self.numbers.element)
        line = self.acc[row, :width]
        if src & FULL:
            return line.astype(self.numbers.sum)
        return self.numbers.outgoing(line, self.out_act, self.out_scale).astype(self.numbers.element)

    def _pooled(self, dst: int, src: int, cols: int) -> None:
        pool, base = self.pool, src & 0x1FFFFFFF
        for p in range(pool.porows):
            for q in range(pool.pocols):
                pixels: list[Numbers] = []
                for i in range(pool.size):
                    for j in range(pool.size):
                        y, x = p * self.pool_stride + i - pool.upad, q * self.pool_stride + j - pool.lpad
                        inside = 0 <= y < pool.orows and 0 <= x < pool.ocols
                        zeros = np.zeros(cols, self.numbers.element)
                        pixels.append(self._outgoing(src, base + y * pool.ocols + x, cols) if inside else zeros)
                self._put(dst + (p * pool.out_dim + q) * self.out_stride, reduce(self.numbers.larger, pixels))

    # --- the array

    def _operand(self, local: int, rows: int, cols: int, transposed: int, stride: int = 1) -> Numbers:
        """The top left rows x cols corner of a square matrix that is 0 elsewhere."""
        matrix: Numbers = np.zeros((self.geometry.dim, self.geometry.dim), self.numbers.held)
        if local != NONE:
            base = local & 0x1FFFFFFF
            for i in range(rows):
                for k in range(cols):
                    row, lane = base + stride * (k if transposed else i), i if transposed else k
                    if local & ACC:
                        value = self.acc[row, lane : lane + 1]
                        matrix[i, k] = self.numbers.outgoing(value, self.ex.act, self.ex.acc_scale)[0]
                    else:
                        matrix[i, k] = self.spad[row, lane]
        return matrix

    def preload(self, bd: int, c: int, bd_cols: int, bd_rows: int, c_cols: int, c_rows: int) -> None:
        self.preloaded = self._operand(bd, bd_rows, bd_cols, self.ex.dataflow and self.ex.b_transpose)
        self.destination = (c, c_cols, c_rows)

    def compute(self, flip: int, a: int, bd: int, a_cols: int, a_rows: int, bd_cols: int, bd_rows: int) -> None:
        ex = self.ex
        left = self._operand(a, a_rows, a_cols, ex.a_transpose, ex.a_stride)
        right = self._operand(bd, bd_rows, bd_cols, not ex.dataflow and ex.b_transpose)
        if ex.dataflow:
            self.weights = self.preloaded if flip else self.weights
            self._write(self.numbers.multiply(left, self.weights, right))
        else:
            self.sums = self.numbers.multiply(left, right, self.preloaded if flip else self.sums)
            self._write(self.numbers.shifted(self.sums, ex.shift))

    def _write(self, out: Numbers) -> None:
        c, cols, rows = self.destination
        if c == NONE:
            return
        for i in range(rows):
            row, line = (c & 0x1FFFFFFF) + self.ex.c_stride * i, out[i, :cols]
            if c & ACC:
                self.acc[row, :cols] = self.numbers.add(self.acc[row, :cols], line) if c & ACCUMULATE else line
            else:
                self.spad[row, :cols] = self.numbers.to_spad(line, self.ex.act)

    # --- order

    def fence(self) -> None:
        """Execution in program order needs no fence."""

    def flush(self, skip: int) -> None:
        """Forgets address translations only."""
