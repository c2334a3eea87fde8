"""The int8 systolic array with normalisations on moves out, in NumPy and Python's integers, from its specification.

Where RTL and functional model differ, results follow the RTL (a scale folded into the deviation, one rounding), except
that its exponential is known to be wrong and is the functional model's. The largest element counts for a sum of
exponentials from the moment that the sum begins, however many moves it takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tests.simulator.models.systolic import ACC, F32, FULL, Geometry, Model, Numbers, clamp, scale

RELU, LAYERNORM, IGELU, SOFTMAX = 1, 2, 3, 4
RESET, SUM, MEAN, VARIANCE, INV_STDDEV, MAX, SUM_EXP, INV_SUM_EXP = range(8)
LEAST = -(1 << 31)


def int32(x: int) -> int:
    return (x + (1 << 31)) % (1 << 32) - (1 << 31)


@dataclass
class Statistics:
    sum: int = 0
    count: int = 0
    mean: int = 0
    running_max: int = LEAST
    max: int = LEAST
    inv_stddev: float = 0.0
    inv_sum_exp: float = 0.0


class NormalisingModel(Model):
    def __init__(self, geometry: Geometry, tensors: list[npt.NDArray[np.uint8]]) -> None:
        super().__init__(geometry, tensors)
        self.slots = [Statistics() for _ in range(geometry.stats)]
        self.slot = self.qb = self.qc = self.qln2 = self.qln2_inv = 0

    def configure_store(self, stride: int, act: int, factor: float, pool_stride: int, *pool: int) -> None:
        super().configure_store(stride, act % 4, factor, pool_stride, *pool)

    def configure_normalization(
        self, constant: int, which: int, only_slot: int, act_high: int, slot: int, qb: int, qc: int
    ) -> None:
        self.slot = slot
        if only_slot:
            return
        self.qb, self.qc = qb, qc
        if which:
            self.qln2_inv = constant
        else:
            self.qln2 = constant
        self.out_act = self.out_act % 4 + 4 * act_high

    def igelu(self, q: int) -> int:
        clipped = min(int32(abs(q)), int32(-self.qb))
        erf = int32((-1 if q < 0 else 1) * ((clipped + self.qb) ** 2 + self.qc))
        return int32(q * (erf + self.qc))

    def iexp(self, q: int) -> int:
        halvings = int32((-q * self.qln2_inv) >> 16)
        rest = int32(q + halvings * self.qln2 + self.qb)
        return int32(rest * rest + self.qc) >> (halvings if 0 <= halvings < 32 else 32)

    def move_out(self, dst: int, src: int, cols: int, rows: int) -> None:
        command, plain = src >> 26 & 7, src & ~(7 << 26)
        if not src & ACC or command == RESET:
            super().move_out(dst, plain, cols, rows)
            if src & ACC:
                self.slots[self.slot].sum = self.slots[self.slot].count = 0
            return
        base, dim = plain & 0x1FFFFFFF, self.geometry.dim
        lines = [
            int(x)
            for r in range(rows)
            for block in range(0, cols, dim)
            for x in self.acc[base + r + block, : min(dim, cols - block)]
        ]
        self.measure(command, lines)

    def measure(self, command: int, elements: list[int]) -> None:
        slot = self.slots[self.slot]
        slot.count = (slot.count + len(elements)) % (1 << 16)
        if command == MAX:
            slot.running_max = max(slot.running_max, *elements)
        elif command in (SUM, MEAN):
            slot.sum = int32(slot.sum + sum(elements))
        elif command in (VARIANCE, INV_STDDEV):
            slot.sum = int32(slot.sum + sum(int32((x - slot.mean) ** 2) for x in elements))
        else:
            slot.max = slot.running_max
            slot.sum = int32(slot.sum + sum(self.iexp(int32(x - slot.max)) for x in elements))
        self.complete(command, slot)

    def complete(self, command: int, slot: Statistics) -> None:
        with np.errstate(all="ignore"):
            if command == MEAN:
                slot.mean = math.trunc(slot.sum / slot.count)
            elif command == INV_STDDEV:
                deviation = math.isqrt(max(0, math.trunc(slot.sum / slot.count))) or 1
                slot.inv_stddev = float(F32(1) / F32(deviation) * F32(self.out_scale))
            elif command == INV_SUM_EXP:
                slot.inv_sum_exp = float(F32(127) / F32(slot.sum) * F32(self.out_scale))
                slot.running_max = LEAST
        if command in (MEAN, INV_STDDEV):
            slot.sum = slot.count = 0

    def _outgoing(self, src: int, row: int, width: int) -> Numbers:
        if not src & ACC or src & FULL or self.out_act <= RELU:
            return super()._outgoing(src, row, width)
        slot, line = self.slots[self.slot], [int(x) for x in self.acc[row, :width]]
        if self.out_act == IGELU:
            values, factor = [self.igelu(x) for x in line], self.out_scale
        elif self.out_act == LAYERNORM:
            values, factor = [int32(x - slot.mean) for x in line], slot.inv_stddev
        else:
            values, factor = [self.iexp(int32(x - slot.max)) for x in line], slot.inv_sum_exp
        return clamp(scale(np.array(values, np.int64), factor, 32), 8).astype(np.int8)
