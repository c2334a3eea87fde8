"""Timing that goes on as before where its state is as before tells the same as timing that steps through everything."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, SimulationResult, replay_trace, run_program
from hypothesis import given
from hypothesis import strategies as st

from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.fidelity import trace_path
from autocomp.targets.simulator.trace import parse_trace, read_trace
from benchmarks.gemm_kernels import gemm_kernel

from .machines import RTL, SETUP, machine
from .test_random_programs import COMMANDS, MACHINE, ORDERED, UNITS, examples


def assert_same(run: Callable[[SimulationOptions], SimulationResult], options: SimulationOptions) -> None:
    memoised, stepped = (run(replace(options, memoise=memoise)) for memoise in (True, False))
    if stepped.error is not None:  # it is found at once or at the end, as with windows of other sizes
        assert memoised.error is not None
        assert (memoised.error.kind, memoised.error.message) == (stepped.error.kind, stepped.error.message)
        return
    assert memoised.error is None
    assert memoised.timing is not None
    assert stepped.timing is not None
    for name in ("cycles", "segment_cycles", "units", "notes"):
        assert getattr(memoised.timing, name) == getattr(stepped.timing, name), name
    for part in ("commands", "spans"):
        one, other = getattr(memoised.timing, part), getattr(stepped.timing, part)
        assert (one is None) == (other is None)
        for column in fields(one) if one is not None else ():
            np.testing.assert_array_equal(getattr(one, column.name), getattr(other, column.name), column.name)


RECORDS = st.builds(
    SimulationOptions,
    record_commands=st.booleans(),
    record_detail=st.booleans(),
    window=st.sampled_from([1, 50, 1024]),
    max_cycles=st.sampled_from([3000, 1_000_000]),
)
TURNS = st.integers(1, 40)


def assert_turns_of_a_loop_are_timed_alike(
    dataflow: str,
    body: list[str],
    turns: int,
    units: tuple[dict[str, int], ...],
    overrides: dict[str, int],
    options: SimulationOptions,
) -> None:
    accelerator, _ = machine("gemmini")
    chosen = dict(zip(("transfer_in", "array", "transfer_out"), units, strict=True))
    changed = (
        replace(u, settings={**u.settings, **chosen.get(str(u.settings["kind"]), {})}) for u in accelerator.units
    )
    accelerator = replace(accelerator, units=tuple(changed))
    tables = isa.lower(accelerator)
    text = SETUP.format(dataflow=dataflow) + "".join(body) * turns
    trace = parse_trace(text, "random", accelerator, tables).trace
    assert_same(lambda chosen: replay_trace(tables.machine, trace, chosen), replace(options, settings=overrides))


def assert_turns_with_semaphores_are_timed_alike(body: list[str], turns: int, options: SimulationOptions) -> None:
    accelerator, tables = machine("tiny")
    trace = parse_trace("".join(body) * turns, "random", accelerator, tables).trace
    assert_same(lambda chosen: replay_trace(tables.machine, trace, chosen), options)


LOOPS = given(st.sampled_from(["WS", "OS"]), COMMANDS, TURNS, UNITS, MACHINE, RECORDS)
SIGNALS = given(ORDERED, TURNS, RECORDS)

test_turns_of_a_loop_are_timed_alike = examples(40)(LOOPS(assert_turns_of_a_loop_are_timed_alike))
test_turns_with_semaphores_are_timed_alike = examples(25)(SIGNALS(assert_turns_with_semaphores_are_timed_alike))
test_turns_of_many_loops_are_timed_alike = pytest.mark.long(
    examples(1000)(LOOPS(assert_turns_of_a_loop_are_timed_alike))
)


def test_a_kernel_is_timed_alike() -> None:
    accelerator, tables = machine("gemmini", (("HOST", 1),))
    program = kernel.link(kernel.compile(kernel.parse(gemm_kernel(128, 256, 256)), accelerator, {}), tables)
    tensors = {name: np.zeros(shape, np.int8) for name, _, shape in program.parameters}
    for options in (
        SimulationOptions(),
        SimulationOptions(record_commands=True, record_detail=True),
        SimulationOptions(host_scale=3.0),
    ):
        assert_same(lambda chosen: run_program(tables.machine, program, tensors, chosen), options)


def test_rows_that_come_to_another_page_at_their_start_and_within_are_timed_alike() -> None:
    accelerator, tables = machine("gemmini")
    text = """
void solution(int8_t inp[224][672], int8_t padded[225][675]) {
    config_ld(672, 1.0f, 16, 0);
    gemmini_extended_config_st(675, 0, 1.0f);
    for (int piece = 0; piece < 14; piece++) {
        for (int part = 0; part < 10; part++) {
            mvin(&inp[piece * 16][part * 64], (piece * 10 + part) % 4 * 64, 64, 16);
            mvout(&padded[piece * 16 + 1][3 + part * 64], (piece * 10 + part) % 4 * 64, 64, 16);
        }
    }
}
"""
    program = kernel.link(kernel.compile(kernel.parse(text), accelerator), tables)
    tensors = {"inp": np.zeros((224, 672), np.int8), "padded": np.zeros((225, 675), np.int8)}
    assert_same(
        lambda options: run_program(tables.machine, program, tensors, options), SimulationOptions(record_commands=True)
    )


def test_moves_that_are_scaled_after_others_that_are_not_are_timed_alike() -> None:
    accelerator, tables = machine("gemmini")
    text = """
void solution(int8_t inp[{rows}][64]) {{
    config_ld(64, 1.0f, 16, 0);
    for (int turn = 0; turn < {plain}; turn++) mvin(&inp[0][0], turn % 4 * 64, 64, {rows});
    config_ld(64, 0.5f, 16, 0);
    for (int turn = 0; turn < 60; turn++) mvin(&inp[0][0], turn % 4 * 64, 64, {rows});
    fence();
}}
"""
    for plain, rows in ((99, 1), (100, 1), (101, 1), (200, 15), (201, 7)):
        checked = kernel.compile(kernel.parse(text.format(plain=plain, rows=rows)), accelerator)
        program = kernel.link(checked, tables)
        tensors = {"inp": np.zeros((rows, 64), np.int8)}
        options = SimulationOptions(record_commands=True)
        assert_same(lambda chosen, p=program, t=tensors: run_program(tables.machine, p, t, chosen), options)


def test_moves_out_that_a_slow_memory_holds_up_are_timed_alike() -> None:
    """States in which the writer stands within a request come before states in which it is free."""
    accelerator, tables = machine("gemmini", (("MEM_LATENCY", 120),))
    text = """
void solution(int8_t A[256][256], int8_t B[256][256], int8_t C[256][256]) {
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(256, 1.0f, 16, 0);
    config_ld(256, 1.0f, 16, 1);
    config_st(256);
    for (int step = 0; step < 128; step++) {
        const int k = step % 4, block = step / 4, next = (step + 1) % 128;
        const uint32_t a = step % 2 * 4096, b = a + 8192, a_next = 4096 - a, b_next = a_next + 8192;
        const uint32_t done = 0x80000000 + (block + 1) % 2 * 512 + 64 * (k / 2) + 32 * (k % 2);
        for (int pair = 0; pair < 32; pair++) {
            const int d = pair / 8, m = pair / 4 % 2, n = pair % 4, t = pair / 5;
            if (pair % 5 == 4 && t < 2)
                mvin(&A[32 * (next / 16) + 16 * t][64 * (next % 4)], a_next + 64 * t, 64, 16);
            if (pair % 5 == 4 && t >= 2)
                mvin2(&B[64 * (next % 4) + 16 * (t - 2)][64 * (next / 4 % 4)], b_next + 64 * (t - 2), 64, 16);
            if (pair == 17 && block > 0)
                mvout(&C[32 * ((block - 1) / 4) + 16 * (k / 2)][64 * ((block + 3) % 4) + 32 * (k % 2)], done, 32, 16);
            const uint32_t sum = (k + d == 0 ? 0x80000000 : 0xc0000000) + block % 2 * 512 + 64 * m + 16 * n;
            preload(b + 64 * d + 16 * n, sum, 16, 16, 16, 16);
            compute_preloaded(a + 64 * m + 16 * d, GARBAGE_ADDR, 16, 16, 16, 16);
        }
    }
    fence();
}
"""
    program = kernel.link(kernel.compile(kernel.parse(text), accelerator), tables)
    tensors = {name: np.zeros((256, 256), np.int8) for name in "ABC"}
    assert_same(lambda options: run_program(tables.machine, program, tensors, options), SimulationOptions())


def measured_cases() -> list[tuple[str, int]]:
    with (RTL / "cycles.csv").open(encoding="utf-8", newline="") as file:
        return [(row["case_id"], int(row["mem_latency"])) for row in csv.DictReader(file)]


def assert_measured_cases_are_timed_alike(cases: list[tuple[str, int]]) -> None:
    for case, latency in cases:
        accelerator, tables = machine("gemmini", (("MEM_LATENCY", latency),))
        trace = read_trace(trace_path(RTL, case), accelerator, tables).trace
        options = SimulationOptions(record_commands=True, record_detail=True, requirements=False)
        assert_same(lambda chosen, t=tables, c=trace: replay_trace(t.machine, c, chosen), options)


def test_measured_cases_are_timed_alike() -> None:
    assert_measured_cases_are_timed_alike(measured_cases()[::60])


@pytest.mark.long
def test_all_measured_cases_are_timed_alike() -> None:
    assert_measured_cases_are_timed_alike(measured_cases())
