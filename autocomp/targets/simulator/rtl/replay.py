"""Measured cases once more, on an RTL model at hand: its cycles take the place of those in the table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.fidelity import LATENCY, Case, trace_path
from autocomp.targets.simulator.rtl.machine import RtlMachine, most_cycles
from autocomp.targets.simulator.rtl.model.build import RtlModel
from autocomp.targets.simulator.trace import read_trace


def replay(
    cases: Iterable[Case], folder: Path, accelerator: str | Path, model: RtlModel, extra_paths: Sequence[Path] = ()
) -> Iterator[Case]:
    """The cases with the cycles of the model; those that the simulator or the model cannot run keep their reason.

    Raises ConfigError when the model does not fit the accelerator, or a command cannot be encoded.
    """
    machines: dict[int, RtlMachine] = {}
    for case in cases:
        if case.predicted is None:
            yield case
            continue
        if case.mem_latency not in machines:
            machine = isa.load(accelerator, {LATENCY: case.mem_latency}, extra_paths)
            machines[case.mem_latency] = RtlMachine(machine, isa.lower(machine), model)
        rtl = machines[case.mem_latency]
        text = read_trace(trace_path(folder, case.case_id), rtl.accelerator, rtl.tables)
        run = rtl.run(text.trace, None, most_cycles(max(case.cycles, case.predicted))).run
        if run.status == "done":
            yield replace(case, cycles=run.segment_cycles[-1])
        else:
            yield replace(case, predicted=None, reason=f"on the RTL: {run.message or 'still busy at the limit'}")
