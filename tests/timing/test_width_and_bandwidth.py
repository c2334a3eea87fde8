"""Several commands a cycle, limited bandwidth and renamed rows, pipelines that wait for their own results."""

from __future__ import annotations

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, SimulationResult, run_program
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.errors import IsaError
from autocomp.targets.simulator import isa, kernel

TEXT = """
accelerator wide {
  param WIDTH = 1;
  param BANDWIDTH = 0;
  param INTERLOCK = 0;
  param REORDER = 0;
  param RENAMED = 0;
  param PLACES = 2;
  memory dram { kind: dram; latency: 4; }
  memory rows { rows: 64; row: i32[16]; bandwidth: BANDWIDTH; renamed: RENAMED; }
  address at { field row = 5..0; memory rows; }
  front { width: WIDTH; latency: 1; queue: 16; }
  unit one { kind: serial; interlock: INTERLOCK; reorder: REORDER; entries: 8; queue: 8; }
  unit two { kind: serial; interlock: INTERLOCK; reorder: REORDER; entries: 8; queue: 8; }
  unit load { kind: transfer_in; entries: 8; queue: 8; in_flight: PLACES; }
  instruction load_row(to: at, from: dram*) on load { semantics { for c < 4: rows[to.row][c] = from.i32[4 * c]; } }
  instruction set_one(to: at, count: int 1..32, busy: int 1..99, late: int 0..99) on one {
    semantics { for r < count, c < 16: rows[to.row + r][c] = 1; }
    timing { busy: busy; latency: late; }
  }
  instruction set_two(to: at, count: int 1..32, busy: int 1..99, late: int 0..99) on two {
    semantics { for r < count, c < 16: rows[to.row + r][c] = 2; }
    timing { busy: busy; latency: late; }
  }
  instruction add_two(to: at, by: at, busy: int 1..99, late: int 0..99) on two {
    semantics { for c < 16: rows[to.row][c] = wrap<i32>(rows[to.row][c] + rows[by.row][c]); }
    timing { busy: busy; latency: late; }
  }
  instruction add_one(to: at, by: at, busy: int 1..99, late: int 0..99) on one {
    semantics { for c < 16: rows[to.row][c] = wrap<i32>(rows[to.row][c] + rows[by.row][c]); }
    timing { busy: busy; latency: late; }
  }
}
"""


def run(body: str, memoise: bool = True, **parameters: int) -> SimulationResult:
    accelerator = isa.parse(TEXT, overrides=parameters)
    tables = isa.lower(accelerator)
    text = f"void solution(int32_t A[4]) {{ {body} }}"
    program = kernel.link(kernel.compile(kernel.parse(text), accelerator), tables)
    tensors = {"A": np.zeros(4, np.int32)}
    result = run_program(tables.machine, program, tensors, SimulationOptions(record_commands=True, memoise=memoise))
    assert result.error is None, result.error
    return result


def times(result: SimulationResult, column: str) -> list[int]:
    assert result.timing is not None
    assert result.timing.commands is not None
    return [int(cycle) for cycle in getattr(result.timing.commands, column)]


FOUR = "set_one(0, 1, 1, 0); set_two(8, 1, 1, 0); set_one(16, 1, 1, 0); set_two(24, 1, 1, 0);"


@pytest.mark.parametrize(("width", "cycles"), [(1, [0, 1, 2, 3]), (2, [0, 0, 1, 1]), (4, [0, 0, 0, 0])])
def test_as_many_commands_as_the_front_is_wide_are_offered_and_allocated_in_a_cycle(
    width: int, cycles: list[int]
) -> None:
    result = run(FOUR, WIDTH=width)
    assert [cycle - times(result, "offered")[0] for cycle in times(result, "offered")] == cycles
    assert [cycle - times(result, "allocated")[0] for cycle in times(result, "allocated")] == cycles


def test_a_move_of_one_row_starts_each_cycle_while_there_are_places_in_flight() -> None:
    moves = "".join(f"load_row({n}, A);" for n in range(16))
    one, many = run(moves, PLACES=1), run(moves, PLACES=8)
    assert times(many, "started") == list(range(times(many, "started")[0], times(many, "started")[0] + 16))
    assert times(one, "started")[1:] == [end + 1 for end in times(one, "completed")[:-1]]


def test_a_command_is_as_long_as_its_bytes_need() -> None:
    fast, slow = run("set_one(0, 8, 4, 0);"), run("set_one(0, 8, 4, 0);", BANDWIDTH=32)
    spent = [times(result, "completed")[0] - times(result, "started")[0] for result in (fast, slow)]
    assert spent[1] - spent[0] == 8 * 16 * 4 // 32 - 4


def test_units_share_the_bandwidth_of_a_memory() -> None:
    body = "set_one(0, 16, 1, 0); set_two(32, 16, 1, 0);"
    alone, both = run("set_one(0, 16, 1, 0);", BANDWIDTH=64), run(body, BANDWIDTH=64)
    one, two = times(both, "completed")
    assert one == times(alone, "completed")[0]
    assert two - one == 16


def test_waiting_for_bandwidth_is_attributed_to_the_memory() -> None:
    result = run("set_one(0, 16, 4, 0);", BANDWIDTH=64)
    assert result.timing is not None
    causes = next(unit for unit in result.timing.units if unit.unit == "one").causes
    assert causes["BankConflict"] == 16 - 4


@pytest.mark.parametrize("renamed", [0, 1])
def test_a_pipeline_waits_for_its_own_results_where_it_is_interlocked(renamed: int) -> None:
    body = "add_one(0, 1, 4, 20); add_one(0, 2, 4, 20); add_one(8, 9, 4, 20);"
    free, held = times(run(body), "started"), times(run(body, INTERLOCK=1, RENAMED=renamed), "started")
    assert free[1] - free[0] == 4
    assert held[1] - held[0] >= 24
    independent = "add_one(0, 1, 4, 20); add_one(8, 9, 4, 20);"
    assert times(run(independent, INTERLOCK=1), "started") == times(run(independent), "started")


def test_commands_pass_those_that_wait_where_the_unit_reorders() -> None:
    body = "add_one(0, 1, 4, 20); add_one(0, 2, 4, 20); add_one(8, 9, 4, 20); add_one(8, 10, 4, 20);"
    kept, passing = (times(run(body, INTERLOCK=1, REORDER=n), "started") for n in (0, 1))
    assert passing[2] == passing[0] + 4 < kept[1] < kept[2]
    assert passing[1] == kept[1]
    assert passing[3] == passing[2] + (passing[1] - passing[0])


def test_a_unit_that_reorders_has_to_order_its_own_rows() -> None:
    with pytest.raises(IsaError, match=r"reorder is 1, but interlock is 0"):
        isa.parse(TEXT, overrides={"REORDER": 1})


def test_a_write_of_renamed_rows_waits_for_no_older_use_of_them() -> None:
    body = "set_one(0, 1, 9, 20); add_one(8, 0, 9, 20); set_two(0, 1, 1, 0);"
    held, free = times(run(body), "started"), times(run(body, RENAMED=1), "started")
    assert held[2] > held[1]
    assert free[2] < free[1]
    body = "set_two(0, 1, 1, 0); set_one(0, 1, 9, 20); add_one(8, 0, 9, 20);"
    assert times(run(body, RENAMED=1, INTERLOCK=1), "started")[2] >= 29  # a read still waits for the write


def test_a_read_of_renamed_rows_waits_for_the_last_write_alone() -> None:
    body = "set_one(0, 1, 9, 60); set_two(0, 1, 1, 0); add_two(8, 0, 1, 0);"
    started = times(run(body, RENAMED=1, INTERLOCK=1), "started")
    assert started[2] < started[0] + 20


@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(st.sampled_from(["one", "two"]), st.integers(0, 3), st.integers(1, 16), st.integers(1, 9)),
        min_size=1,
        max_size=5,
    ),
    st.integers(1, 3),
    st.sampled_from([0, 16, 100]),
    st.sampled_from(
        [{}, {"INTERLOCK": 1}, {"INTERLOCK": 1, "REORDER": 1}, {"INTERLOCK": 1, "REORDER": 1, "RENAMED": 1}]
    ),
)
def test_turns_are_timed_alike_with_and_without_memory(
    commands: list[tuple[str, int, int, int]], width: int, bandwidth: int, order: dict[str, int]
) -> None:
    body = " ".join(
        f"set_{unit}({16 * row}, {count}, {busy}, {busy}); add_{unit}({16 * row}, {busy}, {count}, {busy});"
        for unit, row, count, busy in commands
    )
    text = f"for (int r = 0; r < 60; r++) {{ {body} }}"
    fast, slow = (run(text, memoise, WIDTH=width, BANDWIDTH=bandwidth, **order) for memoise in (True, False))
    assert times(fast, "completed") == times(slow, "completed")
