"""A profile accounts for every cycle, and says of small kernels what one would work out by hand."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.errors import CandidateFailure, KernelError
from autocomp.targets.serial import from_document, to_document
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.profile import Profile, Recording, profile, profile_kernel, record
from autocomp.targets.simulator.profile.limits import limits
from autocomp.targets.simulator.profile.recording import replayed_cycles
from autocomp.targets.simulator.profile.walk import critical_path
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.workload import Workload, parse

MACHINES = {name: isa.load(name) for name in ("gemmini", "tiny")}
extents = st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 40))


def gemm(machine: str, dims: tuple[int, int, int]) -> Workload:
    i, j, k = dims
    text = f"operation: gemm\naccelerator: {machine}\ndtype: int8\ndims: {{I: {i}, J: {j}, K: {k}}}\n"
    return parse(text, Path("w.yaml"))


def recording_of(machine: str, dims: tuple[int, int, int]) -> Recording:
    workload = gemm(machine, dims)
    return record(starting_kernel(workload, MACHINES[machine]), workload, MACHINES[machine])


@pytest.fixture(scope="module")
def naive() -> Profile:
    return profile(recording_of("gemmini", (48, 32, 64)))


@pytest.mark.parametrize("machine", MACHINES)
@settings(max_examples=12, deadline=None)
@given(dims=extents)
def test_the_critical_path_covers_every_cycle_once(machine: str, dims: tuple[int, int, int]) -> None:
    recording = recording_of(machine, dims)
    steps = critical_path(recording)
    assert (steps[0].start, steps[-1].end) == (0, recording.timing.cycles)
    assert all(one.end == two.start for one, two in pairwise(steps))


@pytest.mark.parametrize("machine", MACHINES)
@settings(max_examples=6, deadline=None)
@given(dims=extents)
def test_all_views_add_up_to_the_makespan(machine: str, dims: tuple[int, int, int]) -> None:
    found = profile(recording_of(machine, dims))
    assert sum(segment.cycles for segment in found.path) == found.cycles
    assert sum(line.cost.path_cycles for line in found.lines) == found.cycles
    for unit in found.units:
        assert sum(unit.causes.values()) == found.cycles
        assert found.overlap[unit.name][unit.name] == unit.causes.get("Busy", 0)
        assert all(0 <= share <= 1 for share in unit.occupancy)
    for memory in found.memories:
        assert 0 <= memory.live_peak <= memory.rows
        assert len(memory.live) == len(found.units[0].occupancy)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_recorded_commands_take_as_long_when_replayed(machine: str) -> None:
    recording = recording_of(machine, (21, 34, 19))
    assert replayed_cycles(recording) == recording.timing.cycles


def test_the_naive_kernel_moves_operands_once_for_each_tile_of_the_other(naive: Profile) -> None:
    moved = {operand.tensor: operand.transfers for operand in naive.operands}
    assert moved == {"A": 2, "B": 3, "C": 1}  # 32/16 columns of tiles, 48/16 rows of them
    reuse = {operand.tensor: operand.reuse for operand in naive.operands}
    assert reuse == {"A": 1, "B": 1, "C": 4}  # 64/16 partial sums


def test_arrays_of_the_kernel_s_own_are_no_operands() -> None:
    workload = gemm("gemmini", (16, 16, 16))
    text = starting_kernel(workload, MACHINES["gemmini"])
    text = text.replace("{\n", "{\n    static int8_t copy[16][16];\n", 1)
    text = text.replace("    fence();\n}", "    mvout(&copy[0][0], 0, 16, 16);\n    fence();\n}")
    found = profile(record(text, workload, MACHINES["gemmini"]))
    assert {operand.tensor: operand.transfers for operand in found.operands} == {"A": 1, "B": 1, "C": 1}


def test_the_naive_kernel_waits_for_its_loads(naive: Profile) -> None:
    first = naive.path[0]
    assert (first.unit, first.link) == ("load", "ReadAfterWrite")
    assert f"line {first.following} needs its result" in first.words
    saving = {answer.name: answer.saved for answer in naive.what_if}
    assert max((name for name in saving if name.endswith(".instant")), key=saving.__getitem__) == "load.instant"
    assert saving["execute.alone"] >= saving["load.instant"]
    assert naive.overlap["load"]["execute"] < naive.cycles * 0.1


def test_a_row_of_sums_that_is_added_to_lives_once(naive: Profile) -> None:
    """The obvious kernel has a tile of each operand, and one of sums."""
    assert {memory.name: memory.live_peak for memory in naive.memories} == {"spad": 32, "acc": 16}


def test_loops_contain_what_is_inside(naive: Profile) -> None:
    loops = [region for region in naive.regions if region.kind == "loop"]
    assert [loop.depth for loop in loops] == [0, 1, 2]
    assert loops[0].cost.path_cycles >= loops[1].cost.path_cycles >= loops[2].cost.path_cycles
    assert loops[0].cost.bytes_read == sum(operand.read for operand in naive.operands)


def test_the_json_form_is_read_back(naive: Profile) -> None:
    assert from_document(Profile, json.loads(json.dumps(to_document(naive)))) == naive


MARKED = """
void solution(int8_t A[16][16], int8_t B[16][16], int8_t C[16][16]) {
    config_ld(16, 1.0f, 16, 0);
    region("all") {
        // region: loading
        mvin(A, 0, 16, 16);
        // end
        // end region
        // region short
        mvin(B, 16, 16, 16);
        // end
    }
    // region of memory that nobody reads
    fence();
}
"""


def test_regions_nest_and_add_up_their_lines() -> None:
    found = profile_kernel(MARKED, gemm("gemmini", (16, 16, 16)), MACHINES["gemmini"])
    named = {region.name: region for region in found.regions}
    assert {name: (region.first, region.last, region.depth) for name, region in named.items()} == {
        "all": (4, 12, 0),
        "loading": (5, 8, 1),
        "short": (9, 11, 1),
    }
    assert (named["all"].cost.commands, named["loading"].cost.commands) == (2, 1)
    assert named["all"].cost.bytes_read == 2 * named["loading"].cost.bytes_read == 512


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [("// end region", "", "'loading' does not end"), ("// region: loading", "", "without a `// region: NAME`")],
)
def test_a_region_that_is_not_closed_is_an_error(before: str, after: str, message: str) -> None:
    text = MARKED.replace(before, after, 1)
    with pytest.raises(KernelError, match=message):
        profile_kernel(text, gemm("gemmini", (16, 16, 16)), MACHINES["gemmini"])


def test_a_kernel_that_stops_has_no_profile() -> None:
    text = MARKED.replace("mvin(B, 16,", "mvin(B, 1 << 20,")
    with pytest.raises((CandidateFailure, KernelError), match="row"):
        profile_kernel(text, gemm("gemmini", (16, 16, 16)), MACHINES["gemmini"])


def test_limits_are_the_same_path_and_answers_and_look_at_the_first_commands_only() -> None:
    workload, machine = gemm("gemmini", (48, 32, 64)), MACHINES["gemmini"]
    text = starting_kernel(workload, machine)
    whole, part = limits(text, workload, machine), limits(text, workload, machine, commands=40)
    found = profile_kernel(text, workload, machine)
    assert (whole.cycles, whole.path, whole.what_if) == (found.cycles, found.path, found.what_if)
    assert part.commands == 40
    assert part.cycles < whole.cycles
    assert sum(segment.cycles for segment in part.path) == part.cycles


def test_a_view_of_a_memory_is_not_a_memory_of_its_own() -> None:
    machine = isa.load("amx")
    text = "operation: gemm\naccelerator: amx\ndims: {I: 16, J: 16, K: 64}\nresult: int32\nlayout: {B: K/4 J K%4}\n"
    workload = parse(text, Path("w.yaml"))
    found = profile(record(starting_kernel(workload, machine), workload, machine))
    assert [(memory.name, memory.live_peak > 0) for memory in found.memories] == [("tiles", True)]
