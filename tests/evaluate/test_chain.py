"""The shortest chain through a machine: as long as the simulator takes for it, and never longer."""

from __future__ import annotations

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, run_program
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.evaluate.chain import Chain, chain
from autocomp.targets.simulator.isa.model import Accelerator

TEXT = """
accelerator mover {
  param LATENCY = 10;
  param START = 1;
  param FRONT = 1;
  param WAY = 1;
  param STEPS = 1;
  memory dram { kind: dram; bus: 16; latency: LATENCY; }
  memory rows { rows: 16; row: i8[16]; ports: separate; }
  memory sums { rows: 16; row: i32[16]; ports: separate; }
  address at { field row = 3..0; memory rows; }
  address total { field row = 3..0; memory sums; }
  hazards { tracked: 1; dram: 1; }
  front { queue: 64; latency: FRONT; }
  unit load { kind: transfer_in; entries: 8; start: START; request_latency: WAY; }
  unit multiply { kind: serial; entries: 8; queue: 8; start: START; }
  unit store { kind: transfer_out; entries: 8; start: START; }
  instruction load(to: at, from: dram*) on load { semantics { for c < 16: rows[to.row][c] = from.i8[c]; } }
  instruction multiply(to: total, a: at, b: at) on multiply {
    semantics { for c < 16: sums[to.row][c] = sums[to.row][c] + rows[a.row][c] * rows[b.row][c]; }
    timing { busy: STEPS; latency: STEPS; }
  }
  instruction store(to: dram*, from: at) on store { semantics { for c < 16: to.i8[c] = rows[from.row][c]; } }
  instruction store_sums(to: dram*, from: total) on store {
    semantics { for c < 16: to.i8[c] = saturate<i8>(sums[from.row][c]); }
  }
}
"""
# Sums leave through a unit and a memory of their own.
PASS = """
  memory outs { rows: 16; row: i8[16]; ports: separate; }
  address out { field row = 3..0; memory outs; }
  unit pass { kind: serial; entries: 8; queue: 8; start: START; }
  instruction pass(to: out, from: total) on pass {
    semantics { for c < 16: outs[to.row][c] = saturate<i8>(sums[from.row][c]); }
    timing { busy: STEPS; latency: WAY; }
  }
  instruction store_out(to: dram*, from: out) on store { semantics { for c < 16: to.i8[c] = outs[from.row][c]; } }
}
"""
PASSED = TEXT[: TEXT.index("  instruction store_sums")] + PASS
COPY = "load(0, &A[0][0]); store(&B[0][0], 0);"
PRODUCT = "load(0, &A[0][0]); multiply(0, 0, 0); store_sums(&B[0][0], 0);"
PASSED_ON = "load(0, &A[0][0]); multiply(0, 0, 0); pass(0, 0); store_out(&B[0][0], 0);"
# Two configurations come before the moves of these.
STREAMED = "config_ld(64, 1.0, 0); config_st(64); mvin(&A[0][0], 0, 1, 1); mvout(&B[0][0], 0, 1, 1);"
MOVED = "config_ld(64, 0); config_st(64, 0, 1.0); mvin(&A[0][0], 0x80000000, 1, 1); mvout(&B[0][0], 0x80000000, 1, 1);"


def cycles(machine: Accelerator, body: str) -> int:
    tables = isa.lower(machine)
    text = f"void solution(int8_t A[64][64], int8_t B[64][64]) {{ {body} }}"
    program = kernel.link(kernel.compile(kernel.parse(text), machine), tables)
    tensors = {name: np.zeros((64, 64), np.int8) for name in "AB"}
    result = run_program(tables.machine, program, tensors, SimulationOptions())
    assert result.error is None, result.error
    assert result.timing is not None
    return int(result.timing.cycles)


@settings(max_examples=25, deadline=None)
@given(st.fixed_dictionaries({name: st.integers(1, 9) for name in ("LATENCY", "START", "FRONT", "WAY", "STEPS")}))
def test_the_chain_is_as_long_as_the_simulator_takes(parameters: dict[str, int]) -> None:
    machine = isa.parse(TEXT, overrides=parameters)
    links = chain(machine)
    assert links.ends == cycles(machine, COPY)
    assert links.ends + links.product == cycles(machine, PRODUCT)
    further = isa.parse(PASSED, overrides=parameters)
    assert chain(further).ends + chain(further).product == cycles(further, PASSED_ON)


@pytest.mark.parametrize("latency", [1, 40])
@pytest.mark.parametrize(("name", "body", "more"), [("gemmini", STREAMED, 4), ("quad", MOVED, 0)])
def test_moves_of_shipped_machines_take_as_long(name: str, body: str, more: int, latency: int) -> None:
    """The host offers two configurations first. Elements pass the scaler in two cycles, and are read in two more."""
    machine = isa.load(name, {"MEM_LATENCY": latency})
    assert cycles(machine, body) == chain(machine).ends + 2 + more


def test_an_instruction_that_computes_on_main_memory_leaves_no_ends() -> None:
    text = TEXT.replace("* rows[b.row][c]", "* from.i8[c]").replace("a: at, b: at", "a: at, from: dram*")
    assert chain(isa.parse(text)) == Chain(entered=1, steps=1, result=2)
