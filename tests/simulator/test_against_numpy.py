"""Random command sequences on the 16x16 machine: recognised forms, interpreter and a NumPy model agree bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from autocomp.simulator import Options, run_program

from autocomp import isa
from tests.simulator.machines import Command, issue_all, pointer
from tests.simulator.numpy_model import DIM, NONE, Model

ACC, ACCUMULATE, FULL = 1 << 31, 1 << 30, 1 << 29
BYTES = 1 << 16
ROWS = 128  # of each memory, in use


@pytest.fixture(scope="module")
def tables() -> isa.MachineTables:
    return isa.lower(isa.load("gemmini"))


class Writer:
    """Issues each command to the model and to a list."""

    def __init__(self, tables: isa.MachineTables, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.tables = tables
        extreme = self.rng.integers(0, 2) == 1
        low, high = (-128, 128) if extreme else (-8, 8)
        self.initial = self.rng.integers(low, high, BYTES).astype(np.int8).view(np.uint8)
        self.model = Model(self.initial.copy())
        self.commands: list[Command] = []

    def issue(self, name: str, *arguments: int | float) -> None:
        self.commands.append(Command(self.tables.instructions[name], arguments))

    def pick(self, *choices: float) -> float:
        return choices[int(self.rng.integers(len(choices)))]

    def below(self, high: int, low: int = 0) -> int:
        return int(self.rng.integers(low, high))

    def config_ex(self) -> None:
        ws = self.below(2)
        at, bt = [(0, 0), (1, 0), (0, 1)][self.below(3)] if ws else [(0, 0), (1, 0), (1, 1)][self.below(3)]
        c_stride = self.below(4, 1) if ws else 1
        act, shift, a_stride = self.below(2), self.below(8), self.below(4, 1)
        self.issue("configure_execute", ws, act, shift, 1.0, a_stride, c_stride, at, bt, 0)
        self.model.config_ex(ws, act, shift, a_stride, c_stride, at, bt)

    def config_ld(self) -> None:
        index, shrunk, block = self.below(3), self.below(2), self.below(24, 16)
        stride, factor = int(self.pick(0, 16, 64, 100)), self.pick(1.0, 1.0, 0.5, -1.0, 0.37, 3.7)
        factor = float(np.float32(factor))
        self.issue("configure_load", index, stride, factor, shrunk, block, 1)
        self.model.config_ld(index, stride, factor, shrunk, block)

    def config_st(self) -> None:
        stride, act = int(self.pick(64, 128, 100)), self.below(2)
        factor = float(np.float32(self.pick(1.0, 0.5, 0.013, -0.25)))
        self.issue("configure_store", stride, act, factor, *[0] * 9)
        self.model.config_st(stride, act, factor)

    def mvin(self) -> None:
        index, rows = self.below(3), self.below(17, 1)
        acc = self.below(2)
        offset = None if self.below(6) == 0 else self.below(BYTES - 16 * 128)
        wide = not acc or self.model.loads[index].shrunk or offset is None
        cols = self.below(65 if wide else 17, 1)
        local = self.below(ROWS - 100) | (ACC if acc else 0) | (ACCUMULATE if acc and self.below(2) else 0)
        self.issue("move_in", index, 0 if offset is None else pointer(0, offset), local, cols, rows)
        self.model.mvin(index, offset, local, cols, rows)

    def pair(self) -> None:
        rows, cols, depth = self.below(17, 1), self.below(17, 1), self.below(17, 1)
        reuse = self.model.ws and self.below(3) == 0
        chained = not self.model.ws and self.below(2)
        b = NONE if reuse else self.below(ROWS)
        c = self.below(64) | (ACC | (ACCUMULATE if self.below(2) else 0) if self.below(4) else 0)
        a, d = self.below(ROWS - 64), (NONE if self.below(2) else self.below(ROWS))
        if self.model.ws:
            self._preload(b, c, cols, depth, cols, rows)
            self._compute(0 if reuse else 1, a, d, depth, rows, cols, rows)
            return
        first = NONE if chained else c
        self._preload(NONE if self.below(2) else b, first, cols, rows, cols, rows)
        self._compute(1, a, self.below(ROWS), depth, rows, cols, depth)
        if chained:
            self._preload(NONE, c, cols, rows, cols, rows)
            self._compute(0, self.below(ROWS - 64), self.below(ROWS), depth, rows, cols, depth)

    def _preload(self, *operands: int) -> None:
        self.issue("preload", *operands)
        self.model.preload(*operands)

    def _compute(self, *operands: int) -> None:
        self.issue("compute", *operands)
        self.model.compute(*operands)

    def mvout(self) -> None:
        rows, kind = self.below(17, 1), self.below(3)
        local = self.below(64) | [0, ACC, ACC | FULL][kind]
        cols = self.below(17 if kind == 2 else 65, 1)
        offset = self.below(BYTES - 16 * 128)
        self.issue("move_out", pointer(0, offset), local, cols, rows)
        self.model.mvout(offset, local, cols, rows)

    def dump(self) -> None:
        self.issue("configure_store", 64, 0, 1.0, *[0] * 9)
        self.model.config_st(64, 0, 1.0)
        for row in range(0, ROWS, DIM):
            for local, offset in ((row, row * 64), (row | ACC | FULL, (ROWS + row) * 64)):
                self.issue("move_out", pointer(0, offset), local, DIM, DIM)
                self.model.mvout(offset, local, DIM, DIM)


@pytest.mark.parametrize("seed", range(24))
def test_random_commands_agree_with_the_model(tables: isa.MachineTables, seed: int) -> None:
    writer = Writer(tables, seed)
    writer.config_ex()
    for _ in range(3):
        writer.config_ld()
    for index in range(3):  # every load has a block stride
        writer.issue("configure_load", index, 64, 1.0, 0, 16, 1)
        writer.model.config_ld(index, 64, 1.0, 0, 16)
    writer.config_st()
    steps = [writer.mvin] * 5 + [writer.pair] * 5 + [writer.mvout] * 2
    steps += [writer.config_ex, writer.config_ld, writer.config_ld, writer.config_st]
    for _ in range(60):
        steps[writer.below(len(steps))]()
    writer.dump()
    program = issue_all(tables.machine, writer.commands, [("memory", "u8", (BYTES,))])
    for generic in (False, True):
        options = Options(timing=False, generic=generic)
        result = run_program(tables.machine, program, {"memory": writer.initial}, options)
        assert result.error is None, result.error
        np.testing.assert_array_equal(result.outputs["memory"], writer.model.dram)


def test_results_do_not_depend_on_whether_forms_are_recognised(tables: isa.MachineTables) -> None:
    writer = Writer(tables, 99)
    writer.config_ex()
    writer.issue("configure_load", 0, 64, 0.75, 0, 16, 1)
    for row in range(0, 64, 16):
        writer.issue("move_in", 0, pointer(0, row * 64), row, 64, 16)
    writer.config_st()
    for row in range(0, 64, 16):
        writer.issue("move_out", pointer(0, row * 128), row, 33, 16)
    program = issue_all(tables.machine, writer.commands, [("memory", "u8", (BYTES,))])
    seeded = [
        run_program(tables.machine, program, {"memory": writer.initial}, Options(timing=False, seed=7, generic=generic))
        for generic in (False, True)
    ]
    np.testing.assert_array_equal(seeded[0].outputs["memory"], seeded[1].outputs["memory"])
    assert seeded[0].multiply_accumulates == seeded[1].multiply_accumulates
