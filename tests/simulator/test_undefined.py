"""Undefined behaviour of the systolic array is an error that says what to do, with and without recognised forms."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, run_program

from autocomp.targets.simulator import isa
from tests.simulator.machines import Command, issue_all, pointer

ACC, FULL, NONE, DIM = 1 << 31, 1 << 29, 0xFFFFFFFF, 8
Call = tuple[str, tuple[float, ...]]
A, OUT = pointer(0), pointer(0, 512)


@cache
def tables() -> isa.MachineTables:
    return isa.lower(isa.load("gemmini", {"DIM": DIM, "SPAD_KB": 2, "ACC_KB": 2, "MAX_BYTES": 32}))


def execute(dataflow: int = 1, a_transpose: int = 0, b_transpose: int = 0, c_stride: int = 1, act: int = 0) -> Call:
    return "configure_execute", (dataflow, act, 0, 1.0, 1, c_stride, a_transpose, b_transpose, 0)


def load(block: int = DIM, shrunk: int = 0, repeats: int = 1, stride: int = 16) -> Call:
    return "configure_load", (0, stride, 1.0, shrunk, block, repeats)


def store(*pool: int) -> Call:
    return "configure_store", (16, 0, 1.0, *(pool or [0] * 9))


def move_in(dst: int, cols: int = DIM, rows: int = DIM, src: int = A) -> Call:
    return "move_in", (0, src, dst, cols, rows)


def move_out(src: int, cols: int = DIM, rows: int = DIM) -> Call:
    return "move_out", (OUT, src, cols, rows)


def preload(bd: int = 0, c: int = ACC, rows: int = DIM) -> Call:
    return "preload", (bd, c, DIM, rows, DIM, DIM)


def compute(flip: int = 1, a: int = 0, bd: int = NONE, rows: int = DIM) -> Call:
    return "compute", (flip, a, bd, DIM, rows, DIM, rows)


READY = (load(), move_in(0), store(), execute())
POOL = (1, 2, 1, 1, 1)  # stride, size, width of the output; rows and columns of the output
CASES: dict[str, tuple[str, list[Call]]] = {
    # rows that do not exist; the hardware wraps
    "a move in past the scratchpad": ("spad", [load(), move_in(253)]),
    "a move in past the accumulator": ("acc", [load(), move_in(ACC | 61)]),
    "a move out past the scratchpad": ("spad", [store(), move_out(253)]),
    "a move out past the accumulator": ("acc", [store(), move_out(ACC | 61)]),
    "operand A past the scratchpad": ("spad", [*READY, preload(), compute(a=253)]),
    "operand B past the scratchpad": ("spad", [*READY, preload(bd=253)]),
    "a result past the accumulator": ("acc", [*READY, preload(c=ACC | 61), compute()]),
    "unused bits of an address": ("spad", [load(), move_in(1 << 15)]),
    # pairs
    "a compute without its preload": ("a compute needs its own preload directly before", [*READY, compute()]),
    "two computes for one preload": ("its own preload", [*READY, preload(), compute(), compute()]),
    "two preloads in a row": ("followed by its compute, not by another preload", [*READY, preload(), preload()]),
    "a configuration inside a pair": ("not by a configuration", [*READY, preload(), execute()]),
    "an array that was never configured": ("the array needs config_ex before", [load(), move_in(0), preload()]),
    # operands
    "no operand A": ("without operand A", [*READY, preload(), compute(a=NONE, bd=0)]),
    "no operand A, output-stationary": ("need operand A", [*READY, execute(0), preload(), compute(a=NONE)]),
    "activating absent weights": ("needs a preload with weights", [*READY, preload(NONE), compute()]),
    "operand A in the accumulator": ("come from the scratchpad", [*READY, preload(), compute(a=ACC)]),
    "operand B in the accumulator": ("come from the scratchpad", [*READY, preload(bd=ACC)]),
    "operand D in the accumulator": ("come from the scratchpad", [*READY, preload(), compute(bd=ACC)]),
    # results
    "more results than rows of A": ("C has no more rows than A streams", [*READY, preload(), compute(rows=1)]),
    "more results than rows of D alone": (
        "C has no more rows than A streams",
        [*READY, preload(), compute(a=NONE, bd=0, rows=1)],
    ),
    "partial sums": (
        "only the last preload of an output-stationary chain",
        [*READY, execute(0), preload(), compute(), preload(NONE), compute(flip=0)],
    ),
    "an output-stationary C stride": ("C stride of 1", [*READY, execute(0, c_stride=2), preload()]),
    "a C stride of 0": ("writes all rows to one", [*READY, execute(c_stride=0), preload()]),
    # transposes
    "B transposed alone, output-stationary": ("there is one transposer", [execute(0, 0, 1)]),
    "both transposed, weight-stationary": ("there is one transposer", [execute(1, 1, 1)]),
    # moves in
    "a wide int32 move in": ("spans at most MAX_BYTES bytes", [load(), move_in(ACC, cols=DIM + 1)]),
    "blocks on top of each other": ("block stride must be at least the number of rows", [load(block=3), move_in(0)]),
    "a move in that was never configured": ("configure the load with config_ld before", [move_in(0)]),
    "a move into nothing": ("not the absent operand", [load(), move_in(NONE)]),
    "pixel repeats in the accumulator": ("need a scratchpad destination", [load(repeats=2), move_in(ACC, cols=1)]),
    "pixel repeats beyond the row": (
        "all copies of the columns in one row",
        [load(repeats=2), move_in(8, cols=DIM - 1)],
    ),
    "a stride of more than 40 bits": ("40 bits", [load(stride=1 << 40)]),
    # moves out
    "a move out that was never configured": ("moves out need config_st before", [move_out(0)]),
    "a move out of nothing": ("not the absent operand", [store(), move_out(NONE)]),
    "a move out without rows": ("a move that does not pool has at least one row", [store(), move_out(0, rows=0)]),
    "a wide full move": ("full-width move spans at most DIM", [store(), move_out(ACC | FULL, cols=DIM + 1)]),
    "a wide pooled move": ("pooled move spans at most DIM", [store(*POOL, 2, 2, 0, 0), move_out(ACC, cols=DIM + 1)]),
    "pooling of full rows": ("clear the full bit", [store(*POOL, 2, 2, 0, 0), move_out(ACC | FULL)]),
    "pooling without an image": ("orows and ocols", [store(*POOL, 0, 2, 0, 0), move_out(ACC)]),
    "pooling of a huge image": ("image to be pooled fits the memory", [store(*POOL, 255, 255, 0, 0), move_out(ACC)]),
    "a pool size alone": ("undocumented mode", [store(0, 2, 1, 1, 1, 2, 2, 0, 0)]),
    "pooling by nothing": ("pool size of at least 1", [store(1, 0, 1, 1, 1, 2, 2, 0, 0)]),
    # operands out of range, activations and normalisations that the configuration lacks
    "a layer normalisation": ("act", [("configure_store", (16, 2, 1.0, *[0] * 9))]),
    "a soft maximum in the array": ("act", [execute(act=3)]),
    "too many rows": ("rows", [load(block=2 * DIM), move_in(0, rows=DIM + 1)]),
    "no rows": ("rows", [load(), move_in(0, rows=0)]),
    "too many columns": ("cols", [load(), move_in(0, cols=4 * DIM + 1)]),
    "a fourth configuration of loads": ("id", [("configure_load", (3, 16, 1.0, 0, DIM, 1))]),
    # DRAM
    "a move past the tensor": ("memory", [load(), move_in(0, src=pointer(0, 1020))]),
}


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_undefined_behaviour_is_an_error(case: str, generic: bool) -> None:
    message, calls = CASES[case]
    commands = [Command(tables().instructions[name], arguments) for name, arguments in calls]
    program = issue_all(tables().machine, commands, [("memory", "u8", (1024,))])
    memory = np.ones(1024, np.uint8)
    error = run_program(
        tables().machine, program, {"memory": memory}, SimulationOptions(timing=False, generic=generic)
    ).error
    assert error is not None
    assert error.kind in ("requirement", "bounds")
    assert message in error.message
    assert error.line == len(calls)
