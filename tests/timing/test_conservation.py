"""Cycles are conserved, commands move forward, and timing depends on commands alone."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from .machines import SETUP, move_in, move_out, pair, replay

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


@settings(max_examples=20, deadline=None)
@given(COMMANDS)
def test_timing_repeats(body: list[str]) -> None:
    text = START + "".join(body)
    first, second = (replay(text).timing for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.cycles == second.cycles
    assert first.units == second.units
