"""Any program on any machine ends, or is reported as a deadlock, and every cycle of a unit has one cause.

`make check-long` tries far more of them than the ordinary suite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from autocomp.simulator import SimulationOptions, SimulationResult, replay_trace
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.timing import UNIT_KEYS
from autocomp.targets.simulator.trace import parse_trace

from .machines import SETUP, causes, machine, move_in, move_out, pair, replay

FEW, MANY = 25, 2000  # examples of the ordinary suite and of the long one

# A pair and the preload behind it must fit into the array's pool and queue; below that a machine cannot go on.
RANGES = {
    **dict.fromkeys(UNIT_KEYS, (0, 9)),
    "entries": (4, 16),
    "queue": (4, 10),
    "requests": (2, 16),
    "operations": (1, 4),
    "flush_first": (1, 30),
    "flush_period": (1, 30),
    "latency": (1, 40),
}
FIXED = {"kind", "result_owner", "serial", "request_min", "request_max", "unordered_writes", "exact_base_reads"}
AT_LEAST_TWO = {"lookahead"}
SEVERAL = {"in_flight", "request_queue", "start", "command_steps", "write_buffer", "scale_slots", "scale_window"}


def numbers(kind: str) -> st.SearchStrategy[dict[str, int]]:
    """Settings of a unit of that kind, some of them left as they are."""
    keys = [name for name, key in UNIT_KEYS.items() if kind in key.kinds and name not in FIXED]
    return st.fixed_dictionaries({}, optional={name: st.integers(*bounds(name)) for name in keys})


def bounds(name: str) -> tuple[int, int]:
    low, high = RANGES[name]
    return max(low, 2 if name in AT_LEAST_TWO else 1 if name in SEVERAL or name == "min_rows" else low), high


UNITS = st.tuples(numbers("transfer_in"), numbers("array"), numbers("transfer_out"))
MACHINE = st.fixed_dictionaries(
    {},
    optional={
        "dram.latency": st.integers(0, 100),
        "host.issue": st.integers(1, 5),
        "front.queue": st.integers(1, 8),
        "front.latency": st.integers(0, 6),
        "hazards.tracked": st.integers(0, 1),
    },
)
ROWS = st.integers(0, 255).map(lambda tile: 16 * tile)
BANKED = st.tuples(st.integers(0, 3), st.sampled_from([0, 8, 16, 64])).map(lambda place: 4096 * place[0] + place[1])
SUMS = st.sampled_from([0, 8, 16, 504, 512])
COMMANDS = st.lists(
    st.one_of(
        st.builds(
            move_in, ROWS, st.sampled_from([4, 16, 64]), st.integers(1, 16), st.sampled_from([0, 0x1000, 0x1009])
        ),
        st.builds(move_in, BANKED, st.sampled_from([16, 64])),
        st.builds(pair, BANKED, st.none() | BANKED, SUMS, st.integers(1, 16), st.sampled_from(["", "+acc"])),
        st.builds(pair, BANKED, BANKED, BANKED, place=st.just("sp")),
        st.builds(move_out, SUMS, flags=st.sampled_from(["", "+full"])),
        st.builds("@cycle-gap {}\n".format, st.integers(0, 60)),
        st.sampled_from(["fence\n", SETUP.format(dataflow="WS"), SETUP.format(dataflow="OS")]),
    ),
    max_size=40,
)


def run(
    dataflow: str, body: list[str], units: tuple[dict[str, int], ...], overrides: dict[str, int], window: int = 1024
) -> SimulationResult:
    accelerator, _ = machine("gemmini")
    chosen = dict(zip(("transfer_in", "array", "transfer_out"), units, strict=True))
    changed = [
        replace(u, settings={**u.settings, **chosen.get(str(u.settings["kind"]), {})}) for u in accelerator.units
    ]
    accelerator = replace(accelerator, units=tuple(changed))
    tables = isa.lower(accelerator)
    trace = parse_trace(SETUP.format(dataflow=dataflow) + "".join(body), "random", accelerator, tables)
    return replay_trace(
        tables.machine, trace.trace, SimulationOptions(settings=overrides, max_cycles=1_000_000, window=window)
    )


def assert_every_program_ends(
    dataflow: str, body: list[str], units: tuple[dict[str, int], ...], overrides: dict[str, int]
) -> None:
    result = run(dataflow, body, units, overrides)
    assert result.error is None, result.error
    assert result.timing is not None
    for unit, cycles in causes(result).items():
        assert sum(cycles.values()) == result.timing.cycles, unit


def assert_the_window_changes_nothing(
    dataflow: str, body: list[str], units: tuple[dict[str, int], ...], overrides: dict[str, int]
) -> None:
    whole, piecewise = (run(dataflow, body, units, overrides, window) for window in (1 << 20, 1))
    assert piecewise.timing == whole.timing
    assert piecewise.command_count == whole.command_count


def assert_a_deadlock_is_one(body: list[str]) -> None:
    result = replay("".join(body), "tiny")
    waits, signals = (
        [sum(f"{kind} semaphore={index}\n" in command for command in body) for index in range(2)]
        for kind in ("wait", "signal")
    )
    if not any(waits):
        assert result.error is None
    if any(wait > signal for wait, signal in zip(waits, signals, strict=True)):
        assert result.error is not None
    if result.error is not None:
        assert result.error.kind == "deadlock"
        assert "Semaphore" in result.error.message
    assert result.timing is not None
    for unit, cycles in causes(result).items():
        assert sum(cycles.values()) == result.timing.cycles, unit


ORDERED = st.lists(
    st.one_of(
        st.builds(
            "{}_{} semaphore={}\n".format,
            st.sampled_from(["load", "compute", "store"]),
            st.sampled_from(["wait", "signal"]),
            st.integers(0, 1),
        ),
        st.builds("load_tile src=0x1000 dst=tile:{} stride=4 cols=4 rows=4\n".format, st.integers(0, 60)),
    ),
    max_size=20,
)

ANY_MACHINE = given(st.sampled_from(["WS", "OS"]), COMMANDS, UNITS, MACHINE)
ANY_ORDER = given(ORDERED)


def examples(count: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return settings(max_examples=count, deadline=None)


test_every_program_ends = examples(FEW)(ANY_MACHINE(assert_every_program_ends))
test_the_window_changes_nothing = examples(FEW)(ANY_MACHINE(assert_the_window_changes_nothing))
test_a_deadlock_is_one = examples(FEW)(ANY_ORDER(assert_a_deadlock_is_one))
test_every_program_ends_on_many_machines = pytest.mark.long(examples(MANY)(ANY_MACHINE(assert_every_program_ends)))
test_many_deadlocks_are_ones = pytest.mark.long(examples(MANY)(ANY_ORDER(assert_a_deadlock_is_one)))
