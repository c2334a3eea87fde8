"""Commands by plan: what is read from fields of arguments and registers is what evaluating every expression gives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from autocomp.simulator import SimulationOptions, _core, run_program
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulator.machines import Command, Expressions, issue_all, pointer

ROWS, COLS, I8 = 32, 8, 0  # I8: the code of the element type
STEP, DUMP = 0, 1


def machine() -> _core.Machine:
    """step(x, p): bits 6..2 of x name a row, which becomes COLS bytes at p if x is odd and p not null, else the low
    bits of the register. Then the row that the register names becomes that row + 1, unless x's highest bits are ones;
    then the register becomes 7 * (low bits of x) - the register. dump(p) writes all rows to p."""
    e = Expressions()
    b = e.builder
    dram = b.memory("dram", "dram", 0, 0, "i8")
    local = b.memory("rows", "local", ROWS, COLS, "i8")
    slot = b.state("s", 3)
    x, p, register = e.arg(0), e.arg(1), b.expr("State", imm=slot)
    zero, one, cols, rows = e.const(0), e.const(1), e.const(COLS), e.const(ROWS)
    row = e.op("And", e.op("Shr", x, e.const(2)), e.const(ROWS - 1))
    other = e.op("WrapU", register, imm=5)
    given = e.op("LogicalAnd", e.op("And", x, one), p)
    ones = e.op("Eq", e.op("And", e.op("Shr", x, e.const(60)), e.const(31)), e.const(31))
    c = e.loop(0)

    def row_becomes(target: int, value: int) -> int:
        return b.loop(cols, [b.store(local, target, c, value)])

    loaded = b.expr("ReadDram", p, c, imm=I8)
    more = e.op("Add", b.expr("Read", row, c, imm=local), one)
    low = e.op("WrapU", x, imm=3)
    body = [
        b.when(given, [row_becomes(row, loaded)], [row_becomes(row, e.op("Wrap", register, imm=8))]),
        b.when(ones, [], [row_becomes(other, more)]),
        b.set_state(slot, -1, e.op("Sub", e.op("Mul", e.const(7), low), register)),
    ]
    written = {"memory": local, "write": True, "base": row, "dims": [], "first_col": zero, "cols": cols, "parameter": 0}
    read = {"memory": dram, "write": False, "guard": given, "pointer": p, "base": zero, "dims": [], "bytes": cols}
    b.instruction("step", -1, [("x", False), ("p", False)], body, [written, read], [])
    offset = e.op("Add", e.op("Mul", e.loop(0), cols), e.loop(1))
    whole = b.store_dram(x, offset, b.expr("Read", e.loop(0), e.loop(1), imm=local), "i8")
    b.instruction("dump", -1, [("p", False)], [b.loop(rows, [b.loop(cols, [whole])])], [], [])
    return b.build()


MACHINE = machine()
DATA = np.random.default_rng(0).integers(-128, 128, 64, dtype=np.int8)
# Few values of each, so that plans come again; x of both signs, with its highest bits alike and not.
X = st.integers(0, 255) | st.integers(0, 3) | st.sampled_from([-1, -128, 1 << 62, -(1 << 63) + 5, (1 << 63) - 1])
P = st.sampled_from([0, pointer(0), pointer(0, 24)])


def rows_after(commands: list[tuple[int, int]], generic: bool) -> npt.NDArray[np.int8]:
    calls = [*(Command(STEP, command) for command in commands), Command(DUMP, (pointer(1),))]
    program = issue_all(MACHINE, calls, [("data", "i8", (64,)), ("out", "i8", (ROWS, COLS))])
    tensors = {"data": DATA, "out": np.zeros((ROWS, COLS), np.int8)}
    result = run_program(MACHINE, program, tensors, SimulationOptions(timing=False, generic=generic))
    assert result.error is None, result.error
    return result.outputs["out"]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(X, P), min_size=1, max_size=30))
def test_commands_by_plan_agree_with_interpreting_each(commands: list[tuple[int, int]]) -> None:
    np.testing.assert_array_equal(rows_after(commands, False), rows_after(commands, True))
