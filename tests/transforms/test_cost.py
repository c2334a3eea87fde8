"""The estimates that parameters are ranked by, beside what the simulator measures."""

from __future__ import annotations

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, run_program

from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.isa.main_memory import seen_by
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.analysis.requests import (
    Cutting,
    Traffic,
    transfer_cycles,
    unit_settings,
)
from autocomp.targets.simulator.transforms.analysis.tensors import tensors

from .conftest import facts_of, machine

_STREAM = """
void solution(int8_t T[512][{length}]) {{
  config_ld({length}, 1.0, 16, 0);
  config_st({length});
  for (int j = 0; j < {places}; j++) {{
    for (int i = 0; i < 32; i++) {{
      {move};
    }}
  }}
  fence();
}}
"""
_IN = "mvin(&T[i * 16][j * {cols}], i % 16 * 64, {cols}, 16)"
_OUT = "mvout(&T[i * 16][j * {cols}], 0x80000000 + i % 8 * 64, {cols}, 16)"


def estimated(facts: Facts) -> float:
    """The cycles of each of the moves of a kernel, whose tensor holds bytes or words."""
    (site,) = (site for site in facts.sites if site.kind in ("load", "store"))
    instruction = facts.accelerator.instruction(site.role.instruction)
    assert instruction is not None
    assert site.pointer is not None
    unit, memory = unit_settings(facts.accelerator, instruction), seen_by(facts.accelerator, instruction)
    rows, width, array = site.highest("rows") or 1, site.highest("cols") or 1, tensors(facts)[site.pointer.tensor]
    local = max(facts.accelerator.memory(operand.memory).cols for operand in facts.operands_of(site))
    traffic = Cutting.of(unit, memory).on_average(width * array.size, array.row_bytes).scaled(rows)
    return transfer_cycles(unit, memory, rows, -(-width // local), traffic)


@pytest.mark.parametrize("move", [_IN, _OUT])
@pytest.mark.parametrize(
    ("length", "cols"), [(96, 16), (96, 32), (96, 48), (96, 64), (70, 22), (70, 64), (128, 64), (1000, 48), (30, 30)]
)
def test_a_stream_of_moves_takes_about_as_long_as_estimated_however_its_rows_lie(
    move: str, length: int, cols: int
) -> None:
    places = length // cols
    text = _STREAM.format(length=length, places=places, move=move.format(cols=cols))
    tables = isa.lower(machine())
    program = kernel.link(kernel.compile(kernel.parse(text), machine()), tables)
    result = run_program(tables.machine, program, {"T": np.zeros((512, length), np.int8)}, SimulationOptions())
    assert result.timing is not None
    assert estimated(facts_of(text)) == pytest.approx(result.timing.cycles / (32 * places), rel=0.12)


def test_what_a_machine_does_not_state_is_estimated_as_the_simulator_takes_it() -> None:
    text = """
    void solution(int8_t T[512][32]) {
      for (int i = 0; i < 128; i++) load_tile(&T[i * 4][4], i % 16 * 4, 32, 4, 4);
      fence();
    }
    """
    tables = isa.lower(machine("tiny"))
    program = kernel.link(kernel.compile(kernel.parse(text), machine("tiny")), tables)
    result = run_program(tables.machine, program, {"T": np.zeros((512, 32), np.int8)}, SimulationOptions())
    assert result.timing is not None
    assert estimated(facts_of(text, "tiny")) == pytest.approx(result.timing.cycles / 128, rel=0.12)


def test_rows_are_cut_at_multiples_of_the_requests() -> None:
    cutting = Cutting(smallest=16, largest=64, bus=16, drops=False)
    assert cutting.rows([(0, 64)]) == Traffic(1, 4)
    assert cutting.rows([(32, 96)]) == Traffic(2, 4)  # two of 32 bytes
    assert cutting.rows([(48, 96)]) == Traffic(2, 3)  # of 16 and of 32
    assert cutting.rows([(0, 48)]) == Traffic(1, 4)  # one that is larger than what is wanted
