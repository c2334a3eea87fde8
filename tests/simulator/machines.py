"""Small machines and hand-assembled programs for the tests of the native core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from autocomp.simulator import _core

CODES = {name: index for index, name in enumerate(_core.code_names())}


def pointer(tensor: int, offset: int = 0) -> int:
    return ((tensor + 1) << 48) + offset


class Expressions:
    """Builder calls without their boilerplate."""

    def __init__(self) -> None:
        self.builder = _core.MachineBuilder()

    def arg(self, index: int, is_float: bool = False) -> int:
        return self.builder.expr("Argument", imm=index, is_float=is_float)

    def const(self, value: int) -> int:
        return self.builder.expr("ConstInt", imm=value)

    def real(self, value: float) -> int:
        return self.builder.expr("ConstFloat", fimm=value)

    def loop(self, depth: int) -> int:
        return self.builder.expr("Loop", imm=depth)

    def op(self, name: str, *operands: int, imm: int = 0) -> int:
        return self.builder.expr(name, *operands, imm=imm)


@dataclass(frozen=True)
class Command:
    instruction: int
    arguments: Sequence[int | float]


def assemble(
    machine: _core.Machine,
    rows: Sequence[tuple[str, int, int, int, int]],
    tensors: Sequence[tuple[str, str, tuple[int, ...]]] = (),
    stack: int = 128,
) -> _core.Program:
    """Bytecode rows (code, a, b, c, imm); line n is the n-th row, from 1."""
    code = np.array([(CODES[name], *rest) for name, *rest in rows], dtype=np.int64).reshape(len(rows), 5)
    lines = np.arange(1, len(rows) + 1, dtype=np.int32)
    declared = [(name, dtype, shape, None, True) for name, dtype, shape in tensors]
    return _core.Program(machine, code, lines, declared, min(stack, 64), stack)


def issue_all(
    machine: _core.Machine, commands: Sequence[Command], tensors: Sequence[tuple[str, str, tuple[int, ...]]]
) -> _core.Program:
    """A program that issues `commands`; each command's line is its number from 1."""
    rows: list[tuple[str, int, int, int, int]] = []
    lines: list[int] = []
    for number, command in enumerate(commands, 1):
        for register, value in enumerate(command.arguments):
            if isinstance(value, float):
                bits = int(np.float64(value).view(np.int64))
                rows.append(("LoadFloat", register, 0, 0, bits))
            else:
                address = 0 < value >> 48 <= len(tensors)
                rows.append(("LoadInt", register, address, 0, int(np.int64(np.uint64(value & (2**64 - 1))))))
        rows.append(("Issue", 0, 0, 0, command.instruction))
        lines += [number] * (len(command.arguments) + 1)
    rows.append(("Halt", 0, 0, 0, 0))
    lines.append(len(commands) + 1)
    code = np.array([(CODES[name], *rest) for name, *rest in rows], dtype=np.int64).reshape(len(rows), 5)
    declared = [(name, dtype, shape, None, True) for name, dtype, shape in tensors]
    return _core.Program(machine, code, np.array(lines, dtype=np.int32), declared, 64, 64)


@dataclass(frozen=True)
class Mover:
    """Two units that move int8 rows between DRAM and a local memory of 32 rows x 8 columns, and a fence.

    read(src, row, rows) on unit `in`; write(dst, row, rows) on unit `out`; copy(to, from, rows) on unit `in`.
    """

    machine: _core.Machine
    read: int = 0
    write: int = 1
    copy: int = 2
    fence: int = 3
    signal: int = 4
    wait: int = 5


def mover(settings: Mapping[str, int] | None = None) -> Mover:
    e = Expressions()
    b = e.builder
    dram = b.memory("dram", "dram", 0, 0, "i8")
    local = b.memory("rows", "local", 32, 8, "i8")
    b.unit("in", {}, {})
    b.unit("out", {}, {})
    a0, a1, a2 = e.arg(0), e.arg(1), e.arg(2)
    eight, one, zero = e.const(8), e.const(1), e.const(0)
    r, c = e.loop(0), e.loop(1)
    offset = e.op("Add", e.op("Mul", r, eight), c)

    def nest(store: int) -> int:
        return b.loop(a2, [b.loop(eight, [store])])

    def rows_of(base: int, write: bool, parameter: int) -> dict[str, object]:
        return {
            "memory": local, "write": write, "base": base, "dims": [(a2, one)],
            "first_col": zero, "cols": eight, "parameter": parameter,
        }  # fmt: skip

    def dram_of(write: bool) -> dict[str, object]:
        return {
            "memory": dram, "write": write, "pointer": a0, "base": zero, "dims": [(a2, eight)],
            "bytes": eight, "parameter": 0,
        }  # fmt: skip

    row = e.op("Add", a1, r)
    load = b.store(local, row, c, b.expr("ReadDram", a0, offset, imm=0))
    positive = b.require(e.op("Ge", a2, one), "at least one row")
    b.instruction(
        "read", 0, [("src", False), ("row", False), ("rows", False)], [positive, nest(load)],
        [dram_of(False), rows_of(a1, True, 1)], [],
    )  # fmt: skip
    out = b.store_dram(a0, offset, b.expr("Read", row, c, imm=local), "i8")
    b.instruction(
        "write", 1, [("dst", False), ("row", False), ("rows", False)], [nest(out)],
        [rows_of(a1, False, 1), dram_of(True)], [],
    )  # fmt: skip
    source = b.expr("Read", e.op("Add", a1, r), c, imm=local)
    move = b.store(local, e.op("Add", a0, r), c, source)
    b.instruction(
        "copy", 0, [("to", False), ("from", False), ("rows", False)], [nest(move)],
        [rows_of(a1, False, 1), rows_of(a0, True, 0)], [],
    )  # fmt: skip
    b.word(b.instruction("fence", -1, [], [], [], []), "role", "fence")
    for name, unit in (("signal", 0), ("wait", 1)):
        b.word(b.instruction(name, unit, [("id", False)], [], [], [("semaphore", a0)]), "role", name)
    for key, value in (settings or {}).items():
        b.setting(key, value)
    return Mover(b.build())
