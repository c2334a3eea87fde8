"""Perfetto reads a timeline without complaint, and finds in it what the profile says."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest
from trace_processor import TraceProcessor

from autocomp.targets.simulator.profile import Recording, profile

pytestmark = [pytest.mark.browser, pytest.mark.long]

NANOSECONDS = 1000  # in a cycle: the trace processor counts them, a timeline's cycle is a microsecond


def used_units(recording: Recording) -> list[str]:
    units = recording.units
    return [name for number, name in enumerate(units) if (recording.commands.unit == number).any()]


def test_nothing_is_lost_or_wrong(recording: Recording, processor: TraceProcessor) -> None:
    wrong = "select name, value from stats where severity in ('error', 'data_loss') and value != 0"
    assert processor.rows(wrong) == []
    first, last = processor.rows("select min(ts), max(ts + dur) from slice")[0]
    assert (first, last) == (0, recording.timing.cycles * NANOSECONDS)


def test_tracks_have_the_names_and_the_order_of_a_reader(recording: Recording, processor: TraceProcessor) -> None:
    listed = """select process.name, thread.name from thread join process using (upid)
                where thread.name is not null order by tid"""
    tracks = [name for name, _ in groupby(processor.rows(listed))]
    regions = [track for track in tracks if str(track[1]).startswith("region ")]
    units = used_units(recording)
    of_units = [f"{unit} {what}" for unit in units for what in ("busy", "waits", "commands")]
    assert tracks[: len(regions)] == regions
    assert tracks[len(regions) :] == [
        *(("host and units", name) for name in ["host blocked", *of_units]),
        *(("queues", f"queue of {unit}") for unit in units),
    ]
    assert [name for _, name in regions] == (
        ["region product", "region inner", "region once more"] if "region" in recording.tree.source else []
    )


def test_topics_are_drawn_units_first(recording: Recording, processor: TraceProcessor) -> None:
    """The user interface draws the process with most slices first."""
    counted = """select process.name from process left join thread using (upid) left join thread_track using (utid)
                 left join slice on slice.track_id = thread_track.id
                 where process.name is not null group by upid order by count(slice.id) desc"""
    assert processor.column(counted) == ["host and units", "queues", "memories"]


def test_units_spend_the_cycles_of_the_profile(recording: Recording, processor: TraceProcessor) -> None:
    spent = """select thread.name, slice.name, sum(dur) from slice join thread_track on track_id = thread_track.id
               join thread using (utid) where thread.name glob '* busy' or thread.name glob '* waits' group by 1, 2"""
    found = {(track, cause): duration for track, cause, duration in processor.rows(spent)}
    units = [unit for unit in profile(recording).units if unit.name in used_units(recording)]
    assert found == {
        (f"{unit.name} {'busy' if cause == 'Busy' else 'waits'}", cause): cycles * NANOSECONDS
        for unit in units
        for cause, cycles in unit.causes.items()
    }


def test_commands_are_in_flight_as_recorded(recording: Recording, processor: TraceProcessor) -> None:
    drawn = """select extract_arg(arg_set_id, 'args.command'), name, ts, dur from slice
               where extract_arg(arg_set_id, 'args.dram_bytes') is not null order by 1"""
    commands = recording.commands
    names = {number: name for name, number in recording.tables.instructions.items()}
    ends = np.maximum(commands.completed, commands.started + 1)
    assert processor.rows(drawn) == [
        (
            number,
            f"{names[int(commands.instruction[number])]} :{commands.line[number]}",
            int(commands.started[number]) * NANOSECONDS,
            int(ends[number] - commands.started[number]) * NANOSECONDS,
        )
        for number in np.flatnonzero(commands.unit >= 0).tolist()
    ]


def test_arrows_lead_from_each_command_to_those_it_released(recording: Recording, processor: TraceProcessor) -> None:
    arrows = """select extract_arg(source.arg_set_id, 'args.command'), extract_arg(target.arg_set_id, 'args.command')
                from flow left join slice source on slice_out = source.id left join slice target on slice_in = target.id
                order by 2"""
    released_by = recording.commands.released_by
    released = np.flatnonzero(released_by >= 0).tolist()
    assert released
    assert processor.rows(arrows) == [(int(released_by[number]), number) for number in released]


def test_counters_have_the_peaks_of_the_profile_and_end_at_nothing(
    recording: Recording, processor: TraceProcessor
) -> None:
    peaks = (
        "select name, max(value), max(ts) from counter join counter_track on track_id = counter_track.id group by name"
    )
    peak = {name: most for name, most, _ in processor.rows(peaks)}
    memories = profile(recording).memories
    used = {memory.name: memory.live_peak for memory in memories if memory.live_peak}
    assert {name.removesuffix(" live rows"): most for name, most in peak.items() if name.endswith("live rows")} == used
    assert {f"{unit} pool commands" for unit in used_units(recording)} <= peak.keys()
    assert {"DRAM read bytes in flight", "DRAM write bytes in flight"} <= peak.keys()
    assert all(any(name.startswith(f"{memory} bank") for name in peak) for memory in used)
    last = """select distinct value from counter where (track_id, ts) in
              (select track_id, max(ts) from counter group by track_id)"""
    assert processor.column(last) == [0]
