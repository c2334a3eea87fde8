"""The 4x4 machine with semaphores in NumPy, written from its documentation: one method an instruction.

An instruction computes all its values before it stores any. Semaphores and fences do not change results.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

DIM, TILE_ROWS, SUM_ROWS = 4, 256, 64
Bytes = npt.NDArray[np.uint8]


class Model:
    def __init__(self, memory: Bytes) -> None:
        self.memory = memory
        self.tiles = np.zeros((TILE_ROWS, DIM), np.int8)
        self.sums = np.zeros((SUM_ROWS, DIM), np.int32)

    def execute(self, name: str, arguments: tuple[float, ...]) -> None:
        if name == "fence" or name.endswith(("_wait", "_signal")):
            return
        getattr(self, name)(*arguments)

    def _line(self, pointer: int, count: int, dtype: type) -> npt.NDArray[np.generic]:
        at = pointer & ((1 << 48) - 1)
        return self.memory[at : at + count * np.dtype(dtype).itemsize].copy().view(dtype)

    def load_tile(self, src: int, dst: int, stride: int, cols: int, rows: int) -> None:
        for r in range(rows):
            self.tiles[dst + r] = 0
            self.tiles[dst + r, :cols] = self._line(src + r * stride, cols, np.int8)

    def load_sum(self, src: int, dst: int, stride: int, cols: int, rows: int) -> None:
        for r in range(rows):
            self.sums[dst + r, :cols] = self._line(src + r * stride, cols, np.int32) if src else 0

    def contract(
        self, a: int, b: int, c: int, cols: int, rows: int, depth: int, accumulate: int, at: int, bt: int
    ) -> None:
        left = self.tiles[a : a + depth, :rows].T if at else self.tiles[a : a + rows, :depth]
        right = self.tiles[b : b + cols, :depth].T if bt else self.tiles[b : b + depth, :cols]
        product = left.astype(np.int32) @ right.astype(np.int32)
        old = self.sums[c : c + rows, :cols]
        self.sums[c : c + rows, :cols] = old + product if accumulate else product

    def vadd(self, x: int, y: int, z: int, cols: int, rows: int) -> None:
        self.sums[z : z + rows, :cols] = self.sums[x : x + rows, :cols] + self.sums[y : y + rows, :cols]

    def store_tile(self, dst: int, src: int, stride: int, cols: int, rows: int, scale: float, relu: int) -> None:
        for r in range(rows):
            line = self.sums[src + r, :cols]
            with np.errstate(all="ignore"):
                product = (np.maximum(line, 0) if relu else line).astype(np.float32) * np.float32(scale)
            rounded = np.rint(np.clip(np.where(np.isnan(product), 127, product), -128, 127))
            self._put(dst + r * stride, rounded.astype(np.int8))

    def store_sum(self, dst: int, src: int, stride: int, cols: int, rows: int) -> None:
        for r in range(rows):
            self._put(dst + r * stride, self.sums[src + r, :cols])

    def _put(self, pointer: int, line: npt.NDArray[np.int8] | npt.NDArray[np.int32]) -> None:
        at = pointer & ((1 << 48) - 1)
        self.memory[at : at + line.nbytes] = line.view(np.uint8)
