"""Random programs of the systolic-array machine: every instruction and operand whose effect is defined.

A draft follows the configuration and draws only commands that it allows, so that no program has to be thrown away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from tests.simulator.machines import pointer
from tests.simulator.models.systolic import ACC, ACCUMULATE, FULL, KEEP_SCALE, NONE, Geometry

BYTES = 1 << 14  # of the tensor that moves read and write
MEMORY, CONTENTS, DUMP = range(3)
Call = tuple[str, tuple[float, ...]]
T = TypeVar("T")


def real(bits: int) -> float:
    return float(np.uint32(bits).view(np.float32))


@dataclass(frozen=True)
class Scenario:
    """Commands, run between a fill and a dump of the local memories, and what DRAM holds before them."""

    calls: tuple[Call, ...]
    seed: int
    spread: int

    def program(self, geometry: Geometry) -> list[Call]:
        return [*fill(geometry), *self.calls, *dump(geometry)]

    def tensors(self, geometry: Geometry) -> list[npt.NDArray[np.uint8]]:
        """The tensors memory, contents (of the local memories) and dump."""
        rng = np.random.default_rng(self.seed)
        low = -self.spread

        def integers(count: int, dtype: type, factor: int = 1) -> npt.NDArray[np.uint8]:
            return rng.integers(low * factor, self.spread * factor, count).astype(dtype).view(np.uint8)

        spad, acc = geometry.spad_rows * geometry.dim, geometry.acc_rows * geometry.dim
        if geometry.real:
            counts = (BYTES // 4, spad + acc)
            memory, contents = (reals(rng, count, self.spread).view(np.uint8) for count in counts)
            return [memory, contents, np.zeros(4 * (spad + acc), np.uint8)]
        factor = (1 << 24) if self.spread == 128 else 16
        contents = np.concatenate([integers(spad, np.int8), integers(acc, np.int32, factor)])
        return [integers(BYTES, np.int8), contents, np.zeros(spad + 4 * acc, np.uint8)]


def reals(rng: np.random.Generator, count: int, spread: int) -> npt.NDArray[np.float32]:
    """Numbers of all magnitudes and both zeros; for a small spread integers, whose sums are exact."""
    if spread < 128:
        return rng.integers(-spread, spread, count).astype(np.float32)
    values = rng.uniform(-1, 1, count) * 2.0 ** rng.integers(-20, 20, count)
    special = np.array([0.0, -0.0, 1e-40, -1e-45, 1.0, -1.0])
    return np.where(rng.random(count) < 0.2, rng.choice(special, count), values).astype(np.float32)


@dataclass
class Draft:
    choose: Callable[[int, int], int]  # a number from the first to the second
    geometry: Geometry
    special: bool  # scales that are not numbers, infinite or the bits that keep the scale
    calls: list[Call] = field(default_factory=list)
    dataflow: int = 1
    a_stride: int = 1
    c_stride: int = 1
    a_transpose: int = 0
    b_transpose: int = 0
    weights: bool = False  # the active plane holds weights
    summing: bool = False  # sums stand in the array
    keeps: bool = False  # the last pair has left its sums there
    flipped: bool = False  # the last pair has put new weights in the active plane
    loads: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)  # shrunk, block stride, repeats, stride
    pooled: int = 0  # rows of the image; 0: no pooling

    def issue(self, name: str, *arguments: float) -> None:
        self.calls.append((name, arguments))

    def below(self, high: int, low: int = 0) -> int:
        return self.choose(low, high - 1)

    def among(self, *choices: T) -> T:
        return choices[self.below(len(choices))]

    def some(self, high: int, low: int = 0) -> int:
        """A size from low to high, often the largest."""
        return high if self.below(3) == 0 else self.below(high + 1, low)

    # --- addresses

    def row(self, total: int, rows: int) -> int:
        """The first of `rows` rows in a memory of `total`, near its start, its middle or its end."""
        near = self.among(0, 0, total // 2, total) + self.below(2 * self.geometry.dim) - self.geometry.dim // 2
        return min(max(near, 0), total - max(rows, 1))

    def spad(self, rows: int) -> int:
        return self.row(self.geometry.spad_rows, rows) | self.among(0, 0, 0, ACCUMULATE, FULL)

    def acc(self, rows: int) -> int:
        return self.row(self.geometry.acc_rows, rows) | ACC | self.among(0, ACCUMULATE)

    def dram(self, extent: int) -> int:
        assert extent <= BYTES
        size = self.geometry.elem_bytes
        return pointer(MEMORY, self.below((BYTES - extent) // size + 1) * size)

    # --- configuration

    def scale(self) -> float:
        ordinary = self.among(1.0, 1.0, 0.5, -1.0, 0.37, 3.7, -0.25, 0.0, 2.0**-20, 1e10)
        if self.special and self.below(4) == 0:
            return self.among(float("nan"), float("inf"), float("-inf"), -0.0, 1e-45, real(0x7F7FFFFF))
        return float(np.float32(ordinary))

    def config_ex(self, first: bool = False) -> None:
        if self.flipped:  # few rows would still be on their way to the array
            self.issue("fence")
            self.flipped = False
        if not first and self.below(4) == 0:
            self.strides()
            other = (self.below(2), self.below(2), self.below(32), self.scale())
            strides = (self.a_stride, self.c_stride)
            self.issue("configure_execute", *other, *strides, self.below(2), self.below(2), 1)
        else:
            self.dataflow = 0 if self.keeps else self.below(2)
            self.strides()
            self.a_transpose, self.b_transpose = self.among(*[(0, 0), (1, 0), (0, 1) if self.dataflow else (1, 1)])
            act, shift = self.below(2), self.among(0, 0, 1, 3, 12, 31)
            factor = self.scale() if self.geometry.reads_acc else 1.0
            transposes = (self.a_transpose, self.b_transpose)
            strides = (self.a_stride, self.c_stride)
            self.issue("configure_execute", self.dataflow, act, shift, factor, *strides, *transposes, 0)
        self.weights = self.summing = False

    def strides(self) -> None:
        self.a_stride = self.among(1, 1, 0, 2, 3)
        self.c_stride = self.among(1, 1, 0, 2, 3) if self.dataflow else 1

    def config_ld(self, index: int | None = None) -> None:
        dim = self.geometry.dim
        index = self.below(3) if index is None else index
        stride = self.among(0, dim, 4 * dim, 1, 100) * self.geometry.elem_bytes
        shrunk, block = self.below(2), self.among(dim, dim, dim + 3, 2 * dim, dim // 2)
        repeats = self.among(1, 1, 1, 0, 2, 3)
        self.issue("configure_load", index, stride, self.scale(), shrunk, block, repeats)
        self.loads[index] = (shrunk, block, repeats or 1, stride)

    def config_st(self) -> None:
        stride = self.among(self.geometry.dim, 64, 100, 5, 0) * self.geometry.elem_bytes
        act, factor = self.below(5 if self.geometry.stats else 2), self.scale()
        if self.special and self.below(4) == 0:
            factor = real(KEEP_SCALE)
        if self.below(3):
            self.issue("configure_store", stride, act, factor, *[0] * 9)
            self.pooled = 0
            return
        orows, ocols = self.below(6, 1), self.below(6, 1)
        window = (self.below(4, 1), self.below(4, 1))
        output = (self.below(6), self.below(5, 1), self.below(5, 1))
        self.issue("configure_store", stride, act, factor, *window, *output, orows, ocols, self.below(4), self.below(4))
        self.pooled = orows * ocols

    def config_norm(self) -> None:
        slot = self.below(self.geometry.stats)
        constants = [self.among(-2, -100, -30000, 0, 77, -(1 << 31), (1 << 31) - 1) for _ in range(2)]
        constant = self.among(0, 1, 11, 693, 94548, 1 << 20, (1 << 31) - 1, -5)
        self.issue("configure_normalization", constant, self.below(2), self.below(2), self.below(2), slot, *constants)

    # --- moves

    def mvin(self) -> None:
        shape, index = self.geometry, self.below(3)
        shrunk, block, repeats, stride = self.loads[index]
        null = self.below(6) == 0
        acc = repeats == 1 and not (null and shrunk) and self.below(2) == 1
        rows = self.some(min(shape.dim, block), 1)
        blocks = shape.acc_blocks if acc and not shrunk and not null else shape.blocks
        blocks = min(blocks, ((shape.acc_rows if acc else shape.spad_rows) - rows) // block + 1)
        cols = self.some(shape.dim // repeats if repeats > 1 else blocks * shape.dim, 1)
        if acc and null:
            cols = min(cols, 2047 // (4 * rows))
        local = (self.acc if acc else self.spad)(rows + (cols - 1) // shape.dim * block)
        if acc and self.below(8) == 0:
            local |= FULL
        source = 0 if null else self.dram(rows * 100 * shape.elem_bytes + 4 * cols)
        if acc and not shrunk:  # sums are added where none lies across two requests
            source -= source % 4
            local &= ~ACCUMULATE if rows > 1 and stride % 4 and source else ~0
        self.issue("move_in", index, source, local, cols, rows)

    def mvout(self) -> None:
        shape, kind = self.geometry, self.below(3)
        full = kind == 2 and not self.pooled
        rows = self.below(shape.dim + 1) if self.pooled else self.some(shape.dim, 1)
        memory = shape.acc_rows if kind else shape.spad_rows
        blocks = 1 if full or self.pooled else min(shape.blocks, (memory - rows) // shape.dim + 1)
        cols = self.some(blocks * shape.dim, 1)
        extent = self.pooled or rows + (cols - 1) // shape.dim * shape.dim
        local = self.acc(extent) | (FULL if full else 0) if kind else self.spad(extent)
        if kind and self.geometry.stats and not self.pooled and self.below(2):
            command = self.below(8)
            local |= command << 26
            rows = 1 if command in (2, 4, 7) else rows
        self.issue("move_out", self.dram(30 * 100 * shape.elem_bytes + 4 * cols), local, cols, rows)

    # --- the array

    def pair(self) -> None:
        (self.weight_stationary if self.dataflow else self.output_stationary)()

    def operand(self, rows: int, stride: int = 1) -> int:
        extent = (rows - 1) * stride + 1 if rows else 1
        return self.acc(extent) if self.geometry.reads_acc and self.below(3) == 0 else self.spad(extent)

    def destination(self, rows: int) -> int:
        extent = (rows - 1) * self.c_stride + 1 if rows else 1
        if self.below(4):
            return self.acc(extent) | (FULL if self.below(8) == 0 else 0)
        return self.spad(extent)

    def left(self) -> tuple[int, int, int]:
        cols, rows = self.some(self.geometry.dim, 1), self.some(self.geometry.dim, 1)
        return self.operand(cols if self.a_transpose else rows, self.a_stride), cols, rows

    def result(self, streamed: int) -> tuple[int, int, int]:
        dim = self.geometry.dim
        rows = self.some(min(streamed, dim, dim if self.c_stride else 1), 1)
        return self.destination(rows), self.some(dim, 1), rows

    def weight_stationary(self) -> None:
        dim = self.geometry.dim
        keep, absent = self.weights and self.below(2) == 1, self.below(8) == 0
        b_cols, b_rows = self.some(dim, 1), self.some(dim, 1)
        b = self.zeros() if absent and not keep else self.operand(b_cols if self.b_transpose else b_rows)
        if keep and self.below(4):
            b = NONE
        a, a_cols, a_rows = self.left()
        if absent and not keep:
            a = NONE
        d_cols, d_rows = self.some(dim, 1), self.some(dim, 1)
        d = NONE if self.below(2) else self.operand(d_rows)
        streamed = dim if self.a_transpose else max(1 if a == NONE else a_rows, 1 if d == NONE else d_rows, 4)
        c, c_cols, c_rows = self.result(streamed) if self.below(8) else (NONE, dim, dim)
        self.issue("preload", b, c, b_cols, b_rows, c_cols, c_rows)
        self.issue("compute", 0 if keep else 1, a, d, a_cols, a_rows, d_cols, d_rows)
        self.weights = True
        self.keeps, self.flipped = False, not keep

    def zeros(self) -> int:
        """Zero weights, which alone are harmless without A."""
        dim = self.geometry.dim
        row = self.row(self.geometry.spad_rows, dim)
        self.issue("configure_load", 0, 0, 1.0, 0, dim, 1)
        self.loads[0] = (0, dim, 1, 0)
        self.issue("move_in", 0, 0, row, dim, dim)
        return row

    def output_stationary(self) -> None:
        dim = self.geometry.dim
        go_on = self.summing and self.below(3) > 0
        d_cols, d_rows, b_cols, b_rows = (self.some(dim, 1) for _ in range(4))
        d = NONE if self.below(2) else self.operand(d_rows)
        b = NONE if self.below(8) == 0 else self.operand(b_cols if self.b_transpose else b_rows)
        a, a_cols, a_rows = self.left()
        c, c_cols, c_rows = (NONE, dim, dim) if self.below(2) else self.result(dim)
        self.issue("preload", d, c, d_cols, d_rows, c_cols, c_rows)
        self.issue("compute", 0 if go_on else 1, a, b, a_cols, a_rows, b_cols, b_rows)
        self.summing = self.keeps = c == NONE
        self.flipped = False

    def begin(self) -> None:
        for index in range(3):
            self.config_ld(index)
        self.config_ex(first=True)
        self.config_st()


def fill(geometry: Geometry) -> list[Call]:
    """Contents for all local rows."""
    dim, size = geometry.dim, geometry.elem_bytes
    acc_at = size * geometry.spad_rows * dim
    calls: list[Call] = [("configure_load", (index, n * dim, 1.0, 0, dim, 1)) for index, n in ((0, size), (1, 4))]
    for row in range(0, geometry.spad_rows, dim):
        calls.append(("move_in", (0, pointer(CONTENTS, row * size * dim), row, dim, dim)))
    for row in range(0, geometry.acc_rows, dim):
        calls.append(("move_in", (1, pointer(CONTENTS, acc_at + row * 4 * dim), row | ACC, dim, dim)))
    return calls


def dump(geometry: Geometry) -> list[Call]:
    """All local rows to DRAM."""
    dim, size = geometry.dim, geometry.elem_bytes
    acc_at = size * geometry.spad_rows * dim
    calls: list[Call] = [("fence", ()), ("configure_store", (size * dim, 0, 1.0, *[0] * 9))]
    for row in range(0, geometry.spad_rows, dim):
        calls.append(("move_out", (pointer(DUMP, row * size * dim), row, dim, dim)))
    calls.append(("configure_store", (4 * dim, 0, 1.0, *[0] * 9)))
    for row in range(0, geometry.acc_rows, dim):
        calls.append(("move_out", (pointer(DUMP, acc_at + row * 4 * dim), row | ACC | FULL, dim, dim)))
    return [*calls, ("fence", ())]


def compose(choose: Callable[[int, int], int], geometry: Geometry, length: int, special: bool) -> Scenario:
    draft = Draft(choose, geometry, special)
    draft.begin()
    steps = [draft.mvin] * 4 + [draft.pair] * 7 + [draft.mvout] * 3
    steps += [draft.config_ex, draft.config_ld, draft.config_st, draft.config_st]
    steps += [lambda: draft.issue("fence"), lambda: draft.issue("flush", draft.below(2))]
    if geometry.stats:
        steps += [draft.config_norm] * 3 + [draft.mvout] * 3
    for _ in range(draft.below(length + 1, length // 3)):
        draft.among(*steps)()
    return Scenario(tuple(draft.calls), draft.below(1 << 32), draft.among(128, 128, 8, 2))


@st.composite
def scenarios(draw: Any, geometry: Geometry, length: int = 30, special: bool = True) -> Scenario:
    """Programs of up to `length` steps that shrink."""
    return compose(lambda low, high: int(draw(st.integers(low, high))), geometry, length, special)


def uniform_scenario(seed: int, geometry: Geometry, length: int) -> Scenario:
    """A program of even choices, which hypothesis does not make: it likes small and repeated ones."""
    rng = np.random.default_rng(seed)
    return compose(lambda low, high: int(rng.integers(low, high + 1)), geometry, length, True)
