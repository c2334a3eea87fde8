"""Energy: every component of a small product counted by hand, and tables that say nothing sensible refused."""

from __future__ import annotations

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, run_program

from autocomp.data import data_dir
from autocomp.errors import IsaError
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.isa.energy import Energy, energy

TABLE = """
  energy {
    doc "Made-up numbers that tell one component from another.";
    mac: 3; cycle: 0.5; tiles.read: 1; tiles.write: 10; sums.read: 100; sums.write: 1000;
    dram.byte: 10000 : "both ways"; load.command: 7; compute.command: 11; store.command: 13;
  }
}
"""
KERNEL = """
void solution(int8_t A[4][4], int8_t B[4][4], int8_t C[4][4]) {
    load_tile(&A[0][0], 0, 4, 4, 3);
    load_tile(&B[0][0], 4, 4, 4, 4);
    fence();
    contract(0, 4, 0, 4, 3, 2, 0, 0, 0);
    contract(0, 4, 0, 4, 3, 4, 1, 0, 0);
    fence();
    store_tile(&C[0][0], 0, 4, 4, 3, 1.0f, 0);
    fence();
}
"""


def machine(table: str = TABLE) -> isa.Accelerator:
    text = (data_dir("isa") / "tiny.isa").read_text().rstrip()
    return isa.parse(text[:-1] + table)


def run(accelerator: isa.Accelerator, generic: bool = False) -> tuple[Energy | None, int]:
    tables = isa.lower(accelerator)
    program = kernel.link(kernel.compile(kernel.parse(KERNEL), accelerator), tables)
    tensors = {name: np.ones((4, 4), np.int8) for name in "ABC"}
    result = run_program(tables.machine, program, tensors, SimulationOptions(generic=generic))
    assert result.error is None, result.error
    assert result.timing is not None
    return energy(accelerator, result.work, result.timing.cycles), result.timing.cycles


@pytest.mark.parametrize("generic", [False, True])
def test_every_component_of_a_product_is_that_counted_by_hand(generic: bool) -> None:
    found, cycles = run(machine(), generic)
    assert found is not None
    assert found.components == {
        "mac": 3 * (3 * 4 * 2 + 3 * 4 * 4),
        "dram.read": 10000 * (3 * 4 + 4 * 4),
        "dram.write": 10000 * 3 * 4,
        "tiles.write": 10 * (3 * 4 + 4 * 4),
        "tiles.read": 1 * ((3 * 2 + 2 * 4) + (3 * 4 + 4 * 4)),  # each operand of a product once
        "sums.write": 1000 * 4 * (3 * 4 + 3 * 4),  # a sum has four bytes
        "sums.read": 100 * 4 * (3 * 4 + 3 * 4),  # the second product adds to what the first left; the store
        "load.command": 2 * 7,
        "compute.command": 2 * 11,
        "store.command": 13,
        "cycle": 0.5 * cycles,
    }
    assert found.total == pytest.approx(sum(found.components.values()))
    assert sum(found.units.values()) == pytest.approx(found.total)
    assert found.units["store"] == 10000 * 12 + 100 * 4 * 12 + 13
    assert found.units[""] == 0.5 * cycles


VECTORS = """
accelerator vectors {
  memory dram { kind: dram; }
  memory v { rows: 8; row: f32[4]; }
  address at { field row = 2..0; memory v; }
  energy { mac: 1; v.read: 1; v.write: 1; }
  unit arithmetic { kind: serial; }
  instruction combine(d: at, a: at, b: at, n: int 1..4, add: int 0..1) on arithmetic {
    semantics {
      for j < n: v[d.row][j] = add ? fma(v[a.row][j], v[b.row][j], v[d.row][j]) : v[a.row][j] * v[b.row][j] * 0.5;
    }
  }
}
"""


@pytest.mark.parametrize("generic", [False, True])
def test_products_of_two_elements_are_counted_outside_of_sums_as_well(generic: bool) -> None:
    accelerator = isa.parse(VECTORS)
    tables = isa.lower(accelerator)
    text = "void solution(float A[1]) { combine(0, 1, 2, 3, 0); combine(0, 1, 2, 4, 1); }"
    program = kernel.link(kernel.compile(kernel.parse(text), accelerator), tables)
    result = run_program(tables.machine, program, {"A": np.ones(1, np.float32)}, SimulationOptions(generic=generic))
    assert result.error is None, result.error
    found = energy(accelerator, result.work, 0)
    assert found is not None
    assert found.components == {"mac": 3 + 4, "v.read": 4 * (2 * 3 + 3 * 4), "v.write": 4 * (3 + 4)}


def test_a_machine_without_a_table_has_no_energy() -> None:
    assert run(machine("}"))[0] is None


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("tile.read: 1;", "did you mean 'tiles.read'"),
        ("mac: 1; mac: 2;", "stated twice"),
        ("dram.byte: 1; dram.read: 2;", "'dram.read' is stated twice"),
        ("mac: 0 - 1;", "not negative"),
        ("multiply: 1;", "unknown event"),
    ],
)
def test_a_table_that_cannot_be_meant_is_an_error(entry: str, message: str) -> None:
    with pytest.raises(IsaError, match=message):
        machine(f"  energy {{ {entry} }}\n}}")
