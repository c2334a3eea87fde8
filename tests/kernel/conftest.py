"""A small accelerator of the tests' own, and fixtures that compile and run kernels on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, run_program

from autocomp.errors import KernelError
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.isa import Accelerator, MachineTables

DESCRIPTION = """
accelerator bench {
  doc "A machine with one memory, for tests of the kernel dialect.";
  param DIM = 4;
  const GARBAGE_ADDR = 0xFFFFFFFF;
  const RELU = 1;
  type elem_t = i8;
  type acc_t = i32;
  memory dram { kind: dram; }
  memory local { rows: 64; row: i32[DIM]; }
  address rows { field row = 30..0; field high = 31; none = 0xFFFFFFFF; memory local when high == 0; }
  state config { stride: u64; scale: f32 = 1.0; }
  unit move { }
  instruction configure(stride: int 0..1048576, scale: float, mode: int 0..1) on move {
    semantics { config.stride = stride; config.scale = scale; }
  }
  instruction move_in(src: dram*, dst: rows, cols: int 1..DIM, count: int 1..8) on move {
    semantics {
      for r < count, c < cols: local[dst.row + r][c] = src.i8[r * config.stride + c];
    }
  }
  instruction move_out(dst: dram*, src: rows, cols: int 1..DIM, count: int 1..8) on move {
    semantics {
      for r < count, c < cols: dst.i8[r * config.stride + c] = saturate<i8>(local[src.row + r][c]);
    }
  }
  instruction fence() { timing { role: fence; } }
  alias config(stride) = configure(stride, 1.0, 0);
  alias config(stride, scale) = configure(stride, scale, 0);
  alias copy(dst, src, row) = { move_in(src, row, DIM, DIM); move_out(dst, row, DIM, DIM); }
  alias twice(dst, src, n) = { copy(dst, src, n * 2); copy(dst, src, min(n, 3) + 1); }
}
"""


@lru_cache(maxsize=1)
def accelerator() -> Accelerator:
    return isa.parse(DESCRIPTION, "bench.isa", {})


@lru_cache(maxsize=1)
def tables() -> MachineTables:
    return isa.lower(accelerator())


@pytest.fixture(name="accelerator", scope="session")
def accelerator_fixture() -> Accelerator:
    return accelerator()


@pytest.fixture
def compiled() -> Callable[..., kernel.CompiledProgram]:
    """compiled(text, constants={}) -> the bytecode of a kernel."""

    def compile_text(text: str, constants: Mapping[str, int] | None = None, **options: Any) -> kernel.CompiledProgram:
        return kernel.compile(kernel.parse(text), accelerator(), constants or {}, **options)

    return compile_text


@pytest.fixture
def run() -> Callable[..., dict[str, np.ndarray]]:
    """run(text, tensors, constants={}) -> the tensors after the kernel ran; an error of the program fails the test."""
    return run_text


@pytest.fixture
def value() -> Callable[..., int]:
    """value(expression, declarations="") -> what an expression gives as int64_t."""

    def evaluate(expression: str, declarations: str = "") -> int:
        text = f"void solution(int64_t out[1]) {{ {declarations} out[0] = {expression}; }}"
        return int(run_text(text, {"out": np.zeros(1, np.int64)})["out"][0])

    return evaluate


@pytest.fixture
def mistake() -> Callable[..., str]:
    """mistake(text) -> the message of the KernelError that parsing, checking or compiling raises."""

    def rejected(text: str, **options: Any) -> str:
        with pytest.raises(KernelError) as caught:
            kernel.check(kernel.parse(text), accelerator(), **options)
        return str(caught.value)

    return rejected


def run_text(
    text: str, tensors: Mapping[str, np.ndarray], constants: Mapping[str, int] | None = None
) -> dict[str, np.ndarray]:
    program = kernel.link(kernel.compile(kernel.parse(text), accelerator(), constants or {}), tables())
    result = run_program(tables().machine, program, tensors, SimulationOptions(timing=False, max_steps=10_000_000))
    assert result.error is None, result.error
    return dict(result.outputs)
