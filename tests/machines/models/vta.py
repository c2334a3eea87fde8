"""VTA in NumPy, from hw_spec.h and the paper: loads, micro-operations in two loops, arithmetic, stores."""

from __future__ import annotations

import numpy as np

from tests.machines.models.arithmetic import Bytes, Memory

BLOCK = 16
SIZES = {"INP_KB": 1, "WGT_KB": 4, "ACC_KB": 4, "UOP_KB": 1}
INP_ROWS, WGT_ROWS, ACC_ROWS, UOP_ROWS = 64, 16, 64, 256
ACC_BITS, INP_BITS = 6, 6
BYTES = 1 << 15
DUMP = BYTES - 4 * ACC_ROWS * BLOCK
Call = tuple[str, tuple[float, ...]]


class Model:
    """One method an instruction, in program order; tokens and fences change no results."""

    def __init__(self, memory: Bytes) -> None:
        self.dram = Memory(memory)
        self.inp = np.zeros((INP_ROWS, BLOCK), np.int8)
        self.wgt = np.zeros((WGT_ROWS, BLOCK, BLOCK), np.int8)
        self.acc = np.zeros((ACC_ROWS, BLOCK), np.int32)
        self.out = np.zeros((ACC_ROWS, BLOCK), np.int8)
        self.uop = np.zeros(UOP_ROWS, np.uint32)

    def execute(self, name: str, arguments: tuple[float, ...]) -> None:
        if not name.endswith(("_depend", "_signal")) and name != "fence":
            getattr(self, name)(*arguments)

    def move_input(self, src: int, dst: int, y_size: int, x_size: int, x_stride: int, *_: int) -> None:
        for y in range(y_size):
            row = self.dram.read(src + y * x_stride * BLOCK, x_size * BLOCK, "i1")
            self.inp[dst + y * x_size : dst + (y + 1) * x_size] = row.reshape(x_size, BLOCK)

    def move_weight(self, src: int, dst: int, y_size: int, x_size: int, x_stride: int, *_: int) -> None:
        size = BLOCK * BLOCK
        for y in range(y_size):
            row = self.dram.read(src + y * x_stride * size, x_size * size, "i1")
            self.wgt[dst + y * x_size : dst + (y + 1) * x_size] = row.reshape(x_size, BLOCK, BLOCK)

    def load_uop(self, src: int, dst: int, count: int) -> None:
        self.uop[dst : dst + count] = self.dram.read(src, count, "u4")

    def load_accumulators(self, src: int, dst: int, y_size: int, x_size: int, x_stride: int) -> None:
        for y in range(y_size):
            row = self.dram.read(src + y * x_stride * BLOCK * 4, x_size * BLOCK, "i4")
            self.acc[dst + y * x_size : dst + (y + 1) * x_size] = row.reshape(x_size, BLOCK)

    def gemm(
        self, reset: int, begin: int, end: int, iter_out: int, iter_in: int, dst_out: int, dst_in: int, src_out: int,
        src_in: int, wgt_out: int, wgt_in: int, *_: int,
    ) -> None:  # fmt: skip
        for o in range(iter_out):
            for i in range(iter_in):
                for code in self.uop[begin:end]:
                    d = (int(code) & ACC_ROWS - 1) + o * dst_out + i * dst_in
                    s = (int(code) >> ACC_BITS & INP_ROWS - 1) + o * src_out + i * src_in
                    w = (int(code) >> ACC_BITS + INP_BITS & WGT_ROWS - 1) + o * wgt_out + i * wgt_in
                    product = self.wgt[w].astype(np.int32) @ self.inp[s].astype(np.int32)
                    self.acc[d] = 0 if reset else self.acc[d] + product
                    self.out[d] = self.acc[d].astype(np.int8)

    def gemm_rows(self, dst: int, src: int, weights: int, rows: int, stride: int, accumulate: int) -> None:
        left = self.inp[src : src + (rows - 1) * stride + 1 : stride].astype(np.int32)
        product = left @ self.wgt[weights].astype(np.int32).T
        self._set(dst, rows, self.acc[dst : dst + rows] + product if accumulate else product)

    def alu(self, op: int, dst: int, src: int, rows: int, use_imm: int, imm: int, *_: int) -> None:
        left = self.acc[dst : dst + rows].copy()
        right = np.full_like(left, imm) if use_imm else self.acc[src : src + rows].copy()
        if op == 3:
            shifted = left >> (imm % 32) if imm >= 0 else left << (-imm % 32)
            self._set(dst, rows, shifted)
        else:
            self._set(dst, rows, (np.minimum, np.maximum, np.add)[op](left, right))

    def _set(self, dst: int, rows: int, values: np.ndarray) -> None:
        self.acc[dst : dst + rows] = values
        self.out[dst : dst + rows] = values.astype(np.int8)

    def move_result(self, dst: int, src: int, y_size: int, x_size: int, x_stride: int, *_: int) -> None:
        for y in range(y_size):
            self.dram.write(dst + y * x_stride * BLOCK, self.out[src + y * x_size : src + (y + 1) * x_size])


def memory(random: np.random.Generator) -> Bytes:
    return random.integers(0, 256, BYTES).astype(np.uint8)


def program(random: np.random.Generator) -> list[Call]:
    """Everything is filled, some commands follow, and the accumulators leave byte by byte."""
    calls: list[Call] = [
        ("move_input", (pointer(0), 0, 1, INP_ROWS, 1, 0, 0)),
        ("move_weight", (pointer(1024), 0, 1, WGT_ROWS, 1, 0, 0)),
        ("load_accumulators", (pointer(8192), 0, 1, ACC_ROWS, 0)),
        ("load_uop", (pointer(4096), 0, UOP_ROWS)),
        ("load_signal", (0,)),
        ("compute_depend", (0,)),
    ]
    calls += [call for _ in range(int(random.integers(1, 12))) for call in step(random)]
    for byte in range(4):
        calls.append(("alu", (3, 0, 0, ACC_ROWS, 1, 8 if byte else 0, 0, 0, 0, 0)))
        calls += [("compute_signal", (2,)), ("store_depend", (2,))]
        calls.append(("move_result", (pointer(DUMP + byte * ACC_ROWS * BLOCK), 0, 1, ACC_ROWS, 1, 0, 0)))
        calls += [("store_signal", (3,)), ("compute_depend", (3,))]
    return [*calls, ("fence", ())]


def step(random: np.random.Generator) -> list[Call]:
    def up_to(most: int) -> int:
        return int(random.integers(0, most + 1))

    kind = up_to(5)
    if kind == 0:
        y, x = 1 + up_to(3), 1 + up_to(7)
        rows = (pointer(16 * up_to(200)), up_to(INP_ROWS - y * x), y, x, 1 + up_to(20), 0, 0)
        return [
            ("compute_signal", (1,)),
            ("load_depend", (1,)),
            ("move_input", rows),
            ("load_signal", (0,)),
            ("compute_depend", (0,)),
        ]
    if kind == 1:
        y, x = 1 + up_to(1), 1 + up_to(3)
        blocks = (pointer(16 * up_to(200)), up_to(WGT_ROWS - y * x), y, x, 1 + up_to(6), 0, 0)
        return [
            ("compute_signal", (1,)),
            ("load_depend", (1,)),
            ("move_weight", blocks),
            ("load_signal", (0,)),
            ("compute_depend", (0,)),
        ]
    if kind == 2:
        rows = 1 + up_to(20)
        stride = 1 + up_to(1)
        src = up_to(INP_ROWS - (rows - 1) * stride - 1)
        return [("gemm_rows", (up_to(ACC_ROWS - rows), src, up_to(WGT_ROWS - 1), rows, stride, up_to(1)))]
    if kind == 3:
        rows, imm = 1 + up_to(20), int(random.choice([-32768, -5, -1, 0, 1, 7, 31, 32767]))
        op, use_imm = up_to(3), up_to(1)
        return [
            (
                "alu",
                (op, up_to(ACC_ROWS - rows), up_to(ACC_ROWS - rows), rows, 1 if op == 3 else use_imm, imm, 0, 0, 0, 0),
            )
        ]
    if kind == 4:
        y, x = 1 + up_to(3), 1 + up_to(3)
        return [("load_accumulators", (pointer(64 * up_to(100)), up_to(ACC_ROWS - y * x), y, x, up_to(9)))]
    return micro_operations(random)


def micro_operations(random: np.random.Generator) -> list[Call]:
    """Micro-operations near the beginning of each buffer, loaded and run in loops that stay inside."""
    count, at = int(random.integers(1, 5)), int(random.integers(0, UOP_ROWS - 4))
    loops = [int(n) for n in random.integers(1, 4, 2)]
    factors = (
        [int(n) for n in random.integers(0, 6, 2)]
        + [int(n) for n in random.integers(0, 6, 2)]
        + [int(n) for n in random.integers(0, 2, 2)]
    )
    return [
        ("load_uop", (pointer(UOPS + 4 * int(random.integers(0, 60))), at, count)),
        (
            "gemm",
            (int(random.integers(0, 2)) & int(random.integers(0, 2)), at, at + count, *loops, *factors, 0, 0, 0, 0),
        ),
    ]


UOPS = 16384  # of DRAM: codes whose indices leave room for the loops


def prepare(contents: Bytes) -> Bytes:
    codes = contents[UOPS : UOPS + 256].view(np.uint32)
    codes[:] = (codes & 31) | ((codes >> 8 & 31) << ACC_BITS) | ((codes >> 16 & 7) << ACC_BITS + INP_BITS)
    return contents


def pointer(offset: int) -> int:
    return (1 << 48) | offset
