"""A timeline follows the rules of the trace event format, and tells what the recording has."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.profile import Recording, record, timeline
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.workload import load


@pytest.fixture(scope="module", params=["gemm_100x70x30", "tiny_gemm_edges"])
def recording(request: pytest.FixtureRequest) -> Recording:
    workload = load(request.param)
    accelerator = isa.load(workload.accelerator, workload.overrides, (Path(workload.path).parent,))
    return record(starting_kernel(workload, accelerator), workload, accelerator)


@pytest.fixture(scope="module")
def events(recording: Recording) -> list[dict[str, Any]]:
    document = json.loads(json.dumps(timeline(recording)))
    assert document["otherData"]["cycles"] == recording.timing.cycles
    found: list[dict[str, Any]] = document["traceEvents"]
    return found


def slices(events: list[dict[str, Any]]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    found = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            found[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    return {track: sorted(all_) for track, all_ in found.items()}


def test_slices_of_a_track_do_not_overlap(events: list[dict[str, Any]]) -> None:
    for track in slices(events).values():
        assert all(one[1] <= two[0] for one, two in pairwise(track))


def test_every_track_is_named(events: list[dict[str, Any]]) -> None:
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    assert set(slices(events)) <= named


def test_every_command_of_a_unit_is_there_once(recording: Recording, events: list[dict[str, Any]]) -> None:
    drawn = sorted(e["args"]["command"] for e in events if e["ph"] == "X" and "dram_bytes" in e.get("args", {}))
    assert drawn == [number for number, unit in enumerate(recording.commands.unit.tolist()) if unit >= 0]


def test_arrows_lead_forward_from_one_slice_into_another(events: list[dict[str, Any]]) -> None:
    tracks = slices(events)
    ends: dict[int, dict[str, dict[str, Any]]] = defaultdict(dict)
    for event in events:
        if event["ph"] in "sf":
            ends[event["id"]][event["ph"]] = event
    assert ends
    for arrow in ends.values():
        assert arrow["s"]["ts"] <= arrow["f"]["ts"]
        for end in arrow.values():
            assert any(a <= end["ts"] < b for a, b in tracks[end["pid"], end["tid"]])


def test_counters_begin_and_end_at_nothing_and_are_never_negative(events: list[dict[str, Any]]) -> None:
    counters = defaultdict(list)
    for event in events:
        if event["ph"] == "C":
            counters[event["name"]] += event["args"].values()
    assert any("pool" in name for name in counters)
    assert any("bank" in name for name in counters)
    for values in counters.values():
        assert min(values) >= 0
        assert values[-1] == 0


def test_each_turn_of_a_region_is_a_slice() -> None:
    workload = load("gemm_100x70x30")
    accelerator = isa.load(workload.accelerator)
    *body, end = starting_kernel(workload, accelerator).splitlines()
    turns = ["for (int turn = 0; turn < 3; turn++) {", 'region("moving") { mvin(A, 0, 16, 16); }', "fence();", "}"]
    found = timeline(record("\n".join([*body, *turns, end]), workload, accelerator))["traceEvents"]
    marked = [event for event in found if event["name"] == "moving" and event["ph"] == "X"]
    assert len(marked) == 3
    assert all(one["ts"] + one["dur"] <= two["ts"] for one, two in pairwise(marked))
