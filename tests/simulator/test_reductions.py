"""Sums, products and wide nests on arrays: equal to the interpreter, and at no size left to it."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from autocomp.simulator import SimulationOptions, run_program
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import isa, kernel

FEW_STEPS = 2_000  # which the interpreter exceeds on any nest of the sizes below

# One instruction for each kind of reduction. `product` of an array as large as SIZE has more terms than fit a cache.
TEXT = """
accelerator reducer {
  param SIZE = 24;
  memory dram { kind: dram; }
  memory x { rows: SIZE; row: i8[SIZE]; }
  memory y { rows: SIZE; row: i8[SIZE]; }
  memory z { rows: SIZE; row: i32[SIZE]; }
  memory u { rows: SIZE; row: f32[SIZE]; }
  address a { field row = 15..0; memory x; }
  instruction load(src: dram*) {
    semantics {
      for r < SIZE, c < SIZE: x[r][c] = src.i8[r * SIZE + c];
      for r < SIZE, c < SIZE: y[r][c] = src.i8[(r + SIZE) * SIZE + c];
      for r < SIZE, c < SIZE: u[r][c] = float(src.i8[r * SIZE + c]) * 0.37;
      for r < SIZE, c < SIZE: z[r][c] = 3 * src.i8[c * SIZE + r];
    }
  }
  instruction store(dst: dram*) { semantics { for r < SIZE, c < SIZE: dst.i32[4 * (r * SIZE + c)] = z[r][c]; } }
  instruction store_float(dst: dram*) {
    semantics { for r < SIZE, c < SIZE: dst.i32[4 * (r * SIZE + c)] = float_to_bits(u[r][c]); }
  }
  instruction product(rows: int 0..SIZE, cols: int 0..SIZE, depth: int 0..SIZE) {
    semantics { for i < rows, j < cols: z[i][j] = wrap<i32>(z[i][j] + sum(k < depth: x[i][k] * y[k][j])); }
  }
  instruction packed(rows: int 0..SIZE, cols: int 0..SIZE, depth: int 0..SIZE) {
    semantics {
      for i < rows, j < cols / 4: z[i][j] = sum(k < depth: k < SIZE - 2 ? x[i][k] * y[k / 4][4 * j + k % 4] : 0);
    }
  }
  instruction packed_product(rows: int 0..SIZE, cols: int 0..SIZE, depth: int 0..SIZE) {
    semantics { for i < rows, j < cols / 4: z[i][j] = sum(k < depth: x[i][k] * y[k / 4][4 * j + k % 4]); }
  }
  instruction digits(rows: int 0..SIZE, cols: int 0..SIZE, depth: int 0..SIZE) {
    semantics {
      for i < rows, j < cols / 2:
        z[i % 4 * 6 + i / 4][j / 4 * 4 + j % 4 / 2 + j % 2 * 2] = wrap<i32>(z[i][j] +
          sum(k < depth: x[i / 4 + i % 4][k % 8 * 3 + k / 8] * y[k / 8 * 8 + k % 8 / 2 + k % 2 * 4][j / 4 + j % 4]));
    }
  }
  instruction differences(rows: int 0..SIZE, cols: int 0..SIZE, depth: int 0..SIZE) {
    semantics {
      for i < rows, j < cols:
        z[i][j] = sum(k < depth: x[i / 8 + i % 8 / 4][k] - y[k % 12 / 4 + k / 12][k % 4 * 5 + j / 12]);
    }
  }
  instruction scattered(rows: int 0..SIZE, cols: int 0..SIZE, depth: int 0..SIZE) {
    semantics {
      for i < rows, j < cols: z[i % 8 / 4 + i / 8 * 2 + i % 4 * 6][j % 4 + j / 8 * 4 + j % 8 / 4 * 12] = 2 * x[i][j];
    }
  }
  instruction copied(rows: int 0..SIZE, cols: int 0..SIZE, depth: int 0..SIZE) {
    semantics {
      for i < rows, j < cols: x[i % 8 / 4 + i / 8 * 2 + i % 4 * 6][j % 4 + j / 8 * 4 + j % 8 / 4 * 12] = y[i][j];
      for i < rows, j < cols: z[i][j] = x[i][j] + x[j][i];
    }
  }
  instruction distance(rows: int 0..SIZE, cols: int 0..SIZE, depth: int 0..SIZE) {
    semantics { for i < rows, j < cols: z[i][j] = sum(k < depth: (x[i][k] - y[j][k]) * (x[i][k] - y[j][k])); }
  }
  instruction window(rows: int 0..SIZE, cols: int 0..SIZE, depth: int 0..SIZE) {
    semantics {
      for i < rows / 2, j < cols / 2:
        z[i][j] = sum(r < depth / 2: sum(s < depth / 3: x[i + r][j + s] * y[r][s] - z[r][s]));
    }
  }
  instruction widest(rows: int 0..SIZE, cols: int 0..SIZE, depth: int 0..SIZE) {
    semantics { for i < rows: z[i][0] = depth > 0 ? largest(k < depth: x[i][k] + largest(l < cols: y[k][l])) : 0; }
  }
  instruction deep(rows: int 0..SIZE, cols: int 0..SIZE, depth: int 0..SIZE) {
    semantics { for i < rows, q < 2, j < cols / 2: z[i][q * (SIZE / 2) + j] = sum(k < depth: x[i][k] * y[j + q][k]); }
  }
  instruction sums(rows: int 0..SIZE, cols: int 0..SIZE, depth: int 0..SIZE) {
    semantics { for i < rows, j < cols: u[i][j] = sum(k < depth: u[i][k] * u[k][j]) + sum(l < depth: u[l][i]); }
  }
  instruction chain(rows: int 0..SIZE, cols: int 0..SIZE, depth: int 0..SIZE) {
    semantics { for i < rows, j < cols: u[i][j] = fma_chain(k < depth: u[i][k] * (u[k][j] - u[k][i]), u[i][j]); }
  }
}
"""
INTEGER = (
    *("product", "packed", "packed_product", "digits", "differences", "scattered", "copied"),
    *("distance", "window", "widest", "deep"),
)
FLOAT = ("sums", "chain")


@cache
def machine(size: int) -> tuple[isa.Accelerator, isa.MachineTables]:
    accelerator = isa.parse(TEXT, overrides={"SIZE": size})
    return accelerator, isa.lower(accelerator)


def run(size: int, name: str, sizes: tuple[int, int, int], options: SimulationOptions) -> npt.NDArray[np.int32]:
    accelerator, tables = machine(size)
    store = "store_float" if name in FLOAT else "store"
    rows, cols, depth = sizes
    text = (
        f"void solution(int8_t in[{2 * size}][{size}], int32_t out[{size}][{size}]) {{"
        f" load(&in[0][0]); {name}({rows}, {cols}, {depth}); {store}(&out[0][0]); }}"
    )
    program = kernel.link(kernel.compile(kernel.parse(text), accelerator), tables)
    values = np.random.default_rng(size).integers(-128, 128, (2 * size, size), np.int8)
    result = run_program(tables.machine, program, {"in": values, "out": np.zeros((size, size), np.int32)}, options)
    assert result.error is None, result.error
    return result.outputs["out"]


@settings(max_examples=25)
@given(st.data())
@pytest.mark.parametrize("name", [*INTEGER, *FLOAT])
def test_a_reduction_gives_what_the_interpreter_gives(name: str, data: st.DataObject) -> None:
    rows, cols, depth = data.draw(st.tuples(*[st.integers(0, 24)] * 3))
    fast = run(24, name, (rows, cols, depth), SimulationOptions(timing=False, max_steps=FEW_STEPS))
    assert np.array_equal(fast, run(24, name, (rows, cols, depth), SimulationOptions(timing=False, generic=True)))


@pytest.mark.parametrize("name", [*INTEGER, *FLOAT])
def test_a_reduction_over_many_pieces_gives_what_the_interpreter_gives(name: str) -> None:
    sizes = (48, 47, 45) if name != "widest" else (48, 48, 48)
    fast = run(48, name, sizes, SimulationOptions(timing=False, max_steps=FEW_STEPS))
    assert np.array_equal(fast, run(48, name, sizes, SimulationOptions(timing=False, generic=True)))


@pytest.mark.parametrize("size", [96, 256])
def test_a_product_of_any_size_runs_on_arrays(size: int) -> None:
    got = run(size, "product", (size, size, size), SimulationOptions(timing=False, max_steps=FEW_STEPS))
    values = np.random.default_rng(size).integers(-128, 128, (2 * size, size), np.int8).astype(np.int32)
    left, right = values[:size], values[size:]
    assert np.array_equal(got, 3 * left.T + left @ right)


def test_a_packed_product_of_a_large_array_runs_on_arrays() -> None:
    size = 128
    got = run(size, "packed_product", (size, size, size), SimulationOptions(timing=False, max_steps=FEW_STEPS))
    values = np.random.default_rng(size).integers(-128, 128, (2 * size, size), np.int8).astype(np.int32)
    left, right = values[:size], values[size : size + size // 4]
    unpacked = right.reshape(size // 4, size // 4, 4).transpose(0, 2, 1).reshape(size, size // 4)
    assert np.array_equal(got[:, : size // 4], left @ unpacked)
