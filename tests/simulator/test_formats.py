"""Element types and functions of floats: every code and every rounding against an independent model."""

from __future__ import annotations

import math
import struct
from functools import cache

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from autocomp.simulator import SimulationOptions, run_program
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.errors import IsaError, KernelError
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.isa.formats import FORMATS, SPECIAL, encode, special, to_format

N = 64
NARROW = ("f16", "bf16", "f8e5m2", "f8e4m3")
BITS = {"f16": 16, "bf16": 16, "f8e5m2": 8, "f8e4m3": 8}

# `pass` moves N floats through a memory of the type; `codes` reads N codes of it from DRAM; `round` rounds in place.
TEXT = """
accelerator formats {
  memory dram { kind: dram; }
  memory held { rows: 2; row: TYPE[64]; }
  register wide { rows: 2; row: f32[64]; }
  instruction pass(dst: dram*, src: dram*) {
    semantics {
      for c < 64: held[0][c] = src.f32[4 * c];
      for c < 64: dst.f32[4 * c] = held[0][c];
    }
  }
  instruction codes(dst: dram*, src: dram*) {
    semantics {
      for c < 64: held[1][c] = src.TYPE[SIZE * c];
      for c < 64: dst.f32[4 * c] = held[1][c];
    }
  }
  instruction round(dst: dram*, src: dram*) {
    semantics { for c < 64: dst.f32[4 * c] = convert<TYPE>(src.f32[4 * c]); }
  }
  SPECIAL
}
"""


@cache
def machine(element: str) -> tuple[isa.Accelerator, isa.MachineTables]:
    calls = "".join(
        f"  instruction {name}_of(dst: dram*, src: dram*)"
        f" {{ semantics {{ for c < 64: dst.f32[4 * c] = {name}(src.f32[4 * c]); }} }}\n"
        for name in SPECIAL
    )
    size = str(BITS.get(element, 32) // 8)
    text = TEXT.replace("TYPE", element).replace("SIZE", size).replace("SPECIAL", calls)
    accelerator = isa.parse(text)
    return accelerator, isa.lower(accelerator)


def run(element: str, name: str, values: npt.NDArray[np.generic], generic: bool) -> npt.NDArray[np.float32]:
    accelerator, tables = machine(element)
    kinds = {1: "uint8_t", 2: "uint16_t", 4: "float"}
    text = f"void solution({kinds[values.itemsize]} in[64], float out[64]) {{ {name}(&out[0], &in[0]); }}"
    program = kernel.link(kernel.compile(kernel.parse(text), accelerator), tables)
    tensors = {"in": values, "out": np.zeros(64, np.float32)}
    result = run_program(tables.machine, program, tensors, SimulationOptions(timing=False, generic=generic))
    assert result.error is None, result.error
    return result.outputs["out"]


def same(got: npt.NDArray[np.float32], expected: npt.NDArray[np.float32]) -> bool:
    both_nan = np.isnan(got) & np.isnan(expected)
    return bool(np.all(both_nan | (got.view(np.uint32) == expected.view(np.uint32))))


def decoded(element: str, code: int) -> float:
    """The value of a code, from the definition of the format."""
    exponent_bits, mantissa_bits, infinite = FORMATS[element]
    sign = -1.0 if code >> (exponent_bits + mantissa_bits) else 1.0
    exponent = code >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = code & (1 << mantissa_bits) - 1
    bias = (1 << (exponent_bits - 1)) - 1
    if exponent == (1 << exponent_bits) - 1:
        if infinite:
            return sign * math.inf if mantissa == 0 else math.nan
        if mantissa == (1 << mantissa_bits) - 1:
            return math.nan
    if exponent == 0:
        return sign * math.ldexp(mantissa, 1 - bias - mantissa_bits)
    return sign * math.ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits)


@pytest.mark.parametrize("element", NARROW)
@pytest.mark.parametrize("generic", [False, True])
def test_every_code_has_its_value(element: str, generic: bool) -> None:
    codes = np.arange(1 << BITS[element], dtype=np.uint16 if BITS[element] == 16 else np.uint8)
    if BITS[element] == 16:
        codes = codes[::211]
    for first in range(0, len(codes) - N + 1, N):
        part = codes[first : first + N]
        expected = np.array([decoded(element, int(code)) for code in part], np.float32)
        assert same(run(element, "codes", part, generic), expected)


@pytest.mark.parametrize("element", NARROW)
@settings(max_examples=15)
@given(st.lists(st.floats(width=32), min_size=N, max_size=N), st.booleans())
def test_storing_rounds_to_the_nearest_and_ties_to_even(element: str, numbers: list[float], generic: bool) -> None:
    values = np.array(numbers, np.float32)
    expected = np.array([to_format(float(x), element) for x in values], np.float32)
    assert same(run(element, "pass", values, generic), expected)
    assert same(run(element, "round", values, generic), expected)


@pytest.mark.parametrize("element", NARROW)
def test_half_way_between_neighbours_goes_to_the_even_one(element: str) -> None:
    codes = [decoded(element, code) for code in range(1 << (BITS[element] - 1))]
    finite = sorted(value for value in codes if math.isfinite(value))
    picked = range(0, len(finite) - 1, max(1, len(finite) // (N - 1)))
    ties = [((finite[i] + finite[i + 1]) / 2, finite[i + i % 2]) for i in picked][:N]
    ties += [(0.0, 0.0)] * (N - len(ties))
    got = run(element, "pass", np.array([tie for tie, _ in ties], np.float32), False)
    assert same(got, np.array([even for _, even in ties], np.float32))


def test_binary16_is_that_of_numpy() -> None:
    values = np.random.default_rng(0).normal(0, 300, N).astype(np.float32)
    assert same(run("f16", "pass", values, False), values.astype(np.float16).astype(np.float32))


@pytest.mark.parametrize("name", SPECIAL)
@settings(max_examples=10)
@given(st.lists(st.floats(width=32), min_size=N, max_size=N), st.booleans())
def test_functions_are_those_of_binary64_rounded_once(name: str, numbers: list[float], generic: bool) -> None:
    values = np.array(numbers, np.float32)
    got = run("f32", f"{name}_of", values, generic)
    expected = np.array([special(name, float(x)) for x in values], np.float32)
    with np.errstate(all="ignore"):
        near = np.abs(got - expected) <= np.spacing(np.abs(expected))
    assert np.all(near | (got == expected) | (np.isnan(got) & np.isnan(expected)))


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("generic", [False, True])
def test_elements_of_four_bits_wrap(signed: bool, generic: bool) -> None:
    text = f"""accelerator nibbles {{
      memory dram {{ kind: dram; }}
      memory held {{ rows: 1; row: {"i4" if signed else "u4"}[64]; }}
      instruction pass(dst: dram*, src: dram*) {{
        semantics {{
          for c < 64: held[0][c] = src.i8[c];
          for c < 64: dst.i32[4 * c] = held[0][c];
        }}
      }}
      instruction unpack(dst: dram*, src: dram*) {{
        semantics {{
          for c < 64: held[0][c] = src.u8[c / 2] >> 4 * (c % 2);
          for c < 64: dst.i32[4 * c] = held[0][c];
        }}
      }}
    }}"""
    accelerator = isa.parse(text)
    assert accelerator.memory("held").row_bytes == 32
    tables = isa.lower(accelerator)
    values = np.random.default_rng(1).integers(-128, 128, 64, np.int8)
    low = values.astype(np.int32) & 15
    halves = np.stack([values & 15, values >> 4 & 15], 1).reshape(-1)[:64].astype(np.int32)
    for name, raw in (("pass", low), ("unpack", halves)):
        code = f"void solution(int8_t in[64], int32_t out[64]) {{ {name}(&out[0], &in[0]); }}"
        program = kernel.link(kernel.compile(kernel.parse(code), accelerator), tables)
        tensors = {"in": values, "out": np.zeros(64, np.int32)}
        result = run_program(
            tables.machine, program, tensors, SimulationOptions(timing=False, generic=generic, max_steps=1000)
        )
        assert result.error is None, result.error
        assert np.array_equal(result.outputs["out"], np.where(raw > 7, raw - 16, raw) if signed else raw)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("for c < 4: wide[0][c] = float(convert<i8>(1.5));", "convert needs a float type"),
        ("for c < 4: wide[0][c] = convert<f16>(c);", "convert needs a float here"),
        ("for c < 4: wide[0][c] = float(src.i4[c]);", "whole bytes"),
        ("for c < 4: wide[0][c] = exp(c);", "exp needs a float"),
    ],
)
def test_wrong_types_are_errors(statement: str, message: str) -> None:
    head = "memory dram { kind: dram; } register wide { rows: 1; row: f32[4]; }"
    with pytest.raises(IsaError, match=message):
        isa.parse(f"accelerator m {{ {head} instruction f(src: dram*) {{ semantics {{ {statement} }} }} }}")


@pytest.mark.parametrize("element", NARROW)
@given(st.floats(width=32))
def test_the_bits_of_a_number_are_those_that_decode_to_it(element: str, value: float) -> None:
    rounded = to_format(value, element)
    back = decoded(element, encode(value, element))
    assert (math.isnan(rounded) and math.isnan(back)) or struct.pack("d", rounded) == struct.pack("d", back)


KERNEL = """
void solution(bfloat16_t a[64], float16_t b[64], float8_e4m3_t c[64], float8_e5m2_t d[64]) {
    static bfloat16_t table[2] = {1.2f, -3e4f};
    for (int i = 0; i < 64; ++i) {
        float sum = a[i] * b[i] + table[0];
        b[i] = -b[i];
        c[i] = sum;
        d[i] = table[1] * a[i];
    }
}
"""


def test_kernels_read_and_write_elements_of_narrow_floats() -> None:
    accelerator, tables = machine("f32")
    program = kernel.link(kernel.compile(kernel.parse(KERNEL), accelerator), tables)
    random = np.random.default_rng(0)
    a, b = random.normal(0, 3, N).astype(ml_dtypes.bfloat16), random.normal(0, 3, N).astype(np.float16)
    c, d = np.zeros(N, ml_dtypes.float8_e4m3fn), np.zeros(N, ml_dtypes.float8_e5m2)
    result = run_program(tables.machine, program, {"a": a, "b": b, "c": c, "d": d}, SimulationOptions(timing=False))
    assert result.error is None, result.error
    one = np.float32(ml_dtypes.bfloat16(1.2))
    total = a.astype(np.float32) * b.astype(np.float32) + one
    large = np.float32(ml_dtypes.bfloat16(-3e4)) * a.astype(np.float32)
    assert np.array_equal(result.outputs["b"], -b)
    assert np.array_equal(result.outputs["c"], total.astype(ml_dtypes.float8_e4m3fn), equal_nan=True)
    assert np.array_equal(result.outputs["d"], large.astype(ml_dtypes.float8_e5m2), equal_nan=True)


@given(st.lists(st.floats(allow_nan=False, width=64), min_size=4, max_size=4))
def test_a_double_is_rounded_once(values: list[float]) -> None:
    """Not to binary32 before: beside a tie of binary16 that would make it the tie."""
    accelerator, tables = machine("f32")
    body = "for (int i = 0; i < 8; ++i) b[i] = a[i];"
    text = f"void solution(double a[8], float16_t b[8]) {{ {body} }}"
    program = kernel.link(kernel.compile(kernel.parse(text), accelerator), tables)
    a = np.array([*values, 1 + 2**-11 + 2**-40, 1 + 3 * 2**-11 - 2**-40, 2**-25 + 2**-60, 65520 - 2**-30])
    arrays = {"a": a, "b": np.zeros(8, np.float16)}
    result = run_program(tables.machine, program, arrays, SimulationOptions(timing=False))
    with np.errstate(over="ignore"):
        assert np.array_equal(result.outputs["b"], a.astype(np.float16))


@pytest.mark.parametrize("body", ["bfloat16_t x = a[0];", "float x = (bfloat16_t)1.5f;"])
def test_values_of_narrow_floats_are_errors(body: str) -> None:
    with pytest.raises(KernelError, match="type of elements in memory"):
        kernel.compile(kernel.parse(f"void solution(bfloat16_t a[4]) {{ {body} }}"), machine("f32")[0])
