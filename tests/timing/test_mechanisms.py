"""One small check of each mechanism. Expected figures follow from the machine's stated latencies, not from a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from autocomp.simulator import SimulationOptions, replay_trace, run_program

from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.isa.timing import KINDS
from autocomp.targets.simulator.trace import parse_trace

from .machines import NO_POOLING, SETUP, causes, cycles, machine, move_in, move_out, pair, replay

BANK = 4096  # rows of a scratchpad bank
FRONT = 5  # cycles from a command's offer to its issue when everything is idle


# --- front end


def test_a_configuration_takes_the_way_through_the_front_and_one_step() -> None:
    flush = "flush skip=0\n"
    assert cycles(flush) == 5


def test_a_fence_splits_the_time_into_segments() -> None:
    timing = replay(SETUP.format(dataflow="WS") + move_in(0) + "fence\n" + move_in(16)).timing
    assert timing is not None
    assert len(timing.segment_cycles) == 3
    assert timing.segment_cycles[1] == timing.segment_cycles[2] == 75


def test_idle_host_cycles_delay_commands_that_nothing_else_delays() -> None:
    body = "".join(pair(16 * i, None, 16 * i) for i in range(8))
    assert cycles("@cycle-gap 40\n" + body) > 15 * 41
    assert cycles("@cycle-gap 5\n" + body) <= cycles(body) + 2 * 5  # only the first pair is later


def test_a_full_pool_blocks_everything_behind_it() -> None:
    timing = replay(
        SETUP.format(dataflow="WS") + "".join(move_in(16 * i) for i in range(20)) + pair(BANK, 2 * BANK, 0)
    ).timing
    assert timing is not None
    assert timing.commands is not None
    moves, preload = slice(5, 25), 25
    # The last move enters the pool of 8 when the twelfth has left it, and the preload right behind it.
    assert timing.commands.allocated[preload] == timing.commands.completed[moves][11] + 2
    assert timing.cause_names[timing.commands.cause[preload]] == "QueueFull"


def test_a_command_that_has_waited_for_a_hardware_loop_passes_alone() -> None:
    """The next command for the unroller is there one cycle later, when the other one is in its pool."""
    loop = (
        "loop_ws_config_bounds I=1 J=1 K=1 pad_I=0 pad_J=0 pad_K=0\n"
        "loop_ws_config_addrs_ab A=0x1000 B=0x2000\n"
        "loop_ws_config_strides_ab A_stride=16 B_stride=16\n"
        "loop_ws ex_accumulate=0 full_c=0 low_d=0 act=0 b_spad_id=0 a_spad_id=0 a_transpose=0 b_transpose=0"
        " is_resadd=0\n"
    )
    body = loop + f"config_st stride=16 act=0 acc_scale=1 {NO_POOLING}\n" + loop
    timing = replay(SETUP.format(dataflow="WS") + body).timing
    assert timing is not None
    assert timing.commands is not None
    (store, bounds) = [i for i, c in enumerate(timing.commands.sender) if c < 0 and i > 8][:2]
    assert timing.commands.allocated[bounds] == timing.commands.allocated[store]


# --- the port to main memory


@pytest.mark.parametrize(("port", "beats_before"), [("separate", 4), ("shared", 8)])
def test_of_requests_that_share_a_port_those_of_moves_out_go_first(port: str, beats_before: int) -> None:
    text = (Path(__file__).resolve().parents[2] / "isa" / "quad.isa").read_text()
    accelerator = isa.parse(text.replace("request_port: shared", f"request_port: {port}"), "quad.isa")
    tables = isa.lower(accelerator)
    # Four rows go out as two beats each, from the cycle on in which the move in asks for its first. With separate ports
    # acknowledgements and rows come back in turns; else all acknowledgements come first.
    setup = "configure_load id=0 stride=4\nconfigure_store stride=16 act=0 scale=1.0\n"
    moves = (
        "move_out dst=0x100e src=sp:0 cols=4 rows=4\nflush\nflush\nmove_in id=0 src=0x2000 dst=sp:128 cols=4 rows=4\n"
    )
    trace = parse_trace(setup + moves, "test", accelerator, tables).trace
    timing = replay_trace(tables.machine, trace, SimulationOptions(record_commands=True)).timing
    assert timing is not None
    assert timing.commands is not None
    to_request, latency, beats, to_completion = 2, 12, 4, 2
    taken = timing.commands.completed[-1] - timing.commands.issued[-1]
    assert taken == to_request + latency + beats_before + beats - 1 + to_completion


# --- moves in


@pytest.mark.parametrize("latency", [20, 40, 80])
@pytest.mark.parametrize(("cols", "beats"), [(16, 1), (32, 2), (64, 4)])
def test_a_single_move_in_costs_the_latency_and_its_beats(latency: int, cols: int, beats: int) -> None:
    assert cycles(move_in(0, cols), MEM_LATENCY=latency) == latency + 19 + 16 * beats


@pytest.mark.parametrize("repeats", [2, 5])
def test_each_copy_of_a_row_takes_a_cycle_to_write_and_no_request(repeats: int) -> None:
    move = move_in(0, cols=3, rows=16)
    copies = f"config_ld id=0 stride=1024 scale=1 shrunk=0 block_stride=16 pixel_repeats={repeats}\nfence\n" + move
    assert cycles(copies) - cycles(move) == 16 * (repeats - 1)


def test_moves_in_are_bound_by_the_bus_when_rows_are_wide() -> None:
    many, few = (cycles("".join(move_in(64 * i, 64) for i in range(n))) for n in (12, 8))
    assert many - few == 4 * 64


def test_moves_in_are_bound_by_outstanding_requests_when_rows_are_narrow() -> None:
    many, few = (cycles("".join(move_in(16 * i) for i in range(n))) for n in (12, 8))
    assert many - few == 4 * (40 + 7)


def test_a_misaligned_row_needs_a_larger_request() -> None:
    assert cycles(move_in(0, address=0x1008)) == cycles(move_in(0)) + 16


def test_a_zero_move_writes_a_row_a_cycle_without_memory() -> None:
    assert cycles(move_in(0, address=0)) == FRONT + 3 + 16 + 1
    assert cycles(move_in(0, address=0), MEM_LATENCY=400) == FRONT + 3 + 16 + 1


def test_a_repeated_row_is_fetched_once_and_written_often() -> None:
    repeated = cycles(move_in(0, name="mvin2"), MEM_LATENCY=40)
    assert repeated == 75
    assert cycles(move_in(0, name="mvin2") + move_in(16, name="mvin2")) == repeated + 16


# --- the array


def test_pairs_in_different_banks_overlap() -> None:
    assert cycles("".join(pair(16 * i, 2 * BANK + 16 * i, 16 * i) for i in range(8))) == 62 + 16 * 8


def test_two_operands_in_one_bank_take_turns() -> None:
    one, two = (cycles("".join(pair(16 * i, 512 + 16 * i, 16 * i) for i in range(n))) for n in (4, 8))
    assert two - one == 4 * 32


def test_kept_weights_need_only_the_rows_of_the_left_operand() -> None:
    first = pair(0, 2 * BANK, 0, rows=4)
    assert cycles(first + pair(16, None, 16, rows=4)) == cycles(first) + 4


def test_a_reconfiguration_waits_for_the_array_to_drain() -> None:
    configure = SETUP.format(dataflow="WS").strip().splitlines()[0] + "\n"
    tile = pair(0, 2 * BANK, 0)
    assert cycles(configure + tile + configure + tile) == cycles(configure + tile) + 73


def test_output_stationary_results_leave_with_the_next_operation_or_a_flush() -> None:
    tile = (
        "preload bd=garbage c=acc:0 bd_cols=16 bd_rows=16 c_cols=16 c_rows=16\n"
        "compute_preloaded a=sp:0 bd=sp:8192 a_cols=16 a_rows=16 bd_cols=16 bd_rows=16\n"
    )
    assert [cycles(tile * n, "OS") for n in (1, 2, 4)] == [94, 110, 142]


def test_a_result_belongs_to_its_preload_across_a_fence() -> None:
    """A preload alone lets the fence pass, and completes with the last row of its compute's result."""
    preload, compute = pair(0, BANK, 0).splitlines()
    timing = replay(SETUP.format(dataflow="WS") + f"{preload}\nfence\n{compute}\n").timing
    assert timing is not None
    assert timing.commands is not None
    first = 5
    assert timing.commands.completed[first] > timing.commands.completed[first + 2] + 2 * 16


def test_a_result_that_is_an_operand_of_the_next_pair_is_waited_for() -> None:
    apart = pair(0, 2 * BANK, 3 * BANK, place="sp") + pair(BANK, 2 * BANK + 16, 0)
    chained = pair(0, 2 * BANK, 3 * BANK, place="sp") + pair(3 * BANK, 2 * BANK + 16, 0)
    assert cycles(chained) > cycles(apart) + 30


# --- ports


def test_a_move_into_a_bank_that_is_read_costs_a_cycle_a_row() -> None:
    computes = "".join(pair(16 * i, 2 * BANK + 16 * i, 16 * i) for i in range(16))
    other = cycles(move_in(3 * BANK, 64) + computes)
    same = cycles(move_in(2048, 64) + computes)
    assert same - other == 64


def test_an_accumulating_result_keeps_a_move_out_from_its_bank() -> None:
    def run(flags: str) -> int:
        return cycles("".join(pair(16 * i, 2 * BANK, 16 * i, flags=flags) + move_out(496) for i in range(16)))

    assert run("+acc") > run("")


# --- moves out


@pytest.mark.parametrize("latency", [20, 40])
def test_moves_out_are_bound_by_outstanding_requests(latency: int) -> None:
    many, few = (cycles("".join(move_out(16 * i) for i in range(n)), MEM_LATENCY=latency) for n in (12, 8))
    assert many - few == 4 * (latency + 7)


def test_a_full_width_row_takes_four_beats() -> None:
    many, few = (cycles("".join(move_out(16 * i, flags="+full") for i in range(n))) for n in (12, 8))
    assert many - few == 4 * 64


# --- hazards


@pytest.mark.parametrize(
    ("first", "second", "unit", "cause"),
    [
        (move_in(0), pair(0, 2 * BANK, 0), "execute", "ReadAfterWrite"),
        (pair(0, 2 * BANK, 0), move_in(0), "load", "WriteAfterRead"),
        (pair(0, 2 * BANK, 3 * BANK, place="sp"), move_in(3 * BANK), "load", "WriteAfterWrite"),
        (pair(0, 2 * BANK, 0), move_out(0), "store", "ReadAfterWrite"),
    ],
)
def test_overlapping_rows_of_different_units_are_ordered(first: str, second: str, unit: str, cause: str) -> None:
    result = replay(SETUP.format(dataflow="WS") + first + second)
    assert causes(result)[unit][cause] > 0


def test_a_move_in_waits_for_weights_until_their_result_is_written() -> None:
    late = cycles(pair(0, 2 * BANK, 0) + move_in(2 * BANK))
    early = cycles(pair(0, 2 * BANK, 0) + move_in(0))
    assert late > early


# --- semaphores


def test_a_wait_holds_its_unit_until_the_signal() -> None:
    body = "compute_wait semaphore=0\nload_tile src=0x1000 dst=tile:0 stride=4 cols=4 rows=4\nload_signal semaphore=0\n"
    result = replay(body, "tiny")
    assert result.error is None
    assert result.timing is not None
    assert causes(result)["compute"]["Semaphore"] > 12
    commands = result.timing.commands
    assert commands is not None
    assert commands.issued[0] > commands.completed[1]


def test_a_wait_that_nobody_answers_is_a_deadlock_that_names_it() -> None:
    result = replay("load_wait semaphore=3\n", "tiny")
    assert result.error is not None
    assert result.error.kind == "deadlock"
    assert "load" in result.error.message
    assert "Semaphore" in result.error.message
    assert "load_wait" in result.error.message
    assert result.error.line == 1


def test_a_trace_that_takes_more_cycles_than_allowed_is_an_error_at_the_command_under_way() -> None:
    move = "load_tile src=0x1000 dst=tile:0 stride=4 cols=4 rows=4\n"
    accelerator, tables = machine("tiny", ())
    trace = parse_trace(move * 3, "moves", accelerator, tables).trace
    for window in (1, 1 << 20):
        error = replay_trace(tables.machine, trace, SimulationOptions(max_cycles=20, window=window)).error
        assert error is not None
        assert (error.kind, error.line) == ("cycles", 1)
        assert "not done after 20 cycles" in error.message


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_of_any_unit_may_access_nothing(kind: str) -> None:
    text = f"accelerator m {{ memory dram {{ kind: dram; }} unit u {{ kind: {kind}; }} instruction f() on u {{ }} }}"
    accelerator = isa.parse(text, "m", {})
    tables = isa.lower(accelerator)
    program = kernel.link(kernel.compile(kernel.parse("void solution() { f(); f(); }"), accelerator), tables)
    assert run_program(tables.machine, program, {}).error is None
