"""Cycles are conserved, commands move forward, and timing depends on commands alone."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
from autocomp.simulator import SimulationOptions, replay_trace, run_program
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.isa.lowering.lower import MachineTables
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.trace import parse_trace

from .machines import SETUP, machine, move_in, move_out, pair, replay

COMMANDS = st.lists(
    st.one_of(
        st.builds(move_in, st.integers(0, 63).map(lambda r: 16 * r), st.sampled_from([16, 32, 64]), st.integers(1, 16)),
        st.builds(
            pair, st.sampled_from([0, 16, 4096]), st.sampled_from([None, 8192, 32]), st.sampled_from([0, 16, 512])
        ),
        st.builds(move_out, st.sampled_from([0, 16, 512])),
        st.just("fence\n"),
    ),
    max_size=30,
)
START = SETUP.format(dataflow="WS") + pair(0, 8192, 0)


@settings(max_examples=60, deadline=None)
@given(COMMANDS)
def test_busy_and_stalled_cycles_add_up_to_the_makespan(body: list[str]) -> None:
    timing = replay(START + "".join(body)).timing
    assert timing is not None
    for unit in timing.units:
        assert sum(unit.causes.values()) == timing.cycles


@settings(max_examples=60, deadline=None)
@given(COMMANDS)
def test_a_command_passes_its_stages_in_order(body: list[str]) -> None:
    result = replay(START + "".join(body) + "fence\n").timing
    assert result is not None
    commands = result.commands
    assert commands is not None
    stages = ["offered", "accepted", "allocated", "issued", "started", "completed"]
    for earlier, later in pairwise(stages):
        assert (getattr(commands, earlier) <= getattr(commands, later)).all(), (earlier, later)


def rows_moved_in(body: list[str]) -> int:
    """Rows of DIM = 16 columns that the moves in of a program write."""
    moves = re.findall(r"^mvin.* cols=(\d+) rows=(\d+)", "".join(body), re.MULTILINE)
    return sum(int(cols) // 16 * int(rows) for cols, rows in moves)


@settings(max_examples=40, deadline=None)
@given(COMMANDS)
@example([move_in(48, 64, 7), pair(0, 32, 0)])
def test_a_slower_memory_is_not_faster_beyond_scheduling_anomalies(body: list[str]) -> None:
    # Earlier data can meet the array's reads: each row it writes wins its bank's port for a cycle, and a displaced
    # overlap of a preload with a multiply costs at most one more operation.
    text = START + "".join(body)
    fast, slow = (replay(text, MEM_LATENCY=latency).timing for latency in (20, 60))
    assert fast is not None
    assert slow is not None
    assert fast.cycles <= 1.05 * slow.cycles + 20 + rows_moved_in(body)


# Settings of a unit of which more is better, from little to much.
LARGER = st.sampled_from(
    [
        ("load", "entries", (4, 8, 16)),
        ("load", "in_flight", (1, 2, 4)),
        ("load", "requests", (8, 16, 32)),
        ("execute", "entries", (8, 16, 24)),
        ("store", "entries", (2, 4, 8)),
        ("store", "requests", (8, 16, 32)),
    ]
)


@lru_cache(maxsize=32)
def with_setting(unit: str, key: str, value: int) -> tuple[Accelerator, MachineTables]:
    accelerator, _ = machine("gemmini")
    units = (replace(u, settings={**u.settings, key: value}) if u.name == unit else u for u in accelerator.units)
    changed = replace(accelerator, units=tuple(units))
    return changed, isa.lower(changed)


@settings(max_examples=25, deadline=None)
@given(COMMANDS, LARGER)
def test_a_larger_queue_is_not_slower_beyond_scheduling_anomalies(
    body: list[str], larger: tuple[str, str, tuple[int, ...]]
) -> None:
    # The same anomalies as with a faster memory: what comes earlier may stand in the way of what is needed first.
    unit, key, values = larger
    cycles = []
    for value in values:
        accelerator, tables = with_setting(unit, key, value)
        trace = parse_trace(START + "".join(body), "test", accelerator, tables).trace
        timing = replay_trace(tables.machine, trace).timing
        assert timing is not None
        cycles.append(timing.cycles)
    for smaller, more in pairwise(cycles):
        assert more <= 1.05 * smaller + 20 + rows_moved_in(body)


TILE = """
void solution(int8_t A[16][16], int8_t B[16][16], int8_t C[16][16]) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, 0, 0);
  config_st(16);
  config_ld(16, 1.0, 16, 0);
  for (int k = 0; k < 4; k++) {
    mvin(&A[4 * k][0], 4 * k, 16, 4);
    mvin(&B[4 * k][0], 4096 + 4 * k, 16, 4);
  }
  preload(4096, 0x80000000, 16, 16, 16, 16);
  compute_preloaded(0, 0xFFFFFFFF, 16, 16, 16, 16);
  mvout(&C[0][0], 0x80000000, 16, 16);
}
"""


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 400), st.floats(0, 9), st.booleans())
def test_timing_never_changes_results(latency: int, host_scale: float, timing: bool) -> None:
    accelerator, tables = machine("gemmini", (("HOST", 1),))
    program = kernel.link(kernel.compile(kernel.parse(TILE), accelerator), tables)
    left = np.arange(256, dtype=np.int8).reshape(16, 16) % 7
    tensors = {"A": left, "B": left.T.copy(), "C": np.zeros((16, 16), np.int8)}
    options = SimulationOptions(timing=timing, host_scale=host_scale, settings={"dram.latency": latency})
    result = run_program(tables.machine, program, tensors, options)
    assert result.error is None
    expected = left.astype(int) @ left.T.astype(int)
    np.testing.assert_array_equal(result.outputs["C"], np.clip(expected, -128, 127))


@settings(max_examples=20, deadline=None)
@given(COMMANDS)
def test_timing_repeats(body: list[str]) -> None:
    text = START + "".join(body)
    first, second = (replay(text).timing for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.cycles == second.cycles
    assert first.units == second.units
