"""Expressions of instructions against Python's integers and NumPy's binary32, evaluated ahead and on demand."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, _core, run_program
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulator.machines import Command, Expressions, issue_all, pointer

I64 = st.integers(-(2**63), 2**63 - 1)
F32 = st.floats(width=32)


def signed(x: int) -> int:
    return (x + 2**63) % 2**64 - 2**63


def truncated(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def rounding_shift(x: int, n: int) -> int:
    floor, rest = x >> n, x & ((1 << n) - 1)
    return floor + (2 * rest > 1 << n or (2 * rest == 1 << n and floor & 1))


INTEGER: dict[str, Callable[[int, int], int]] = {
    "Add": lambda x, y: signed(x + y),
    "Sub": lambda x, y: signed(x - y),
    "Mul": lambda x, y: signed(x * y),
    "Div": lambda x, y: signed(truncated(x, y)),
    "Mod": lambda x, y: x - y * truncated(x, y),
    "Min": min,
    "Max": max,
    "And": lambda x, y: x & y,
    "Or": lambda x, y: x | y,
    "Xor": lambda x, y: x ^ y,
    "Shl": lambda x, y: signed(x << (y % 64)),
    "Shr": lambda x, y: x >> (y % 64),
    "Eq": lambda x, y: int(x == y),
    "Lt": lambda x, y: int(x < y),
    "Ge": lambda x, y: int(x >= y),
    "LogicalAnd": lambda x, y: int(x != 0 and y != 0),
    "RoundingShift": lambda x, y: rounding_shift(x, y % 64),
    "SquareRoot": lambda x, y: math.isqrt(max(x, 0)),
}


class Calculator:
    """A machine whose instruction k stores the k-th operator's value of two arguments to DRAM: once plainly, once
    under a loop, where it depends on the loop's variable and so is evaluated on demand."""

    def __init__(self) -> None:
        e = Expressions()
        b = e.builder
        b.memory("dram", "dram", 0, 0, "i8")
        out, x, y = e.arg(0), e.arg(1), e.arg(2)
        zero, one = e.const(0), e.const(1)
        loop = e.loop(0)
        self.index: dict[str, int] = {}
        parameters = [("out", False), ("x", False), ("y", False)]
        for name in INTEGER:
            count = 1 if name == "SquareRoot" else 2
            plain = b.store_dram(out, zero, e.op(name, *(x, y)[:count]), "i64")
            operands = (e.op("Add", x, loop), e.op("Or", y, loop))[:count]
            varying = b.store_dram(out, e.const(8), e.op(name, *operands), "i64")
            self.index[name] = b.instruction(name, -1, parameters, [plain, b.loop(one, [varying])], [], [])
        for bits in (8, 20, 32, 64):
            for name in ("Wrap", "WrapU", "Saturate", "SaturateU"):
                value = b.expr(name, x, imm=bits)
                body = [b.store_dram(out, zero, value, "i64"), b.store_dram(out, e.const(8), value, "i64")]
                self.index[f"{name}{bits}"] = b.instruction(f"{name}{bits}", -1, parameters, body, [], [])
        inner = e.op("Xor", e.op("Mul", x, e.loop(0)), y)
        largest = b.store_dram(out, zero, e.op("Largest", e.const(5), inner), "i64")
        nothing = b.store_dram(out, e.const(8), e.op("Largest", zero, inner), "i64")
        self.index["largest"] = b.instruction("largest", -1, parameters, [largest, nothing], [], [])
        product = e.op("RoundToInt", e.op("FMul", e.op("ToFloat", x), e.op("BitsToFloat", y)))
        body = [b.store_dram(out, zero, product, "i64"), b.store_dram(out, e.const(8), product, "i64")]
        self.index["scaled"] = b.instruction("scaled", -1, parameters, body, [], [])
        self.machine: _core.Machine = b.build()

    def values(self, name: str, x: int, y: int) -> list[int]:
        program = issue_all(self.machine, [Command(self.index[name], [pointer(0), x, y])], [("out", "i64", (2,))])
        result = run_program(self.machine, program, {"out": np.zeros(2, np.int64)}, SimulationOptions(timing=False))
        assert result.error is None, result.error
        return [int(v) for v in result.outputs["out"]]


CALCULATOR = Calculator()


@pytest.mark.parametrize("name", INTEGER)
@settings(max_examples=40)
@given(x=I64, y=I64)
def test_integer_operators_agree_with_python(name: str, x: int, y: int) -> None:
    if name in ("Div", "Mod") and y == 0:
        y = 1
    assert CALCULATOR.values(name, x, y) == [INTEGER[name](x, y)] * 2


@given(I64, st.sampled_from([8, 20, 32, 64]))
def test_wraps_and_saturations_agree_with_python(x: int, bits: int) -> None:
    half, whole = 1 << (bits - 1), 1 << bits
    assert CALCULATOR.values(f"Wrap{bits}", x, 0)[0] == (x + half) % whole - half
    assert CALCULATOR.values(f"WrapU{bits}", x, 0)[0] == signed(x % whole)
    assert CALCULATOR.values(f"Saturate{bits}", x, 0)[0] == min(max(x, -half), half - 1)
    assert CALCULATOR.values(f"SaturateU{bits}", x, 0)[0] == min(max(x, 0), whole - 1)


@given(st.integers(-(2**31), 2**31 - 1), F32)
def test_scaling_rounds_once_to_binary32_and_then_to_even(x: int, factor: float) -> None:
    bits = struct.unpack("<i", struct.pack("<f", factor))[0]
    with np.errstate(all="ignore"):
        product = np.float32(x) * np.float32(factor)
    if np.isnan(product) or product >= 2.0**63:
        expected = 2**63 - 1
    elif product < -(2.0**63):
        expected = -(2**63)
    else:
        expected = int(np.rint(np.float64(product)))
    assert CALCULATOR.values("scaled", x, bits)[0] == expected


@given(x=I64, y=I64)
def test_the_largest_of_some_values(x: int, y: int) -> None:
    expected = max(signed(x * k) ^ y for k in range(5))
    assert CALCULATOR.values("largest", x, y) == [expected, -(2**63)]


@given(st.integers(0, 3037000499), st.integers(-1, 1))
def test_square_roots_are_exact_around_squares(root: int, offset: int) -> None:
    x = root * root + offset
    assert CALCULATOR.values("SquareRoot", x, 0)[0] == math.isqrt(max(x, 0))


def test_division_by_zero_in_semantics_is_an_error_that_names_the_command() -> None:
    program = issue_all(
        CALCULATOR.machine, [Command(CALCULATOR.index["Div"], [pointer(0), 7, 0])], [("out", "i64", (2,))]
    )
    error = run_program(
        CALCULATOR.machine, program, {"out": np.zeros(2, np.int64)}, SimulationOptions(timing=False)
    ).error
    assert error is not None
    assert error.kind == "division"
    assert error.message.startswith("Div(out = out, x = 7, y = 0): ")


def test_equal_expressions_are_one_node() -> None:
    e = Expressions()
    assert e.op("Add", e.arg(0), e.const(1)) == e.op("Add", e.arg(0), e.const(1))


def test_wrong_tables_are_refused_with_what_is_wrong() -> None:
    e = Expressions()
    with pytest.raises(ValueError, match="expression operand 99 does not exist"):
        e.op("Add", e.arg(0), 99)
    with pytest.raises(ValueError, match=r"\(FAdd\): operand a must be a float"):
        e.op("FAdd", e.arg(0), e.arg(0))
    with pytest.raises(ValueError, match="unknown operator 'Plus'"):
        e.op("Plus")
    with pytest.raises(ValueError, match="at least one memory of kind dram"):
        e.builder.build()
