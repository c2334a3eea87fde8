"""The int8 systolic-array machine in NumPy, written from its specification and used as the tests' oracle.

One method an instruction of the machine, with the machine's own operands; nothing here is read from its description.
Results follow the hardware where it was measured: output-stationary sums wrap to 20 bits (benchmarks/rtl/facts.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
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

    @property
    def blocks(self) -> int:
        return max(1, self.max_bytes // self.dim)

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


@dataclass
class Execute:
    dataflow: int = 0
    act: int = 0
    shift: int = 0
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
        dim = geometry.dim
        self.spad: Ints = np.zeros((geometry.spad_rows, dim), np.int64)
        self.acc: Ints = np.zeros((geometry.acc_rows, dim), np.int64)
        self.ex, self.loads, self.pool = Execute(), [Load(), Load(), Load()], Pool()
        self.out_stride, self.out_act, self.out_scale, self.pool_stride = 0, 0, 0.0, 0
        self.weights: Ints = np.zeros((dim, dim), np.int64)
        self.preloaded: Ints = np.zeros((dim, dim), np.int64)
        self.sums: Ints = np.zeros((dim, dim), np.int64)
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
            self.ex = Execute(dataflow, act, shift, a_stride, c_stride, at, bt)

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

    def _elements(self, pointer: int, count: int, dtype: type) -> Ints:
        return self._bytes(pointer)[: count * np.dtype(dtype).itemsize].copy().view(dtype).astype(np.int64)

    def move_in(self, index: int, src: int, dst: int, cols: int, rows: int) -> None:
        config, dim = self.loads[index], self.geometry.dim
        base, is_acc = dst & 0x1FFFFFFF, dst & ACC
        for r in range(rows):
            at = src + r * config.stride
            if src == 0:
                line: Ints = np.zeros(cols, np.int64)
            elif is_acc and not config.shrunk:
                line = self._elements(at, cols, np.int32)
            else:
                line = scale(self._elements(at, cols, np.int8), config.scale, 8)
            if config.pixel_repeats > 1:
                self._repeat(base + r, line, config.pixel_repeats)
                continue
            for block, first in enumerate(range(0, cols, dim)):
                part, row = line[first : first + dim], base + r + block * config.block_stride
                if not is_acc:
                    self.spad[row, : len(part)] = part
                elif dst & ACCUMULATE:
                    self.acc[row, : len(part)] = wrap(self.acc[row, : len(part)] + part, 32)
                else:
                    self.acc[row, : len(part)] = part

    def _repeat(self, row: int, line: Ints, repeats: int) -> None:
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
                self._put(dst + r * self.out_stride + first, self._outgoing(src, row, width))

    def _put(self, pointer: int, line: npt.NDArray[np.int8] | npt.NDArray[np.int32]) -> None:
        data = line.view(np.uint8)
        self._bytes(pointer)[: len(data)] = data

    def _outgoing(self, src: int, row: int, width: int) -> npt.NDArray[np.int8] | npt.NDArray[np.int32]:
        if not src & ACC:
            return self.spad[row, :width].astype(np.int8)
        line = self.acc[row, :width]
        if src & FULL:
            return line.astype(np.int32)
        return clamp(scale(np.maximum(line, 0) if self.out_act else line, self.out_scale, 32), 8).astype(np.int8)

    def _pooled(self, dst: int, src: int, cols: int) -> None:
        pool, base = self.pool, src & 0x1FFFFFFF
        for p in range(pool.porows):
            for q in range(pool.pocols):
                pixels: list[npt.NDArray[np.int8] | npt.NDArray[np.int32]] = []
                for i in range(pool.size):
                    for j in range(pool.size):
                        y, x = p * self.pool_stride + i - pool.upad, q * self.pool_stride + j - pool.lpad
                        inside = 0 <= y < pool.orows and 0 <= x < pool.ocols
                        pixels.append(
                            self._outgoing(src, base + y * pool.ocols + x, cols) if inside else np.zeros(cols, np.int8)
                        )
                self._put(dst + (p * pool.out_dim + q) * self.out_stride, np.max(pixels, axis=0))

    # --- the array

    def _operand(self, local: int, rows: int, cols: int, transposed: int, stride: int = 1) -> Ints:
        """The top left rows x cols corner of a square matrix that is 0 elsewhere."""
        matrix: Ints = np.zeros((self.geometry.dim, self.geometry.dim), np.int64)
        if local != NONE:
            base = local & 0x1FFFFFFF
            for i in range(rows):
                for k in range(cols):
                    matrix[i, k] = self.spad[base + stride * (k if transposed else i), i if transposed else k]
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
            self._write(right + left @ self.weights)
        else:
            self.sums = wrap((self.preloaded if flip else self.sums) + left @ right, 32)
            self._write(wrap(rounding_shift(self.sums, ex.shift), 20))

    def _write(self, out: Ints) -> None:
        c, cols, rows = self.destination
        if c == NONE:
            return
        for i in range(rows):
            row, line = (c & 0x1FFFFFFF) + self.ex.c_stride * i, out[i, :cols]
            if c & ACC:
                self.acc[row, :cols] = wrap((self.acc[row, :cols] if c & ACCUMULATE else 0) + line, 32)
            else:
                self.spad[row, :cols] = np.maximum(clamp(line, 8), 0) if self.ex.act else clamp(line, 8)

    # --- order

    def fence(self) -> None:
        """Execution in program order needs no fence."""

    def flush(self, skip: int) -> None:
        """Forgets address translations only."""
