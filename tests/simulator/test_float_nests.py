"""Loop nests over binary32: recognised forms, interpreter and Python agree bit for bit, products fused and in order."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from autocomp.simulator import SimulationOptions, _core, run_program
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulator.machines import Command, Expressions, issue_all, pointer

ROWS, COLS, F32 = 24, 8, 8  # F32: the code of the element type
Floats = npt.NDArray[np.float32]


def fma(a: np.float32, b: np.float32, c: np.float32) -> np.float32:
    """a * b + c with one rounding: the binary64 sum is rounded to odd, so that rounding it again is harmless."""
    with np.errstate(all="ignore"):
        product, addend = np.float64(a) * np.float64(b), np.float64(c)  # the product is exact
        total = product + addend
        if not np.isfinite(total):
            return np.float32(total)
        part = total - product
        rest = (product - (total - part)) + (addend - part)
        if rest != 0 and not total.view(np.int64) & 1:
            total = np.nextafter(total, math.inf if rest > 0 else -math.inf)
        return np.float32(total)


def smaller(x: np.float32, y: np.float32) -> np.float32:
    """As `fminf`, with -0 below 0."""
    if np.isnan(x) or np.isnan(y):
        return y if np.isnan(x) else x
    return x if x < y or (x == y and np.signbit(x)) else y


def larger(x: np.float32, y: np.float32) -> np.float32:
    if np.isnan(x) or np.isnan(y):
        return y if np.isnan(x) else x
    return x if x > y or (x == y and not np.signbit(x)) else y


ELEMENTWISE: dict[str, Callable[[np.float32, np.float32], np.float32]] = {
    "FAdd": lambda x, y: x + y,
    "FSub": lambda x, y: x - y,
    "FMul": lambda x, y: x * y,
    "FDiv": lambda x, y: x / y,
    "FMin": smaller,
    "FMax": larger,
    "Fma": lambda x, y: fma(x, y, x),
    "Relu": lambda x, y: x if x > 0 else np.float32(0),
}


class Machine:
    """load and store move ROWS x COLS floats; multiply(a, b, c, rows, cols, depth) adds a product to the rows at c;
    each operator of ELEMENTWISE (x, y, z, rows, cols) goes over rows."""

    def __init__(self) -> None:
        e = Expressions()
        b = e.builder
        b.memory("dram", "dram", 0, 0, "i8")
        local = b.memory("rows", "local", ROWS, COLS, "f32")
        arguments, loops = [e.arg(i) for i in range(6)], [e.loop(i) for i in range(3)]
        self.index: dict[str, int] = {}

        def add(name: str, parameters: str, statement: int, rows: int, cols: int) -> None:
            body = [b.loop(rows, [b.loop(cols, [statement])])]
            named = [(letter, False) for letter in parameters]
            self.index[name] = b.instruction(name, -1, named, body, [], [])

        def at(base: int, row: int, column: int) -> int:
            return b.expr("Read", e.op("Add", arguments[base], loops[row]), loops[column], imm=local)

        def put(base: int, value: int) -> int:
            return b.store(local, e.op("Add", arguments[base], loops[0]), loops[1], value)

        offset = e.op("Mul", e.op("Add", e.op("Mul", loops[0], e.const(COLS)), loops[1]), e.const(4))
        whole = b.expr("Read", loops[0], loops[1], imm=local)
        read = b.store(local, loops[0], loops[1], b.expr("ReadDram", arguments[0], offset, imm=F32))
        add("load", "p", read, e.const(ROWS), e.const(COLS))
        add("store", "p", b.store_dram(arguments[0], offset, whole, "f32"), e.const(ROWS), e.const(COLS))
        factor = b.expr("FMul", at(0, 0, 2), at(1, 2, 1))
        add("multiply", "abcijk", put(2, b.expr("FmaChain", arguments[5], factor, at(2, 0, 1))), *arguments[3:5])
        for name in ELEMENTWISE:
            x, y = at(0, 0, 1), at(1, 0, 1)
            if name == "Fma":
                value = e.op("Fma", x, y, x)
            elif name == "Relu":
                value = e.op("Select", e.op("Gt", x, e.real(0.0)), x, e.real(0.0))
            else:
                value = e.op(name, x, y)
            add(name, "xyzij", put(2, value), *arguments[3:5])
        self.machine: _core.Machine = b.build()

    def run(self, calls: list[tuple[str, tuple[int, ...]]], before: Floats, generic: bool) -> Floats:
        calls = [("load", (pointer(0),)), *calls, ("store", (pointer(0),))]
        commands = [Command(self.index[name], arguments) for name, arguments in calls]
        program = issue_all(self.machine, commands, [("memory", "f32", before.shape)])
        options = SimulationOptions(timing=False, generic=generic)
        result = run_program(self.machine, program, {"memory": before}, options)
        assert result.error is None, result.error
        return result.outputs["memory"]


MACHINE = Machine()


def model(calls: list[tuple[str, tuple[int, ...]]], before: Floats) -> Floats:
    rows = before.copy()
    for name, arguments in calls:
        old, (x, y, z, count, width) = rows.copy(), arguments[:5]
        for i in range(count):
            for j in range(width):
                if name == "multiply":
                    total = old[z + i, j]
                    for k in range(arguments[5]):
                        total = fma(old[x + i, k], old[y + k, j], total)
                    rows[z + i, j] = total
                else:
                    with np.errstate(all="ignore"):
                        rows[z + i, j] = ELEMENTWISE[name](old[x + i, j], old[y + i, j])
    return rows


def assert_same(actual: Floats, expected: Floats) -> None:
    """Bit for bit, save that one not-a-number is as good as another."""
    both = np.isnan(actual) & np.isnan(expected)
    np.testing.assert_array_equal(
        np.where(both, 0, actual.view(np.uint32)), np.where(both, 0, expected.view(np.uint32))
    )


BASE, SIZE = st.integers(0, ROWS - COLS), st.integers(0, COLS)
PRODUCT = st.tuples(st.just("multiply"), st.tuples(BASE, BASE, BASE, SIZE, SIZE, SIZE))
OTHER = st.tuples(st.sampled_from(list(ELEMENTWISE)), st.tuples(BASE, BASE, BASE, SIZE, SIZE))
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3.4e38, 1.0, -1.0], np.float32)


def contents(seed: int, kind: int) -> Floats:
    """Ordinary numbers; numbers of all magnitudes; or those with zeros, infinities, subnormals and not-a-number."""
    rng = np.random.default_rng(seed)
    found = rng.standard_normal((ROWS, COLS)).astype(np.float32)
    if kind > 0:
        found = np.ldexp(found, rng.integers(-140, 127, found.shape)).astype(np.float32)
    if kind > 1:
        found = np.where(rng.random(found.shape) < 0.4, rng.choice(SPECIAL, found.shape), found)
    return found.astype(np.float32)


@pytest.mark.parametrize("generic", [False, True])
@settings(max_examples=80, deadline=None)
@given(st.lists(PRODUCT | OTHER, min_size=1, max_size=6), st.integers(0, 2**32 - 1), st.integers(0, 2))
def test_nests_agree_with_python(generic: bool, calls: list[tuple[str, tuple[int, ...]]], seed: int, kind: int) -> None:
    before = contents(seed, kind)
    assert_same(MACHINE.run(calls, before, generic), model(calls, before))


@pytest.mark.parametrize("generic", [False, True])
def test_a_product_is_rounded_once(generic: bool) -> None:
    """(1 + 2^-12)^2 - (1 + 2^-11) is 2^-24, which a rounded product loses."""
    before = np.zeros((ROWS, COLS), np.float32)
    before[0, 0] = before[1, 0] = 1 + 2.0**-12
    before[2, 0] = -(1 + 2.0**-11)
    after = MACHINE.run([("multiply", (0, 1, 2, 1, 1, 1))], before, generic)
    assert after[2, 0] == np.float32(2.0**-24)
