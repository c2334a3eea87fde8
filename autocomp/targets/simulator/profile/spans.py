"""A kernel's commands over time, in columns, for drawing: bounded in size, however many there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.simulator.results import Commands, Timing
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.profile.lanes import lanes_of

MOST = 40_000  # spans of one timeline
_GOLDEN = 0.618033988749895  # its multiples, modulo 1, are spread evenly

Array = npt.NDArray[Any]


def spans(timing: Timing, accelerator: Accelerator) -> dict[str, Any]:
    """Tracks of units, each command a span on a lane of its unit's track, so that spans of a lane do not overlap.

    Of more than MOST commands the longest-waiting and longest-running ones are kept, and of equal ones some of all
    times; `left_out` counts the others. Starts are given as differences from the one before, in program order.
    """
    commands = timing.commands
    if commands is None:
        raise ValueError("the simulation recorded no commands")
    chosen = _chosen(commands)
    lanes, counts = _lanes(commands, chosen, len(timing.units))
    started = commands.started[chosen]
    return {
        "cycles": timing.cycles,
        "tracks": [{"name": use.unit, "lanes": max(1, n)} for use, n in zip(timing.units, counts, strict=True)],
        "instructions": [instruction.name for instruction in accelerator.instructions],
        "causes": list(timing.cause_names),
        "left_out": int(np.count_nonzero(commands.unit >= 0)) - len(chosen),
        "start": np.diff(started, prepend=0).tolist(),
        "length": (commands.completed[chosen] - started).tolist(),
        "track": commands.unit[chosen].tolist(),
        "lane": lanes,
        "line": commands.line[chosen].tolist(),
        "instruction": commands.instruction[chosen].tolist(),
        "cause": commands.cause[chosen].tolist(),
        "wait": commands.wait_cycles[chosen].tolist(),
    }


def _chosen(commands: Commands) -> Array:
    """Places of the commands that are drawn: those of units, by start."""
    on_units = np.flatnonzero(commands.unit >= 0)
    if len(on_units) > MOST:
        weight = commands.completed[on_units] - commands.started[on_units] + commands.wait_cycles[on_units]
        evenly = np.arange(len(on_units)) * _GOLDEN % 1.0  # any first part of this order lies all over the kernel
        on_units = on_units[np.lexsort((evenly, -weight))[:MOST]]
    return on_units[np.argsort(commands.started[on_units], kind="stable")]


def _lanes(commands: Commands, chosen: Array, units: int) -> tuple[list[int], list[int]]:
    """Each command's lane in its unit's track, and how many lanes each unit needs."""
    lanes = np.zeros(len(chosen), np.int64)
    counts = []
    for unit in range(units):
        mine = np.flatnonzero(commands.unit[chosen] == unit)
        taken = lanes_of(commands.started[chosen[mine]].tolist(), commands.completed[chosen[mine]].tolist())
        lanes[mine] = taken
        counts.append(max(taken, default=-1) + 1)
    return lanes.tolist(), counts
