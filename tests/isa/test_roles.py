"""The role of an instruction, and the meaning of its operands, are read off its semantics."""

from __future__ import annotations

import pytest

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.derived.contractions import contraction_tile
from autocomp.targets.simulator.isa.derived.roles import call_role, call_roles, instruction_role

SMALL = """
accelerator small {
  param N = 4;
  memory dram { kind: dram; }
  memory buffer { rows: 64; row: i8[N]; banks: 1; }
  state moves { pitch: u32; }
  unit mover { }
  unit vector { }
  instruction pitch(bytes: int 0..65535) { semantics { moves.pitch = bytes; } }
  instruction fetch(from: dram*, row: int 0..63, count: int 1..8) on mover {
    semantics { for r < count, c < N: buffer[row + r][c] = from.i8[r * moves.pitch + c]; }
  }
  instruction put(to: dram*, row: int 0..63, count: int 1..8) on mover {
    semantics { for r < count, c < N: to.i8[r * moves.pitch + c] = buffer[row + r][c]; }
  }
  instruction add(x: int 0..63, y: int 0..63, z: int 0..63) on vector {
    semantics { for c < N: buffer[z][c] = saturate<i8>(buffer[x][c] + buffer[y][c]); }
  }
  instruction wait() { }
}
"""


@pytest.fixture(scope="module")
def array() -> isa.Accelerator:
    return isa.load("gemmini")


@pytest.fixture(scope="module")
def small() -> isa.Accelerator:
    return isa.parse(SMALL, "small.isa")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("move_in", "load"),
        ("move_out", "store"),
        ("preload", "preload"),
        ("compute", "contraction"),
        ("configure_load", "configuration"),
        ("fence", "front end"),
    ],
)
def test_kinds_of_a_systolic_array(array: isa.Accelerator, name: str, kind: str) -> None:
    instruction = array.instruction(name)
    assert instruction is not None
    assert instruction_role(array, instruction).kind == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("fetch", "load"),
        ("put", "store"),
        ("add", "elementwise"),
        ("pitch", "configuration"),
        ("wait", "front end"),
    ],
)
def test_kinds_of_a_vector_machine(small: isa.Accelerator, name: str, kind: str) -> None:
    role = call_role(small, name)
    assert role is not None
    assert role.kind == kind


def test_operands_of_moves(array: isa.Accelerator, small: isa.Accelerator) -> None:
    load = call_role(array, "mvin2")
    assert load is not None
    assert load.arguments == ("pointer", "destination", "cols", "rows")
    assert load.fixed == {"id": 1}
    assert load.position("rows") == 3
    fetch = call_role(small, "fetch")
    assert fetch is not None
    assert fetch.arguments == ("pointer", "destination", "rows")


def test_operands_of_configurations_get_the_role_of_the_state_they_set(array: isa.Accelerator) -> None:
    long, short = call_role(array, "config_ld", 4), call_role(array, "config_ld", 3)
    assert long is not None
    assert short is not None
    assert long.arguments == ("dram stride", "scale", "block stride", "selector")
    assert short.arguments == ("dram stride", "scale", "selector")


def test_operands_of_a_contraction(array: isa.Accelerator) -> None:
    compute = call_role(array, "compute_preloaded")
    assert compute is not None
    assert compute.arguments == ("source", "source", "depth", "rows", "cols", "depth")
    assert "spad" in compute.role.reads
    assert "acc" in compute.role.writes


def test_a_latched_destination_is_one(array: isa.Accelerator) -> None:
    preload = call_role(array, "preload")
    assert preload is not None
    assert preload.arguments == ("source", "destination", "cols", "rows", "cols", "rows")


def test_the_size_of_a_contraction(array: isa.Accelerator, small: isa.Accelerator) -> None:
    assert contraction_tile(array) == (16, 16, 16)
    assert contraction_tile(isa.load("gemmini", {"DIM": 32})) == (32, 32, 32)
    assert contraction_tile(small) is None


def test_every_call_form_of_one_instruction_has_a_role(array: isa.Accelerator) -> None:
    loads = {role.name for role in call_roles(array, "load")}
    assert {"move_in", "mvin", "mvin2", "mvin3", "gemmini_extended_mvin"} <= loads
