"""The commands that hardware loops send are those that the measured machine's loops sent, in its order and cycles."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, replay_trace

from autocomp.targets.simulator.trace import parse_trace, read_trace

from .machines import RTL, machine

EVENTS = RTL / "events"
CASES = sorted(path.name.removesuffix(".csv.gz") for path in EVENTS.glob("*_loopws*"))
REORDERED = {"i_loopws_auto_256"}  # moves in and out that meet on the way to memory shift the order: docs/fidelity.md

Sent = tuple[int, tuple[Any, ...]]  # instruction and operands


@dataclass(frozen=True)
class Run:
    """Commands in the order in which the pools got them, and when, from the first one on."""

    commands: list[Sent]
    cycles: np.ndarray


def measured(case: str) -> Run:
    with gzip.open(EVENTS / f"{case}.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row["order"]))
    accelerator, tables = machine("gemmini")
    trace = parse_trace("\n".join(row["command"] for row in rows), case, accelerator, tables)
    assert not trace.unsupported
    commands = [(number, tuple(operands)) for number, operands, *_ in trace.trace.commands(tables.machine)]
    cycles = np.array([int(row["alloc"]) for row in rows])
    return Run(commands, cycles - cycles[0])


@cache
def simulated(case: str) -> Run:
    accelerator, tables = machine("gemmini")
    trace = read_trace(RTL / "traces" / f"{case}.txt.gz", accelerator, tables)
    result = replay_trace(tables.machine, trace.trace, SimulationOptions(record_commands=True, record_trace=True))
    assert result.trace is not None
    assert result.timing is not None
    assert result.timing.commands is not None
    times = result.timing.commands
    moves_and_computes = {tables.instructions[name] for name in ("move_in", "move_out", "preload", "compute")}
    rows = result.trace.commands(tables.machine)  # type: ignore[attr-defined]
    chosen = [i for i, row in enumerate(rows) if row[0] in moves_and_computes]
    chosen.sort(key=lambda i: int(times.allocated[i]))
    cycles = times.allocated[chosen]
    return Run([(rows[i][0], tuple(rows[i][1])) for i in chosen], cycles - cycles[0])


@pytest.mark.parametrize("case", CASES)
def test_a_loop_sends_the_measured_commands(case: str) -> None:
    assert sorted(simulated(case).commands) == sorted(measured(case).commands)


@pytest.mark.parametrize("case", [case for case in CASES if case not in REORDERED])
def test_in_the_measured_order_and_cycles(case: str) -> None:
    expected, found = measured(case), simulated(case)
    assert found.commands == expected.commands
    assert np.abs(found.cycles - expected.cycles).max() <= 1
