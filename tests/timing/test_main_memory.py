"""Channels and caches of a memory of tensors, and several such memories."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, SimulationResult, run_program
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.errors import IsaError
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.evaluate.bounds import bound
from autocomp.workload import parse

TEXT = """
accelerator mover {
  param CHANNELS = 1;
  param LINES = 0;
  param ENTRIES = 8;
  memory dram { kind: dram; bus: 16; latency: 100; channels: CHANNELS; interleave: 64;
                cache_lines: LINES; cache_line: 64; cache_bus: 64; cache_latency: 10; }
  memory near { kind: dram; bus: 16; latency: 5; }
  memory rows { rows: 64; row: i8[64]; ports: separate; }
  address at { field row = 5..0; memory rows; }
  front { queue: 64; latency: 1; }
  unit load { kind: transfer_in; entries: ENTRIES; queue: 64; in_flight: 64; requests: 64; }
  unit store { kind: transfer_out; entries: 8; }
  instruction load(to: at, from: dram*, count: int 1..32) on load {
    semantics { for r < count, c < 64: rows[to.row + r][c] = from.i8[64 * r + c]; }
  }
  instruction load_near(to: at, from: near*) on load { semantics { for c < 64: rows[to.row][c] = from.i8[c]; } }
  instruction store(to: dram*, from: at) on store { semantics { for c < 64: to.i8[c] = rows[from.row][c]; } }
  instruction fence() { timing { role: fence; } }
}
"""
LATENCY, NEAR, HIT = 100, 5, 10


def run(body: str, memoise: bool = True, discipline: bool = False, **parameters: int) -> SimulationResult:
    tables = isa.lower(accelerator := isa.parse(TEXT, overrides=parameters))
    text = f"void solution(int8_t A[64][64], int8_t B[64][64]) {{ {body} }}"
    program = kernel.link(kernel.compile(kernel.parse(text), accelerator), tables)
    tensors = {name: np.zeros((64, 64), np.int8) for name in "AB"}
    result = run_program(tables.machine, program, tensors, SimulationOptions(memoise=memoise, discipline=discipline))
    assert result.error is None, result.error
    return result


def cycles(body: str, **parameters: int) -> int:
    result = run(body, **parameters)
    assert result.timing is not None
    return int(result.timing.cycles)


@pytest.mark.parametrize(("column", "each"), [(0, 12), (8, 10)])
def test_two_loads_at_a_time_take_as_long_as_the_bus_or_memory_does(column: int, each: int) -> None:
    """Four bytes of a request of 16 come in two beats of 8. If they are in the first beat, the second one is dropped,
    and the next request comes a cycle later."""
    tables = isa.lower(accelerator := isa.load("tiny"))

    def loads(count: int) -> int:
        body = f"for (int n = 0; n < {count}; n++) load_tile(&A[0][{column}], 4 * n, 64, 4, 4);"
        text = f"void solution(int8_t A[64][64]) {{ {body} }}"
        program = kernel.link(kernel.compile(kernel.parse(text), accelerator), tables)
        result = run_program(tables.machine, program, {"A": np.zeros((64, 64), np.int8)}, SimulationOptions())
        assert result.timing is not None
        return int(result.timing.cycles)

    assert loads(64) - loads(32) == 32 * each


def test_channels_carry_their_blocks_side_by_side() -> None:
    one, four = (cycles("load(0, &A[0][0], 32);", CHANNELS=n) for n in (1, 4))
    assert one - four == 32 * 4 - (32 + 3), "32 rows of four beats, one by one, or a row a cycle"


def test_blocks_of_one_channel_come_one_after_the_other() -> None:
    strided = "for (int i = 0; i < 8; i++) load(i, &A[4 * i][0], 1);"
    assert cycles(strided, CHANNELS=4) == cycles(strided, CHANNELS=1)


def test_the_cache_answers_what_it_holds_without_the_memory() -> None:
    again = "load(0, &A[0][0], 1); fence(); load(0, &A[0][0], 1); fence();"
    other = "load(0, &A[0][0], 1); fence(); load(0, &A[1][0], 1); fence();"
    assert cycles(other, LINES=8) - cycles(again, LINES=8) == LATENCY + 64 // 16


def test_the_line_used_least_recently_makes_room() -> None:
    """Four lines: a fifth drives out the first, unless that was used again."""
    fill = "for (int i = 0; i < 4; i++) load(i, &A[i][0], 1); fence();"
    use = "load(0, &A[0][0], 1); fence();"
    fifth = "load(5, &A[5][0], 1); fence();"
    lost, kept = cycles(fill + fifth + use, LINES=4), cycles(fill + use + fifth + use, LINES=4)
    hit = cycles(fill + use, LINES=4) - cycles(fill, LINES=4)
    assert (lost, kept) == (cycles(fill + fifth, LINES=4) + hit + LATENCY + 4, cycles(fill + fifth, LINES=4) + 2 * hit)


def test_a_written_line_that_makes_room_takes_the_bus() -> None:
    write = "load(0, &A[0][0], 1); fence(); store(&B[0][0], 0); fence();"
    more = "load(1, &A[1][0], 1); fence();"
    lines = {n: cycles(write + more, LINES=n) - cycles(write, LINES=n) for n in (1, 2, 3)}
    assert lines[1] == lines[2] + 4, "of two lines the one that was read makes room, of one the one that was written"
    assert lines[2] == lines[3]


def test_memories_have_their_own_latencies() -> None:
    assert cycles("load(0, &A[0][0], 1);") - cycles("load_near(0, &A[0][0]);") == LATENCY - NEAR


def test_a_tensor_lies_in_one_memory() -> None:
    fine = run("load(0, &A[0][0], 1); load_near(1, &B[0][0]);", discipline=True)
    wrong = run("load(0, &A[0][0], 1); load_near(1, &A[1][0]);", discipline=True)
    assert not [v for v in fine.violations if v.kind == "other-memory"]
    (violation,) = [v for v in wrong.violations if v.kind == "other-memory"]
    assert "in 'near', and earlier commands in 'dram'; a tensor lies in one memory" in violation.message


def test_more_commands_than_a_machine_word_has_bits() -> None:
    """Each of 64 loads needs one request, so that all are under way together."""
    body = "for (int i = 0; i < 64; i++) load(i, &A[i][0], 1);"
    assert cycles(body, ENTRIES=200) < cycles(body, ENTRIES=8)
    assert cycles(body, ENTRIES=200) - cycles("load(0, &A[0][0], 1);", ENTRIES=200) == 63 * 4


MOVES = st.lists(st.tuples(st.sampled_from(["load", "store"]), st.integers(0, 15), st.integers(0, 3)), max_size=6)


@settings(max_examples=15, deadline=None)
@given(MOVES, st.sampled_from([1, 2]), st.sampled_from([0, 3, 16]))
def test_memoised_timing_is_the_same(moves: list[tuple[str, int, int]], channels: int, lines: int) -> None:
    calls = {"load": "load({row}, &A[{row}][0], 2);", "store": "store(&B[{row}][0], {row});"}
    body = " ".join(calls[name].format(row=row) for name, row, _ in moves)
    text = f"for (int i = 0; i < 40; i++) {{ {body} load(20, &A[i][0], 4); }}"
    first, second = (run(text, memoise, CHANNELS=channels, LINES=lines).timing for memoise in (True, False))
    assert first is not None
    assert second is not None
    assert (first.cycles, first.units) == (second.cycles, second.units)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("channels: 3;", "channels is 3; expected a power of two"),
        ("channels: 2; interleave: 32;", "interleave is 32; expected at least 64, the largest request or line"),
        ("cache_lines: 4; cache_line: 48;", "cache_line is 48; expected a power of two"),
    ],
)
def test_requests_and_lines_lie_in_one_channel(settings: str, message: str) -> None:
    text = TEXT.replace("memory near { kind: dram;", "memory near { kind: dram; " + settings)
    with pytest.raises(IsaError, match=message) as caught:
        isa.parse(text, "m.isa")
    assert caught.value.place is not None


def test_units_that_stream_have_one_plain_memory() -> None:
    with pytest.raises(IsaError, match="unit load streams over one link to one memory"):
        isa.parse(TEXT.replace("kind: transfer_in;", "kind: stream_in;"), "m.isa")


def test_the_bound_counts_the_memories_that_results_can_go_to() -> None:
    """All load from both memories, and store to one of them."""
    workload = parse("operation: gemm\naccelerator: m\ndims: {I: 64, J: 64, K: 64}\n", Path("m.yaml"))
    one, both = (isa.parse(text) for text in (TEXT.replace("near*", "dram*"), TEXT))
    assert bound(workload, one).parts["memory"] == 2 * 64 * 64 / 16 - 1
    assert bound(workload, both).parts["memory"] == 64 * 64 / 16 - 1
