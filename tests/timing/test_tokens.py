"""Tokens that flags of commands take and leave: when commands wait, how many fit, and what they order."""

from __future__ import annotations

from functools import cache

import numpy as np
from autocomp.simulator import SimulationOptions, SimulationResult, run_program
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import isa, kernel

# A producer and a consumer, which share rows: semaphore 0 says that a row is full, 1 that it is empty.
TEXT = """
accelerator tokens {
  param DEPTH = 0;
  memory dram { kind: dram; }
  memory rows { rows: 8; row: i32[1]; }
  address row_address { field row = 2..0; memory rows; }
  hazards { tracked: 0; }
  semaphores { depth: DEPTH; }
  unit producer { kind: serial; entries: 4; }
  unit consumer { kind: serial; entries: 4; }
  unit store { kind: transfer_out; entries: 2; }
  instruction produce(
    to: row_address, value: int, pop: int 0..1, push: int 0..1, busy: int 1..64, late: int 0..64
  ) on producer {
    semantics { rows[to.row][0] = value; }
    timing { busy: busy; latency: late; pops: pop << 1; pushes: push; }
  }
  instruction consume(from: row_address, pop: int 0..1, push: int 0..1, busy: int 1..64) on consumer {
    semantics { rows[7][0] = rows[from.row][0]; }
    timing { busy: busy; pops: pop; pushes: push << 1; }
  }
  instruction fence() { timing { role: fence; } }
}
"""


@cache
def machine(depth: int) -> tuple[isa.Accelerator, isa.MachineTables]:
    accelerator = isa.parse(TEXT, overrides={"DEPTH": depth})
    return accelerator, isa.lower(accelerator)


def run(body: str, depth: int = 0, options: SimulationOptions | None = None) -> SimulationResult:
    accelerator, tables = machine(depth)
    text = f"void solution(int32_t x[1]) {{ {body} }}"
    program = kernel.link(kernel.compile(kernel.parse(text), accelerator), tables)
    return run_program(
        tables.machine, program, {"x": np.zeros(1, np.int32)}, options or SimulationOptions(record_commands=True)
    )


def times(result: SimulationResult, column: str) -> list[int]:
    assert result.error is None, result.error
    assert result.timing is not None
    assert result.timing.commands is not None
    return [int(cycle) for cycle in getattr(result.timing.commands, column)]


def test_a_command_waits_until_the_one_that_pushes_its_token_is_complete() -> None:
    result = run("produce(0, 5, 0, 1, 20, 10); consume(0, 1, 0, 1);")
    assert times(result, "issued")[1] == times(result, "completed")[0] + 1


def test_a_token_comes_when_older_commands_are_complete_too() -> None:
    result = run("produce(0, 5, 0, 0, 1, 60); produce(1, 6, 0, 1, 1, 0); consume(1, 1, 0, 1);")
    slow, fast = times(result, "completed")[:2]
    assert fast >= slow
    assert times(result, "issued")[2] == fast + 1


def test_a_full_queue_holds_whoever_would_push() -> None:
    body = " ".join(f"produce({row}, 1, 0, 1, 1, 0);" for row in range(3)) + " ".join(["consume(0, 1, 0, 50);"] * 2)
    free = times(run(body), "issued")
    held = times(run(body, depth=1), "issued")
    assert free[:2] == [held[0], held[0] + 1]
    assert held[1] >= times(run(body, depth=1), "issued")[3]  # its room is that of the token which was consumed first


def test_a_token_that_never_comes_is_a_deadlock_with_an_error() -> None:
    result = run("consume(0, 1, 0, 1);")
    assert result.error is not None
    assert result.error.kind == "deadlock"


def test_waiting_for_a_token_is_attributed_to_synchronisation() -> None:
    result = run("produce(0, 5, 0, 1, 40, 0); consume(0, 1, 0, 1);")
    assert result.timing is not None
    consumer = next(unit for unit in result.timing.units if unit.unit == "consumer")
    assert consumer.causes["Semaphore"] >= 35


CHECKED = SimulationOptions(timing=False, discipline=True)


def test_tokens_order_what_their_commands_touch() -> None:
    assert run("produce(0, 5, 0, 1, 1, 0); consume(0, 1, 0, 1);", options=CHECKED).violations == ()
    unordered, left = run("produce(0, 5, 0, 1, 1, 0); consume(0, 0, 0, 1);", options=CHECKED).violations
    assert "does not make the later one wait" in unordered.message
    assert left.kind == "signal-left"
    both = "produce(0, 5, 0, 1, 1, 0); consume(0, 1, 1, 1); produce(0, 6, {}, 0, 1, 0);"
    assert run(both.format(1), options=CHECKED).violations == ()
    assert run(both.format(0), options=CHECKED).violations != ()


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(1, 9), st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=4
    ),
    st.integers(0, 2),
    st.integers(1, 12),
)
def test_turns_with_tokens_are_timed_alike_with_and_without_memory(
    turns: list[tuple[int, int, int, int]], depth: int, times_over: int
) -> None:
    body = " ".join(
        f"produce({row}, 1, r > 0, 1, {busy}, {late}); consume({row}, 1, 1, {consumer});"
        for row, busy, late, consumer in turns[:1]
    ) + " ".join(
        f"produce({row}, 2, 1, 1, {busy}, {late}); consume({row}, 1, 1, {consumer});"
        for row, busy, late, consumer in turns[1:]
    )
    text = f"for (int r = 0; r < {40 * times_over}; r++) {{ {body} }}"
    fast, slow = (
        run(text, depth, SimulationOptions(record_commands=True, memoise=memoise)) for memoise in (True, False)
    )
    assert times(fast, "completed") == times(slow, "completed")
