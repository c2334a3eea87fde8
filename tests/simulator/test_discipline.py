"""The memory discipline: each kind of breach, and the same program without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from autocomp.simulator import SimulationOptions, SimulationResult, run_program

from tests.simulator.machines import Command, issue_all, mover, pointer

A, B = pointer(0), pointer(1)
TENSORS = [("A", "i8", (4, 8)), ("B", "i8", (4, 8))]


def run(
    commands: Sequence[tuple[str, list[int]]], settings: Mapping[str, int] | None = None, outputs: Sequence[str] = ()
) -> SimulationResult:
    machine = mover(settings)
    issued = [Command(getattr(machine, name), arguments) for name, arguments in commands]
    program = issue_all(machine.machine, issued, TENSORS)
    tensors = {"A": np.ones((4, 8), np.int8), "B": np.zeros((4, 8), np.int8)}
    result = run_program(
        machine.machine, program, tensors, SimulationOptions(timing=False, discipline=True, outputs=outputs)
    )
    assert result.error is None
    return result


def kinds(result: SimulationResult) -> list[tuple[str, int, int | None]]:
    return [(v.kind, v.line, v.other_line) for v in result.violations]


def test_data_moved_in_and_out_is_in_order_where_the_machine_tracks_rows() -> None:
    commands = [("read", [A, 0, 4]), ("write", [B, 0, 4]), ("fence", [])]
    assert kinds(run(commands, outputs=["B"])) == []


def test_a_row_that_nothing_wrote_is_an_uninitialised_read() -> None:
    result = run([("read", [A, 0, 2]), ("write", [B, 0, 4])])
    assert kinds(result) == [("uninitialised-read", 2, None)]
    assert result.violations[0].count == 2
    assert "rows[2][0]" in result.violations[0].message


def test_units_are_not_ordered_where_the_machine_tracks_nothing() -> None:
    result = run([("read", [A, 0, 4]), ("write", [B, 0, 4])], {"hazards.tracked": 0})
    assert kinds(result) == [("unordered-local", 2, 1)]
    assert "semaphore" in result.violations[0].message


def test_a_semaphore_orders_units() -> None:
    commands = [("read", [A, 0, 4]), ("signal", [0]), ("wait", [0]), ("write", [B, 0, 4])]
    assert kinds(run(commands, {"hazards.tracked": 0})) == []


def test_another_semaphore_does_not() -> None:
    commands = [("read", [A, 0, 4]), ("signal", [1]), ("wait", [0]), ("write", [B, 0, 4])]
    assert kinds(run(commands, {"hazards.tracked": 0})) == [("unordered-local", 4, 1), ("signal-left", 2, None)]


def test_a_fence_orders_everything() -> None:
    commands = [("read", [A, 0, 4]), ("fence", []), ("write", [B, 0, 4])]
    assert kinds(run(commands, {"hazards.tracked": 0})) == []


def test_reading_back_from_dram_needs_a_fence() -> None:
    commands = [("read", [A, 0, 4]), ("write", [B, 0, 4]), ("read", [B, 8, 4])]
    assert kinds(run(commands)) == [("unordered-dram", 3, 2)]
    assert kinds(run([*commands[:2], ("fence", []), commands[2]])) == []


def test_overwriting_what_was_read_is_in_order_through_the_rows_between() -> None:
    assert kinds(run([("read", [A, 0, 4]), ("write", [A, 0, 4])])) == []


def test_overwriting_what_another_unit_may_still_read_is_not() -> None:
    commands = [("read", [B, 0, 4]), ("fence", []), ("read", [A, 8, 4]), ("write", [A, 0, 4])]
    assert kinds(run(commands)) == [("unordered-dram", 4, 3)]


def test_a_unit_may_leave_its_own_writes_in_flight_unordered() -> None:
    commands = [("read", [A, 0, 4]), ("read", [A, 2, 2])]
    assert kinds(run(commands)) == []
    assert kinds(run(commands, {"in.unordered_writes": 1})) == [("unordered-local", 2, 1)]
    apart = [commands[0], ("read", [A, 20, 1]), commands[1]]
    assert kinds(run(apart, {"in.unordered_writes": 1})) == []


def test_a_write_in_flight_is_ordered_through_a_reader_that_waited_for_it() -> None:
    commands = [("read", [A, 0, 4]), ("write", [B, 0, 4]), ("read", [A, 0, 4])]
    assert kinds(run(commands, {"in.unordered_writes": 8})) == []


def test_a_fence_orders_writes_in_flight() -> None:
    commands = [("read", [A, 0, 4]), ("fence", []), ("read", [A, 0, 4])]
    assert kinds(run(commands, {"in.unordered_writes": 8})) == []


def test_a_unit_may_see_its_own_results_by_their_first_row_only() -> None:
    settings = {"in.exact_base_reads": 4}
    assert kinds(run([("read", [A, 0, 4]), ("copy", [8, 0, 4])], settings)) == []
    assert kinds(run([("read", [A, 0, 4]), ("copy", [8, 2, 2])], settings)) == [("unordered-local", 2, 1)]


def test_a_program_returns_when_its_outputs_have_arrived() -> None:
    commands = [("read", [A, 0, 4]), ("write", [B, 0, 2]), ("fence", []), ("write", [B + 16, 2, 2])]
    result = run(commands, outputs=["B"])
    assert kinds(result) == [("unfinished-store", 4, None)]
    assert result.violations[0].message.startswith("write (line 4) writes B[2][0] ")
    assert result.violations[0].message.endswith("nothing waits for it before the kernel returns; end with fence()")
    assert kinds(run([*commands, ("fence", [])], outputs=["B"])) == []


def test_every_element_of_an_output_must_be_written() -> None:
    result = run([("read", [A, 0, 4]), ("write", [B, 0, 3]), ("fence", [])], outputs=["B"])
    assert kinds(result) == [("unwritten-output", 0, None)]
    assert result.violations[0].count == 8
    assert "B[3][0]" in result.violations[0].message


def test_memory_use_counts_rows_touched_and_rows_alive_at_once() -> None:
    result = run([("read", [A, 0, 4]), ("write", [B, 0, 4]), ("read", [A, 8, 4]), ("write", [B, 8, 4])])
    assert [(m.memory, m.rows, m.rows_touched, m.rows_live_peak) for m in result.memory] == [("rows", 32, 8, 4)]
