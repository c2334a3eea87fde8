"""The generations of the RTL, against the traces of section 12.2 of the machine's reference.

Those were measured on the execute controller of generation 2 alone, with commands offered from cycle 0 and a first read
in cycle 4. A preload completes with its last row of results, 35 cycles after the last row of A was read.
"""

from __future__ import annotations

import pytest

from .machines import SETUP, cycles, move_in, move_out, pair, replay

B = 3 * 4096  # operand B and A lie in different banks
FIRST_READ = 4


def configure(dataflow: str = "WS", a_transpose: int = 0, b_transpose: int = 0) -> str:
    return (
        f"config_ex dataflow={dataflow} act=0 shift=0 acc_scale=1 a_stride=1 c_stride=1 a_transpose={a_transpose} "
        f"b_transpose={b_transpose} set_only_strides=0\n"
    )


def output_stationary(step: int, c: str, kind: str = "preloaded") -> str:
    return (
        f"preload bd=garbage c={c} bd_cols=16 bd_rows=16 c_cols=16 c_rows=16\n"
        f"compute_{kind} a=sp:{16 * step} bd=sp:{B + 16 * step} a_cols=16 a_rows=16 bd_cols=16 bd_rows=16\n"
    )


def traced(body: str, setup: str = "", generation: int = 2) -> tuple[list[int], list[int]]:
    """First read and completion of each command."""
    text = SETUP.format(dataflow="WS") + (setup and setup + "fence\n") + body
    timing = replay(text, GENERATION=generation).timing
    assert timing is not None
    assert timing.commands is not None
    count = body.count("\n")
    started, completed = timing.commands.started[-count:], timing.commands.completed[-count:]
    zero = started[0] - FIRST_READ
    return (started - zero).tolist(), (completed - zero).tolist()


PAIRS = "".join(pair(16 * n, B + 16 * n, 16 * n) for n in range(4))
KEPT = pair(0, B, 0) + "".join(pair(16 * n, None, 16 * n) for n in range(1, 5))


@pytest.mark.parametrize("body", [PAIRS, KEPT], ids=["new weights", "kept weights"])
def test_pairs_follow_each_other_every_16_cycles(body: str) -> None:
    started, completed = traced(body)
    count = len(started) // 2
    assert started[0::2] == [4, *(20 + 16 * n for n in range(count - 1))]
    assert started[1::2] == [20 + 16 * n for n in range(count)]
    assert completed[0::2] == [70 + 16 * n for n in range(count)]
    assert completed[1::2] == [36 + 16 * n for n in range(count)]


def test_32_pairs_write_their_last_row_in_cycle_566() -> None:
    _, completed = traced("".join(pair(16 * n, B + 16 * n, 16 * n) for n in range(32)))
    assert completed[-2] == 566


def test_few_rows_of_kept_weights_take_four_cycles() -> None:
    for rows in (1, 4):
        started, _ = traced(pair(0, B, 0, rows) + "".join(pair(16 * n, None, 16 * n, rows) for n in range(1, 4)))
        assert started[1::2] == [20, 24, 28, 32]


def test_operands_in_one_bank_take_two_cycles_a_row() -> None:
    _, completed = traced(pair(0, 512, 0) + pair(16, 528, 16))
    assert completed[0] == 86


def test_a_configuration_waits_for_the_results_and_one_follows_it_at_once() -> None:
    started, completed = traced(pair(0, B, 0) + configure() + pair(16, B + 16, 16))
    assert started == [4, 20, 73, 74, 90]
    assert (completed[0], completed[3]) == (70, 140)


def test_transposing_a_reads_it_with_the_preload_and_costs_nothing() -> None:
    _, completed = traced(PAIRS, setup=configure(a_transpose=1))
    assert completed[0::2] == [70 + 16 * n for n in range(4)]


def test_transposing_new_weights_runs_each_pair_twice() -> None:
    _, completed = traced(PAIRS, setup=configure(b_transpose=1))
    assert [later - earlier for earlier, later in zip(completed[0::2], completed[2::2], strict=False)] == [32] * 3


def test_output_stationary_results_leave_with_the_next_operation() -> None:
    _, completed = traced("".join(output_stationary(n, f"acc:{16 * n}") for n in range(3)), setup=configure("OS"))
    assert completed[0::2] == [86, 102, 118]


def test_output_stationary_sums_leave_once() -> None:
    body = output_stationary(0, "garbage") + output_stationary(1, "garbage", "accumulated")
    _, completed = traced(body + output_stationary(2, "acc:0", "accumulated"), setup=configure("OS"))
    assert completed[0::2] == [20, 37, 118]


def test_an_operand_that_starts_where_a_result_does_is_waited_for() -> None:
    started, completed = traced(pair(0, B, 8192, place="sp") + pair(8192, B + 16, 0))
    assert started[2:] == [71, 87]
    assert completed[2] == 137


def test_an_operand_that_starts_elsewhere_in_a_result_is_not_waited_for() -> None:
    started, _ = traced(pair(0, B, 8192, place="sp") + pair(8194, B + 16, 0))
    assert started[3] == 36


@pytest.mark.parametrize("generation", [0, 1])
def test_earlier_generations_read_the_scratchpad_three_cycles_later(generation: int) -> None:
    _, new = traced(PAIRS)
    _, old = traced(PAIRS, generation=generation)
    assert old[0::2] == [cycle + 3 for cycle in new[0::2]]
    assert old[1::2] == new[1::2]


@pytest.mark.parametrize("generation", [1, 2])
def test_later_generations_end_a_move_in_a_cycle_later(generation: int) -> None:
    assert cycles(move_in(0), GENERATION=generation) == cycles(move_in(0)) + 1


@pytest.mark.parametrize(("place", "period"), [("acc", 25), ("sp", 19)])
def test_generation_2_moves_out_one_command_after_the_other(place: str, period: int) -> None:
    body = "".join(move_out(16 * n, place) for n in range(4))
    timing = replay(SETUP.format(dataflow="WS") + body, GENERATION=2, MEM_LATENCY=1).timing
    assert timing is not None
    assert timing.commands is not None
    issued, completed = timing.commands.issued[-4:], timing.commands.completed[-4:]
    assert (issued[1:] == completed[:-1] + 1).all()
    assert issued[1] - issued[0] == period
