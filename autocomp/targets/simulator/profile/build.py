"""From a recorded run to the profile."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from autocomp.targets.profile import MemoryProfile, OverTime, Profile, UnitProfile
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.profile.lines import line_costs
from autocomp.targets.simulator.profile.memory import live_over_time, operands
from autocomp.targets.simulator.profile.path import causes_of, path_segments
from autocomp.targets.simulator.profile.recording import Recording, record
from autocomp.targets.simulator.profile.walk import critical_path
from autocomp.targets.simulator.profile.what_if import what_if
from autocomp.workload import Workload

WINDOWS = 96  # what happens over time is given for at most this many windows


def profile_kernel(text: str, workload: Workload, accelerator: Accelerator, source_name: str = "kernel.c") -> Profile:
    """The profile of a kernel, which is run on the workload's first input set; its results are not looked at.

    Raises KernelError if it does not parse or check, CandidateFailure if it does not run to its end.
    """
    return profile(record(text, workload, accelerator, source_name))


def profile(recording: Recording) -> Profile:
    """The profile of a recorded run. Raises KernelError for a region that is not closed."""
    cycles, shape = recording.timing.cycles, over_time(recording)
    steps = critical_path(recording)
    causes = causes_of(recording, steps)
    lines, regions = line_costs(recording, steps, causes)
    answers = what_if(recording)
    conflicts = {
        answer.name.removesuffix(".contention"): max(0, cycles - answer.cycles)
        for answer in answers
        if answer.name.endswith(".contention")
    }
    return Profile(
        cycles=cycles,
        window=shape.window,
        accelerator=recording.accelerator.full_name,
        workload=recording.workload.name,
        source=tuple(recording.tree.source.splitlines()),
        units=shape.units,
        overlap=_overlap(recording),
        memories=tuple(
            MemoryProfile(memory.name, memory.rows, shape.live[memory.name], conflicts.get(memory.name, 0))
            for memory in recording.accelerator.memories
            if memory.name in shape.live
        ),
        operands=operands(recording),
        lines=lines,
        regions=regions,
        path=path_segments(recording, steps, causes),
        what_if=answers,
    )


def over_time(recording: Recording) -> OverTime:
    """The activity of units and the use of memories, window by window."""
    cycles = recording.timing.cycles
    window = max(1, -(-cycles // WINDOWS))
    windows = -(-cycles // window)
    return OverTime(cycles, window, _units(recording, window, windows), live_over_time(recording, window, windows))


def _units(recording: Recording, window: int, windows: int) -> tuple[UnitProfile, ...]:
    edges = np.minimum(np.arange(windows + 1) * window, recording.timing.cycles)
    units = []
    for number, unit in enumerate(recording.timing.units):
        busy = np.diff(np.interp(edges, *recording.busy_time(number, "Busy"))) / np.diff(edges)
        causes = {cause: cycles for cause, cycles in unit.causes.items() if cycles}
        units.append(UnitProfile(unit.unit, causes, tuple(np.round(busy, 4).tolist())))
    return tuple(units)


def _overlap(recording: Recording) -> dict[str, dict[str, int]]:
    """Cycles in which both units of a pair were busy."""
    spans, names = recording.spans, recording.units
    working = recording.timing.cause_names.index("Busy")
    lengths = np.diff(spans.start, append=recording.timing.cycles)
    busy: list[npt.NDArray[np.bool_]] = []
    for unit in range(len(names)):
        last = np.maximum.accumulate(np.where(spans.unit == unit, np.arange(len(spans.unit)), -1))
        busy.append((last >= 0) & (spans.cause[last] == working))
    return {
        one: {other: int(lengths[busy[i] & busy[j]].sum()) for j, other in enumerate(names)}
        for i, one in enumerate(names)
    }
