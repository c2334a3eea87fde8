"""The critical path and the simulator's answers to what-ifs agree: what is not on the path is not worth improving."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.profile import Profile, profile_kernel, record
from autocomp.targets.simulator.profile.recording import Recording
from autocomp.targets.simulator.profile.walk import critical_path
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.workload import Workload, parse

MACHINES = {name: isa.load(name) for name in ("gemmini", "tiny")}
SHARED = ("Bus", "BankConflict", "Fence")  # waiting that other units are the reason of
HAND_OVER = 4  # cycles from a command's completion until its unit goes on with the next
ENDS = 40  # cycles that the first and the last command may take by themselves
TOLERANCE = 0.02  # of the makespan: who comes first at a shared port changes as well


def workload(machine: str, i: int, j: int, k: int) -> Workload:
    text = f"operation: gemm\naccelerator: {machine}\ndtype: int8\ndims: {{I: {i}, J: {j}, K: {k}}}\n"
    return parse(text, Path("w.yaml"))


PROBLEM = workload("gemmini", 64, 64, 64)
tiles = st.integers(0, 15).map(lambda tile: 16 * tile)
few_tiles = st.integers(0, 2).map(lambda tile: 16 * tile)
places = few_tiles | tiles
moves_in = st.builds(
    "{}(&{}[{}][0], {}, {}, {});".format,
    st.sampled_from(["mvin", "mvin2"]),
    st.sampled_from("AB"),
    st.sampled_from([0, 16, 48]),
    places,
    st.sampled_from([16, 64]),
    st.sampled_from([4, 16]),
)
products = st.builds(
    "preload({}, {} + {}, 16, 16, 16, 16); compute_preloaded({}, 0xffffffff, 16, 16, 16, 16);".format,
    places,
    st.sampled_from(["0x80000000", "0xC0000000"]),
    places,
    places,
)
moves_out = st.builds(
    "mvout(&C[{}][0], 0x80000000 + {}, {}, 16);".format, st.sampled_from([0, 32]), places, st.sampled_from([16, 64])
)
host_code = st.integers(0, 60).map("for (int x = 0; x < {}; x++) {{ int y = 3 * x; }}".format)
statements = st.lists(
    moves_in | products | products | moves_out | host_code | st.just("fence();"), min_size=1, max_size=25
)


def kernel(body: list[str], turns: int) -> str:
    lines = ["mvin(A, 0, 16, 16);", f"for (int turn = 0; turn < {turns}; turn++) {{", *body, "}"]
    return "\n".join(
        [
            "void solution(int8_t A[64][64], int8_t B[64][64], int8_t C[64][64]) {",
            "config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);",
            "config_ld(64, 1.0f, 16, 0); config_ld(64, 1.0f, 16, 1); config_st(64);",
            *lines,
            "fence();",
            "}",
        ]
    )


def on_the_path(found: Profile, unit: str) -> int:
    """Cycles that the path is on the unit, or waits for what it shares with others."""
    return sum(segment.cycles for segment in found.path if segment.unit == unit or segment.cause in SHARED)


def assert_agreement(found: Profile) -> None:
    saved = {answer.name: found.cycles - answer.cycles for answer in found.what_if}
    for unit in found.units:
        if f"{unit.name}.instant" in saved:
            bound = on_the_path(found, unit.name) + TOLERANCE * found.cycles + ENDS
            assert saved[f"{unit.name}.instant"] <= bound, f"{unit.name}: {found.path[:4]}"
    assert saved["host"] <= on_the_path(found, "host") + on_the_path(found, "front")


@settings(max_examples=25, deadline=None)
@given(body=statements, turns=st.integers(1, 4))
def test_an_infinitely_fast_unit_saves_at_most_its_part_of_the_path(body: list[str], turns: int) -> None:
    assert_agreement(profile_kernel(kernel(body, turns), PROBLEM, MACHINES["gemmini"]))


@pytest.mark.parametrize("dims", [(5, 7, 9), (33, 3, 21), (16, 32, 8)])
def test_so_it_is_where_semaphores_order_the_units(dims: tuple[int, int, int]) -> None:
    problem, machine = workload("tiny", *dims), MACHINES["tiny"]
    assert_agreement(profile_kernel(starting_kernel(problem, machine), problem, machine))


PRODUCT = "preload(0, 0xC0000000, 16, 16, 16, 16); compute_preloaded(0, 0xffffffff, 16, 16, 16, 16);"
LOOP = """
void solution(int8_t A[{i}][{k}], int8_t B[{k}][{j}], int8_t C[{i}][{j}]) {{
    tiled_matmul_auto({i}, {j}, {k}, A, B, NULL, C, {k}, {j}, {j}, {j}, 1.0f, 1.0f, 1.0f, 0, 1.0f, 0,
                      false, false, false, false, false, 0, WS);
    mvin(A, 0, 16, 4);
    fence();
}}
"""


@pytest.mark.parametrize("dims", [(64, 80, 96), (200, 40, 33), (17, 260, 64)])
def test_so_it_is_through_hardware_loops_whose_commands_belong_to_the_line_of_the_loop(
    dims: tuple[int, int, int],
) -> None:
    i, j, k = dims
    found = profile_kernel(LOOP.format(i=i, j=j, k=k), workload("gemmini", i, j, k), MACHINES["gemmini"])
    assert_agreement(found)
    assert sum(segment.cycles for segment in found.path) == found.cycles
    assert {line.line for line in found.lines} == {3, 5, 6}
    assert next(line.cost.commands for line in found.lines if line.line == 3) > 100


@settings(max_examples=20, deadline=None)
@given(body=statements, turns=st.integers(1, 4))
@example([PRODUCT, "mvout(C, 0x80000000 + 16, 64, 16);", PRODUCT, "mvout(C, 0x80000000 + 16, 16, 16);"], 1)
def test_the_path_is_with_a_command_while_the_machine_has_it(body: list[str], turns: int) -> None:
    """A move out completes when its last row has left local memory, and its unit goes on to write that row."""
    recording = record(kernel(body, turns), PROBLEM, MACHINES["gemmini"])
    offered, completed = recording.commands.offered.tolist(), recording.commands.completed.tolist()
    for step in critical_path(recording):
        if step.place >= 0:
            left = completed[step.command]
            assert offered[step.command] <= step.start < step.end, step
            writes = recording.units[step.place] == "store" and at_work(recording, step.place, left, step.end)
            assert step.end <= left + HAND_OVER or writes, step


def at_work(recording: Recording, unit: int, start: int, end: int) -> bool:
    """True if the unit works, or waits for its port or for DRAM, from start to end."""
    mine = recording.spans.unit == unit
    starts, causes = recording.spans.start[mine], recording.spans.cause[mine]
    during = causes[(starts < end) & (np.append(starts[1:], recording.timing.cycles) > start)]
    return {recording.timing.cause_names[cause] for cause in during} <= {"Busy", "Bus", "MemoryLatency", "Pipeline"}


def test_a_queue_that_is_full_behind_work_is_not_to_blame() -> None:
    """Stores come in groups with many products between them; the next group waits for those products."""
    products = "preload(256, 0x80000000, 16, 16, 16, 16); compute_preloaded(0, 0xffffffff, 16, 16, 16, 16);"
    stores = "mvout(C, 0x80000000, 64, 16); " * 6
    body = [f"for (int i = 0; i < 60; i++) {{ {products} }}", stores]
    found = profile_kernel(kernel(body, 3), PROBLEM, MACHINES["gemmini"])
    assert found.what_if[0].name == "execute.instant"
    assert on_the_path(found, "execute") >= found.cycles - found.what_if[0].cycles
