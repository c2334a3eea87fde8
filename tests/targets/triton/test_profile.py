"""Where time goes in kernels: read from records that an NVIDIA H200 gave, so that no GPU is needed."""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from autocomp.report import make_console
from autocomp.report.profile import print_profile
from autocomp.targets.profile import Profile
from autocomp.targets.serial import to_document
from autocomp.targets.triton.profile import RecordedKernel, counted, phases_of
from autocomp.targets.triton.recorder.counters import read
from autocomp.targets.triton.recorder.marks import Mark, place
from autocomp.targets.triton.recorder.records import HEADER, MAGIC, RECORD, blocks_of, stays
from autocomp.targets.triton.residency import blocks_at_a_time
from tests.targets.triton.workloads import load

FOLDER = Path(__file__).parent / "recorded"
LOOP = """\
#loc1 = loc("kernel.py":7:10)
tt.func public @k(%a: !tt.ptr<f16>) {
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<64x64xf32>) : i32 {
    ttng.wait_barrier %b, %i : !ttg.memdesc<1xi64> loc(#loc1)
    %1 = ttng.warp_group_dot %x, %y, %acc : tensor<64x64xf32> loc(#loc1)
    %2 = "tt.reduce"(%1) <{axis = 1 : i32}> ({
    ^bb0(%l: f32, %r: f32):
      %m = arith.maxnumf %l, %r : f32
    }) : (tensor<64x64xf32>) -> tensor<64xf32> loc(#loc1)
    %3 = math.exp2 %1 : tensor<64x64xf32> loc(#loc1)
    %4 = arith.addf %3, %1 : tensor<64x64xf32> loc(#loc1)
    scf.yield %4 : tensor<64x64xf32>
  }
  tt.return
}
"""


def recorded(name: str) -> tuple[RecordedKernel, dict[str, Any]]:
    document = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    task = document["task"]
    workload = load(task["operation"], dims=task["dims"])
    return RecordedKernel(document["answer"], document["kernel"], "nvidia-h200", 232_448, workload), document


def share(kernel: RecordedKernel, kind: str) -> float:
    return sum(phase.share for phase in phases_of(kernel.answer["marked"][kernel.heaviest]) if phase.kind == kind)


def test_marks_stand_at_the_borders_of_a_loops_phases() -> None:
    marked = place(LOOP)
    assert [mark.kind for mark in marked.marks] == ["Wait", "Product", "Arithmetic", ""]
    assert {mark.line for mark in marked.marks} == {7}
    lines = [line.strip() for line in marked.text.splitlines()]
    assert lines.index('proton.record end "m0"') == lines.index('proton.record start "m0"') + 2
    assert lines[lines.index('proton.record end "m2"') + 1].startswith("scf.yield")


def test_kinds_that_are_left_out_join_the_phase_before_them() -> None:
    assert [mark.kind for mark in place(LOOP, ("Wait", "Product")).marks] == ["Wait", "Product", "", ""]


def raw(records: list[tuple[int, bool, int]], room: int) -> bytes:
    """One block of one warp, as a circular buffer of `room` records leaves it."""
    buffer = bytearray(RECORD.size * room)
    for position, (scope, end, clock) in enumerate(records):
        tag = (end << 31) | (scope << 23) | (clock >> 32)
        RECORD.pack_into(buffer, RECORD.size * (position % room), tag, clock & 0xFFFFFFFF)
    count = struct.pack("<I", 2 * len(records))
    return HEADER.pack(MAGIC, 5, 17, len(buffer), 100, 900, 950) + count + bytes(buffer)


MARKS = (Mark(0, "Wait", 7, 0), Mark(1, "Product", 8, 0), Mark(2, "", 8, 0), Mark(3, "", 8, 0))
ROUND = [(0, False, 0), (0, True, 130), (1, False, 630), (1, True, 660)]  # scope, end, clock


def test_a_stay_is_the_time_to_the_next_mark_without_the_cost_of_a_record() -> None:
    data = raw(ROUND, 8)
    (block,) = blocks_of(data, len(data), 1)
    assert (block.processor, block.ended - block.begun) == (17, 800)
    found = stays([block], MARKS, {0: 0, 1: 2}, cost=30.0)
    assert [(stay.mark.kind, stay.cycles) for stay in found] == [("Wait", [100]), ("Product", [470])]


def test_lost_records_are_counted_and_give_no_stay() -> None:
    records = [(scope, end, clock + 1000 * turn) for turn in range(3) for scope, end, clock in ROUND]
    data = raw(records, 6)
    (block,) = blocks_of(data, len(data), 1)
    assert block.warps[0].lost == 6
    found = stays([block], MARKS, {0: 0, 1: 2}, cost=0.0)
    assert [stay.cycles for stay in found] == [[130], [500]]


def test_a_clock_that_wraps_gives_the_right_stay() -> None:
    top = (1 << 43) - 50
    data = raw([(0, False, top), (0, True, 80)], 4)
    (block,) = blocks_of(data, len(data), 1)
    assert stays([block], MARKS, {0: 0}, cost=0.0)[0].cycles == [130]


def test_memory_that_no_block_wrote_is_left_out() -> None:
    assert list(blocks_of(bytes(512), 256, 1)) == []


def test_two_stages_wait_for_loads_and_three_do_not() -> None:
    two, _ = recorded("gemm_128x128_8w_2s")
    three, _ = recorded("gemm_128x128_8w_3s")
    assert share(two, "Wait") > 0.7
    assert share(three, "Wait") < 0.2
    assert any("more pipelining stages than 2" in sentence for sentence in two.evidence().story)


def test_causes_add_up_to_the_time_of_each_launch() -> None:
    kernel, document = recorded("fused_mlp_2048x2048x5504")
    for launch in document["answer"]["launches"]:
        assert launch["us"] > 0
    parts = kernel.evidence().parts
    longest = document["answer"]["launches"][kernel.heaviest]
    assert sum(parts[longest["name"]].values()) == pytest.approx(longest["us"], rel=0.01)


def test_a_profile_names_lines_and_survives_json() -> None:
    kernel, _ = recorded("attention_64x64")
    profile = kernel.profile()
    assert isinstance(profile, Profile)
    assert sum(segment.share for segment in profile.path) == pytest.approx(1.0)
    assert any("tl.dot" in line.text for line in profile.lines)
    json.dumps(to_document(profile))


def test_a_timeline_has_a_lane_for_each_warp() -> None:
    kernel, _ = recorded("gemm_128x128_8w_3s")
    events = kernel.timeline()["traceEvents"]
    assert {event["tid"] for event in events} == {"warp 0", "warp 1"}
    assert all(event["dur"] >= 0 for event in events)


def test_occupancy_says_what_limits_it() -> None:
    launch = {"registers": 148, "warps": 8, "shared": 98_336}
    assert blocks_at_a_time(launch, 232_448) == (1, "registers")
    assert blocks_at_a_time({**launch, "registers": 128}, 232_448) == (2, "registers")
    assert blocks_at_a_time({**launch, "registers": 32, "shared": 131_072}, 232_448) == (1, "shared memory")


def test_hardware_counters_are_told_in_the_words_of_profiles() -> None:
    counters = read((FOLDER / "counters_fused_mlp.csv").read_text(encoding="utf-8"))
    products = counters["launches"][0]
    assert products["name"] == "matmul_kernel_gate_kernel_joined_descriptors"
    assert products["read"] == 98_889_984
    assert products["tensor_cores"] == pytest.approx(0.5196)
    assert max(products["waits"], key=lambda cause: products["waits"][cause]) == "Barrier"
    assert sum(products["waits"].values()) == pytest.approx(1)
    first, second = counted(counters)
    assert "tensor cores are busy 52% of the time" in first
    assert "86%" in second


def test_counters_that_could_not_be_read_are_said_to_be_missing() -> None:
    counters = read("==PROF== Connected to process 7\n==ERROR== ERR_NVGPUCTRPERM - the user does not have permission\n")
    assert counted(counters) == [
        "Hardware counters were not read: ncu: ==ERROR== ERR_NVGPUCTRPERM - the user does not have permission."
    ]
    assert counted(None) == []


def test_the_profile_of_a_recording_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    found, _ = recorded("gemm_128x128_8w_2s")
    print_profile(make_console(sys.stdout, plain=True), found.profile())
    assert "Units" in capsys.readouterr().out


def test_the_story_of_a_recording_says_what_limits_the_kernel_and_what_to_try() -> None:
    found, _ = recorded("gemm_128x128_8w_2s")
    story = found.story()
    assert any("limited by registers" in sentence for sentence in story)
    assert any(sentence.startswith("To try: ") for sentence in story)
