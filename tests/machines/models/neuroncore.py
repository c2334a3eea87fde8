"""A NeuronCore in NumPy, from the NKI documentation: partitions first, elements of a partition second."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tests.machines.models.arithmetic import (
    Bytes,
    Floats,
    Memory,
    canonical,
    chain,
    from_bfloat16,
    to_bfloat16,
)

SIZES = {"PARTITIONS": 8, "SBUF_KB": 1, "PSUM_KB": 1, "MOVING": 32}
PARTITIONS, SBUF, PSUM, VECTORS = 8, 512, 256, 256
BYTES = 1 << 15
DUMP = BYTES - 2 * PARTITIONS * SBUF
Call = tuple[str, tuple[float, ...]]


def _each(function: Callable[[float], float]) -> Callable[[Floats], Floats]:
    return np.vectorize(lambda x: np.float32(function(float(x))), otypes=[np.float32])


FUNCTIONS: list[Callable[[Floats], Floats]] = [
    lambda x: x,
    lambda x: np.where(np.signbit(x) & (x != 0), np.float32(0), x),
    _each(lambda x: 0.5 * x * math.erfc(-x / math.sqrt(2))),
    _each(lambda x: math.exp(x) if x < 700 else math.inf),
    _each(math.tanh),
    _each(lambda x: 1 / (1 + math.exp(-x)) if x > -700 else 0.0),
    _each(lambda x: math.nan if x < 0 else math.copysign(math.inf, x) if x == 0 else 1 / math.sqrt(x)),
]
OPERATIONS: list[Callable[[Floats, Floats], Floats]] = [np.add, np.subtract, np.multiply, np.maximum]


class Model:
    """SBUF holds bfloat16 as bits, everything else binary32: [partition][element]."""

    def __init__(self, memory: Bytes) -> None:
        self.dram = Memory(memory)
        self.sbuf = np.zeros((PARTITIONS, SBUF), np.uint16)
        self.psum: Floats = np.zeros((PARTITIONS, PSUM), np.float32)
        self.stats: Floats = np.zeros((PARTITIONS, VECTORS), np.float32)

    def execute(self, name: str, arguments: tuple[float, ...]) -> None:
        if name != "fence":
            with np.errstate(all="ignore"):
                getattr(self, name)(*arguments)

    def dma_load(self, src: int, dst: int, stride: int, partitions: int, columns: int) -> None:
        for p in range(partitions):
            self.sbuf[p, dst : dst + columns] = to_bfloat16(
                from_bfloat16(self.dram.read(src + p * stride, columns, "u2"))
            )

    def dma_load_vector(self, src: int, dst: int, stride: int, partitions: int) -> None:
        for p in range(partitions):
            self.stats[p, dst] = self.dram.read(src + p * stride, 1, "f4")[0]

    def nc_matmul(
        self,
        dst: int,
        stationary: int,
        moving: int,
        rows: int,
        cols: int,
        depth: int,
        accumulate: int,
        lines: int,
        line_stride: int,
    ) -> None:
        at = [stationary + line * line_stride + column for line in range(lines) for column in range(rows)]
        left = from_bfloat16(self.sbuf[:depth, at]).T
        right = from_bfloat16(self.sbuf[:depth, moving : moving + cols])
        start = self.psum[: len(at), dst : dst + cols]
        self.psum[: len(at), dst : dst + cols] = chain(left, right, start if accumulate else np.zeros_like(start))

    def activation(
        self, function: int, dst: int, src: int, cols: int, partitions: int, scale: float, bias: int, use_bias: int
    ) -> None:
        value = canonical(self.psum[:partitions, src : src + cols] * np.float32(scale))
        if use_bias:
            value = canonical(value + self.stats[:partitions, bias, None])
        self._put(dst, canonical(FUNCTIONS[function](value)))

    def tensor_copy(self, dst: int, src: int, cols: int, partitions: int) -> None:
        self._put(dst, self.psum[:partitions, src : src + cols])

    def tensor_tensor(self, op: int, dst: int, x: int, y: int, cols: int, partitions: int) -> None:
        left, right = (from_bfloat16(self.sbuf[:partitions, at : at + cols]) for at in (x, y))
        self._put(dst, canonical(OPERATIONS[op](left, right)))

    def tensor_scalar(self, op: int, dst: int, src: int, by: int, cols: int, partitions: int) -> None:
        left = from_bfloat16(self.sbuf[:partitions, src : src + cols])
        self._put(dst, canonical(OPERATIONS[op](left, self.stats[:partitions, by, None])))

    def reduce(self, op: int, dst: int, src: int, cols: int, partitions: int) -> None:
        values = from_bfloat16(self.sbuf[:partitions, src : src + cols])
        total = np.zeros(partitions, np.float32) if op == 0 else np.full(partitions, -np.inf, np.float32)
        for c in range(cols):
            total = canonical(total + values[:, c]) if op == 0 else np.fmax(total, values[:, c])
        self.stats[:partitions, dst] = total

    def reciprocal(self, dst: int, src: int, partitions: int) -> None:
        self.stats[:partitions, dst] = canonical(np.float32(1) / self.stats[:partitions, src])

    def dma_store(self, dst: int, src: int, stride: int, partitions: int, columns: int) -> None:
        for p in range(partitions):
            self.dram.write(dst + p * stride, self.sbuf[p, src : src + columns])

    def _put(self, dst: int, values: Floats) -> None:
        self.sbuf[: values.shape[0], dst : dst + values.shape[1]] = to_bfloat16(values)


def memory(random: np.random.Generator) -> Bytes:
    """bfloat16 numbers around 1; pairs of them are binary32 numbers as well."""
    return to_bfloat16(random.normal(0, 1, BYTES // 2)).view(np.uint8)


def prepare(contents: Bytes) -> Bytes:
    return contents


def pointer(offset: int) -> int:
    return (1 << 48) | offset


def program(random: np.random.Generator) -> list[Call]:
    """SBUF, PSUM and the vectors are filled, some instructions follow, PSUM and the vectors are copied to SBUF, which
    leaves as a whole."""
    calls: list[Call] = [("dma_load", (pointer(0), 0, 2 * SBUF, PARTITIONS, SBUF))]
    given = PARTITIONS, 32, PARTITIONS, 0, 1, PARTITIONS
    calls += [("nc_matmul", (32 * i, 16 * i, 200 + 8 * i, *given)) for i in range(PSUM // 32)]
    calls += [("dma_load_vector", (pointer(4 * v), v, 64, PARTITIONS)) for v in range(8)]
    calls += [step(random) for _ in range(int(random.integers(1, 16)))]
    calls.append(("tensor_copy", (0, 0, PSUM, PARTITIONS)))
    for v in range(8):
        calls.append(("tensor_scalar", (1, PSUM + v, PSUM + 8, v, 1, PARTITIONS)))
    return [*calls, ("dma_store", (pointer(DUMP), 0, 2 * SBUF, PARTITIONS, SBUF)), ("fence", ())]


def step(random: np.random.Generator) -> Call:
    def up_to(most: int) -> int:
        return int(random.integers(0, most + 1))

    p, cols = 1 + up_to(PARTITIONS - 1), 1 + up_to(31)
    sb, other, dst = (up_to(SBUF - cols) for _ in range(3))
    ps = up_to(PSUM - cols)
    if dst != sb and abs(dst - sb) < cols:
        dst = sb
    if dst != other and abs(dst - other) < cols:
        other = dst
    kind = up_to(8)
    if kind == 0:
        return "dma_load", (pointer(2 * up_to(2000)), sb, 2 * (cols + up_to(9)), p, cols)
    if kind == 1:
        lines = 1 + up_to(PARTITIONS // p - 1)
        stride = 1 + up_to((SBUF - p) // lines - 1)
        at = up_to(SBUF - p - (lines - 1) * stride)
        return "nc_matmul", (ps, at, sb, p, cols, 1 + up_to(PARTITIONS - 1), up_to(1), lines, stride)
    if kind in (2, 3):
        scale = float(np.float32(random.choice([1.0, 0.5, -0.25])))
        return "activation", (up_to(6), sb, ps, cols, p, scale, up_to(7), up_to(1))
    if kind == 4:
        return "tensor_copy", (sb, ps, cols, p)
    if kind == 5:
        return "tensor_tensor", (up_to(3), dst, sb, other, cols, p)
    if kind == 6:
        return "tensor_scalar", (up_to(3), dst, sb, up_to(7), cols, p)
    if kind == 7:
        return "reduce", (3 * up_to(1), up_to(7), sb, cols, p)
    return "reciprocal", (up_to(7), up_to(7), p)
