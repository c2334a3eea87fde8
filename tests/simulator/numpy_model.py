"""The 16x16 int8 systolic-array machine in NumPy, written from its specification and used as the tests' oracle.

Commands are the hardware's: moves, preload and compute with their operands, and configuration. One method a command.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

DIM = 16
NONE = 0xFFFFFFFF
F32 = np.float32


def clamp(x: np.ndarray, bits: int) -> np.ndarray:
    return np.clip(x, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def wrap(x: np.ndarray, bits: int) -> np.ndarray:
    half = 1 << (bits - 1)
    return (x + half) % (2 * half) - half


def wrap32(x: np.ndarray) -> np.ndarray:
    return ((x.astype(np.int64) + 2**31) % 2**32 - 2**31).astype(np.int64)


def scale(x: np.ndarray, factor: float, bits: int) -> np.ndarray:
    """Product in binary32, rounded to nearest even, clamped to `bits` bits."""
    product = x.astype(F32) * F32(factor)
    return clamp(np.rint(product.astype(np.float64)), bits).astype(np.int64)


def rounding_shift(x: np.ndarray, shift: int) -> np.ndarray:
    if shift == 0:
        return x
    half, below = (x >> (shift - 1)) & 1, (x & ((1 << (shift - 1)) - 1)) != 0
    return (x >> shift) + (half & (below | ((x >> shift) & 1)))


@dataclass
class LoadConfig:
    stride: int = 0
    scale: float = 1.0
    shrunk: bool = False
    block_stride: int = DIM


@dataclass
class Model:
    dram: np.ndarray  # uint8, one tensor
    spad: np.ndarray = field(default_factory=lambda: np.zeros((16384, DIM), np.int64))
    acc: np.ndarray = field(default_factory=lambda: np.zeros((1024, DIM), np.int64))
    loads: list[LoadConfig] = field(default_factory=lambda: [LoadConfig() for _ in range(3)])
    weights: np.ndarray = field(default_factory=lambda: np.zeros((DIM, DIM), np.int64))
    next_weights: np.ndarray = field(default_factory=lambda: np.zeros((DIM, DIM), np.int64))
    sums: np.ndarray = field(default_factory=lambda: np.zeros((DIM, DIM), np.int64))

    def config_ex(self, ws: int, act: int, shift: int, a_stride: int, c_stride: int, at: int, bt: int) -> None:
        self.ws, self.act, self.shift = bool(ws), act, shift
        self.a_stride, self.c_stride, self.at, self.bt = a_stride, c_stride, bool(at), bool(bt)

    def config_ld(self, index: int, stride: int, factor: float, shrunk: int, block_stride: int) -> None:
        self.loads[index] = LoadConfig(stride, factor, bool(shrunk), block_stride)

    def config_st(self, stride: int, act: int, factor: float) -> None:
        self.out_stride, self.out_act, self.out_scale = stride, act, factor

    def _elements(self, offset: int, count: int, dtype: type) -> np.ndarray:
        size = np.dtype(dtype).itemsize
        return self.dram[offset : offset + count * size].view(dtype).astype(np.int64)

    def mvin(self, index: int, offset: int | None, local: int, cols: int, rows: int) -> None:
        config = self.loads[index]
        is_acc, accumulate, base = local >> 31 & 1, local >> 30 & 1, local & 0x1FFFFFFF
        for r in range(rows):
            if offset is None:
                line = np.zeros(cols, np.int64)
            elif is_acc and not config.shrunk:
                line = self._elements(offset + r * config.stride, cols, np.int32)
            else:
                line = scale(self._elements(offset + r * config.stride, cols, np.int8), config.scale, 8)
            for c in range(cols):
                row, lane = base + r + c // DIM * config.block_stride, c % DIM
                if is_acc:
                    self.acc[row, lane] = wrap32(line[c] + (self.acc[row, lane] if accumulate else 0))
                else:
                    self.spad[row, lane] = line[c]

    def _operand(self, local: int, rows: int, cols: int, transposed: bool, stride: int = 1) -> np.ndarray:
        """The top left rows x cols corner of a DIM x DIM matrix that is 0 elsewhere."""
        matrix = np.zeros((DIM, DIM), np.int64)
        if local == NONE:
            return matrix
        for i in range(rows):
            for k in range(cols):
                matrix[i, k] = self.spad[local + stride * (k if transposed else i), i if transposed else k]
        return matrix

    def preload(self, bd: int, c: int, bd_cols: int, bd_rows: int, c_cols: int, c_rows: int) -> None:
        self.next_weights = self._operand(bd, bd_rows, bd_cols, self.ws and self.bt)
        self.c, self.c_cols, self.c_rows = c, c_cols, c_rows

    def compute(self, flip: int, a: int, bd: int, a_cols: int, a_rows: int, bd_cols: int, bd_rows: int) -> None:
        left = self._operand(a, a_rows, a_cols, self.at, self.a_stride)
        right = self._operand(bd, bd_rows, bd_cols, not self.ws and self.bt)
        if self.ws:
            if flip:
                self.weights = self.next_weights
            out = right + left @ self.weights
        else:
            self.sums = wrap32((self.next_weights if flip else self.sums) + left @ right)
            # Measured on the RTL: 20 bits wrap; 32 products (-128)(-128) give -2^19 (benchmarks/rtl/facts.md).
            out = wrap(rounding_shift(self.sums, self.shift), 20)
        self._write(out)

    def _write(self, out: np.ndarray) -> None:
        if self.c == NONE:
            return
        base = self.c & 0x1FFFFFFF
        for i in range(self.c_rows):
            row, line = base + self.c_stride * i, out[i, : self.c_cols]
            if self.c >> 31 & 1:
                old = self.acc[row, : self.c_cols] if self.c >> 30 & 1 else 0
                self.acc[row, : self.c_cols] = wrap32(old + line)
            else:
                narrow = clamp(line, 8)
                self.spad[row, : self.c_cols] = np.maximum(narrow, 0) if self.act else narrow

    def mvout(self, offset: int, local: int, cols: int, rows: int) -> None:
        is_acc, full, base = local >> 31 & 1, local >> 29 & 1, local & 0x1FFFFFFF
        for r in range(rows):
            at = offset + r * self.out_stride
            for c in range(cols):
                row, lane = base + r + c // DIM * DIM, c % DIM
                if is_acc and full:
                    self.dram[at + 4 * c : at + 4 * c + 4] = np.array([self.acc[row, lane]], np.int32).view(np.uint8)
                    continue
                value = self.acc[row, lane] if is_acc else self.spad[row, lane]
                if is_acc:
                    relu = np.maximum(value, 0) if self.out_act else value
                    value = clamp(scale(np.array([relu]), self.out_scale, 32), 8)[0]
                self.dram[at + c] = np.int64(value) & 0xFF
