"""Calls of several commands are written out as these; computations that keep an operand bring it again."""

from __future__ import annotations

from functools import cache

import pytest

from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.transforms import Facts, NotApplicable, analyse
from autocomp.targets.simulator.transforms.straight.program import program_of
from autocomp.targets.simulator.transforms.straight.write_out import in_sequence

from .conftest import machine

COPIES = """accelerator copies {
  memory dram { kind: dram; }
  memory spad { rows: 64; row: i8[4]; }
  address local { field row = 5..0; memory spad; }
  state size { rows: u8; }
  unit load { kind: transfer_in; }
  unit store { kind: transfer_out; }
  unit loops { kind: expander; loops: 2; queue: 4; }
  instruction load(src: dram*, dst: local) on load { semantics { for c < 4: spad[dst.row][c] = src.i8[c]; } }
  instruction store(dst: dram*, src: local) on store { semantics { for c < 4: dst.i8[c] = spad[src.row][c]; } }
  instruction load_odd(src: dram*, dst: local) on load {
    sent;
    semantics { for c < 4: spad[dst.row][c] = src.i8[c] | 1; }
  }
  instruction copy_rows(rows: int 1..64) on loops { semantics { size.rows = rows; } }
  instruction copy(src: dram*, dst: dram*) on loops {
    expand {
      stream in priority 1 { for i < size.rows: load(src + 4 * i, i); }
      stream out priority 0 after in { for i < size.rows { await in.done || in.i > i; store(dst + 4 * i, i); } }
    }
  }
  instruction odd(src: dram*, dst: dram*) on loops {
    expand { stream in priority 1 { load_odd(src, 0); } }
  }
  alias through(src, dst, at) = { load(src, at); store(dst, at); }
  instruction fence() { timing { role: fence; } }
}"""


@cache
def copies() -> Accelerator:
    return isa.parse(COPIES, "copies.isa")


def written_out(text: str, accelerator: Accelerator) -> Facts:
    return in_sequence(analyse(kernel.parse(text), accelerator))


def calls(facts: Facts) -> list[str]:
    return [line.strip() for line in kernel.print_kernel(facts.given).splitlines()[1:-1]]


def test_a_hardware_loop_becomes_the_commands_that_it_sends() -> None:
    body = "copy_rows(2); for (int n = 0; n < 4; n += 2) copy(A[n], &B[n][0]); fence();"
    assert calls(written_out(f"void solution(int8_t A[4][4], int8_t B[4][4]) {{ {body} }}", copies())) == [
        "load(&A[0][0], 0);",
        "store(&B[0][0], 0);",
        "load(&A[1][0], 1);",
        "store(&B[1][0], 1);",
        "load(&A[2][0], 0);",
        "store(&B[2][0], 0);",
        "load(&A[3][0], 1);",
        "store(&B[3][0], 1);",
        "fence();",
    ]


def test_a_form_of_several_commands_becomes_these() -> None:
    text = "void solution(int8_t A[4], int8_t B[4]) { through(A, B, 3); fence(); }"
    assert calls(written_out(text, copies())) == ["load(&A[0], 3);", "store(&B[0], 3);", "fence();"]


def test_what_hardware_loops_alone_can_send_stays_in_them() -> None:
    with pytest.raises(NotApplicable, match="hardware loops alone send load_odd"):
        written_out("void solution(int8_t A[4], int8_t B[4]) { odd(A, B); fence(); }", copies())


def test_a_long_hardware_loop_stays() -> None:
    copy = "for (int n = 0; n < 4096; n += 64) copy(A[n], B[n]);"
    text = f"void solution(int8_t A[4096][4], int8_t B[4096][4]) {{ copy_rows(64); {copy} fence(); }}"
    with pytest.raises(NotApplicable, match="8193 commands, more than 4000"):
        written_out(text, copies())


def test_a_computation_that_keeps_an_operand_brings_it_again() -> None:
    body = """config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false); config_ld(16, 1.0f, 4, 0);
    mvin(A[0], 0, 4, 8); mvin(A[0], 8, 4, 4); preload(8, 0x80000000, 4, 4, 4, 4); compute_preloaded(0, -1, 4, 4, 4, 4);
    {} preload(-1, 0x80000004, 4, 4, 4, 4); compute_accumulated(4, -1, 4, 4, 4, 4); fence();"""
    text = "void solution(float A[8][4]) { %s }"
    accelerator = machine("gemmini:fp32")

    program = program_of(analyse(kernel.parse(text % body.replace("{}", "")), accelerator))
    first, second = (step for step in program.steps if step.kind == "contraction")
    assert [access.rows for access in second.local(write=False)] == [(8, 11), (4, 7)]
    assert {access.operand for access in second.accesses} == {access.operand for access in first.accesses}
    with pytest.raises(NotApplicable, match="overwritten where it came from"):
        program_of(analyse(kernel.parse(text % body.replace("{}", "mvin(A[4], 8, 4, 4);")), accelerator))
