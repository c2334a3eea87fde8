"""TPU v1 in NumPy, from the ISCA paper: a buffer, a FIFO of weight tiles, an array, accumulators."""

from __future__ import annotations

from collections import deque

import numpy as np

from tests.machines.models.arithmetic import Bytes, Memory

DIM, UB_ROWS, ACC_ROWS, FIFO = 16, 128, 64, 4
SIZES = {"DIM": DIM, "UB_KB": 2, "ACC_KB": 4}
BYTES = 1 << 13
DUMP = BYTES - DIM * (UB_ROWS + 4 * ACC_ROWS)
Call = tuple[str, tuple[float, ...]]


class Model:
    """The FIFO is a queue of tiles; a product without `next_weights` uses the tile that left it last."""

    def __init__(self, memory: Bytes) -> None:
        self.dram = Memory(memory)
        self.ub = np.zeros((UB_ROWS, DIM), np.int8)
        self.acc = np.zeros((ACC_ROWS, DIM), np.int32)
        self.fifo: deque[np.ndarray] = deque()
        self.weights = np.zeros((DIM, DIM), np.int32)

    def execute(self, name: str, arguments: tuple[float, ...]) -> None:
        if name != "fence":
            getattr(self, name)(*arguments)

    def read_host_memory(self, dst: int, src: int, stride: int, cols: int, rows: int) -> None:
        for r in range(rows):
            self.ub[dst + r] = 0
            self.ub[dst + r, :cols] = self.dram.read(src + r * stride, cols, "i1")

    def read_weights(self, src: int, stride: int, cols: int, depth: int) -> None:
        tile = np.zeros((DIM, DIM), np.int32)
        for k in range(depth):
            tile[k, :cols] = self.dram.read(src + k * stride, cols, "i1")
        self.fifo.append(tile)

    def matrix_multiply(self, dst: int, src: int, rows: int, accumulate: int, next_weights: int) -> None:
        if next_weights:
            self.weights = self.fifo.popleft()
        product = self.ub[src : src + rows].astype(np.int32) @ self.weights
        old = self.acc[dst : dst + rows]
        self.acc[dst : dst + rows] = old + product if accumulate else product

    def activate(self, dst: int, src: int, rows: int, function: int, scale: float) -> None:
        sums = self.acc[src : src + rows]
        with np.errstate(over="ignore"):
            scaled = (np.maximum(sums, 0) if function else sums).astype(np.float32) * np.float32(scale)
        self.ub[dst : dst + rows] = np.clip(np.rint(scaled), -128, 127).astype(np.int8)

    def write_host_memory(self, dst: int, src: int, stride: int, cols: int, rows: int) -> None:
        for r in range(rows):
            self.dram.write(dst + r * stride, self.ub[src + r, :cols])


def memory(random: np.random.Generator) -> Bytes:
    return random.integers(0, 256, BYTES).astype(np.uint8)


def prepare(contents: Bytes) -> Bytes:
    return contents


def pointer(offset: int) -> int:
    return (1 << 48) | offset


def program(random: np.random.Generator) -> list[Call]:
    """The buffer and the array are filled, some instructions follow; buffer and accumulators leave."""
    calls: list[Call] = [
        ("read_host_memory", (0, pointer(0), DIM, DIM, UB_ROWS)),
        ("read_weights", (pointer(64), DIM, DIM, DIM)),
        ("matrix_multiply", (0, 0, ACC_ROWS, 0, 1)),
    ]
    waiting = 0
    for _ in range(int(random.integers(1, 20))):
        rows = int(random.integers(1, 20))
        cols, depth = (int(n) for n in random.integers(1, DIM + 1, 2))
        row, total = int(random.integers(0, UB_ROWS - rows + 1)), int(random.integers(0, ACC_ROWS - rows + 1))
        address, stride = pointer(int(random.integers(0, 800))), int(random.choice([0, 1, DIM, 37]))
        kind = int(random.integers(0, 5))
        if kind == 0:
            calls.append(("read_host_memory", (row, address, stride, cols, rows)))
        elif kind == 1 and waiting < FIFO:
            calls.append(("read_weights", (address, stride, cols, depth)))
            waiting += 1
        elif kind == 2:
            following = int(waiting > 0 and random.integers(0, 2))
            calls.append(("matrix_multiply", (total, row, rows, int(random.integers(0, 2)), following)))
            waiting -= following
        elif kind == 3:
            scale = float(np.float32(random.choice([1.0, 0.01, -0.5, 1e10])))
            calls.append(("activate", (row, total, rows, int(random.integers(0, 2)), scale)))
        elif kind == 4:
            calls.append(("write_host_memory", (address, row, stride, cols, rows)))
    calls.append(("write_host_memory", (pointer(DUMP), 0, DIM, DIM, UB_ROWS)))
    for part, scale in enumerate((1.0, 2.0**-8, 2.0**-16, 2.0**-24)):
        calls.append(("activate", (0, 0, ACC_ROWS, 0, scale)))
        at = DUMP + DIM * (UB_ROWS + part * ACC_ROWS)
        calls.append(("write_host_memory", (pointer(at), 0, DIM, DIM, ACC_ROWS)))
    return [*calls, ("fence", ())]
