"""Simulator against hardware on random programs; what differs is shrunk to few commands and written down as a case."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from autocomp.errors import ConfigError
from autocomp.simulator import SimulationResult, _core
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.rtl.laboratory import Laboratory, laboratory
from autocomp.targets.simulator.rtl.machine import RtlMachine, most_cycles
from autocomp.targets.simulator.rtl.model.build import RtlModel
from autocomp.targets.simulator.rtl.programs import random_program

SLACK = 8  # cycles that may differ whatever the bound: an end of a run is not a fraction of it
RESULTS, CYCLES, STOPPED = "results differ", "cycles differ", "the hardware stopped"


@dataclass(frozen=True)
class Comparison:
    """A program on both. `difference` says what is not the same, "" if all is within bounds; `detail` how."""

    name: str
    commands: int
    simulated: int
    measured: int
    difference: str = ""
    detail: str = ""
    case: str = ""  # the file of the shrunk program

    @property
    def error(self) -> float:
        """Relative error of the simulator, signed: simulated / measured - 1."""
        return self.simulated / self.measured - 1.0 if self.measured else 0.0

    @property
    def timed(self) -> bool:
        """True if the hardware came to the end with the same results, so that cycles can be compared."""
        return self.difference in ("", CYCLES)


class Deadline:
    """The end of a span of seconds that began when this was made; None: never."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def over(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end


NEVER = Deadline(None)


class Differential:
    """Compares programs of one machine. `bound` is the largest relative error of cycles that does not count as a
    mismatch."""

    def __init__(self, accelerator: Accelerator, model: RtlModel, bound: float) -> None:
        """Raises ConfigError when the model does not fit the accelerator."""
        self.lab: Laboratory = laboratory(accelerator)
        self.machine = RtlMachine(accelerator, self.lab.tables, model)
        self.bound = bound

    def random_programs(
        self, count: int, seed: int, length: int, cases: Path | None, deadline: Deadline = NEVER
    ) -> Iterator[Comparison]:
        """Compares `count` programs, or as many as begin before the deadline. A mismatch is given as it is; what it
        shrinks to by then is written into the folder `cases` if there is one."""
        for number in range(seed, seed + count):
            if deadline.over:
                return
            commands = random_program(self.lab, number, length)
            comparison = self._compare(f"random {number}", commands)
            if comparison is not None and comparison.difference and cases is not None:
                part = shrink(commands, partial(self._differs, kind=comparison.difference), deadline)
                shrunk = self._compare(comparison.name, part) or comparison
                yield replace(comparison, case=str(self._write(cases, number, part, shrunk)))
            elif comparison is not None:
                yield comparison

    def case(self, path: Path) -> Comparison:
        """Compares the program of a case's file. Raises KernelError or ConfigError for a file without a legal
        program."""
        result = self.lab.run_text(path.read_text(encoding="utf-8"))
        if result.error is not None or result.violations:
            message = result.error.message if result.error is not None else result.violations[0].message
            raise ConfigError(f"{path} is not a legal program of {self.machine.accelerator.full_name}: {message}")
        return self._judged(path.name, result)

    def _compare(self, name: str, commands: Sequence[str]) -> Comparison | None:
        """None for commands that the machine does not allow."""
        result = self.lab.legal(commands)
        return None if result is None else self._judged(name, result)

    def _differs(self, commands: Sequence[str], kind: str) -> bool:
        comparison = self._compare("", commands)
        return comparison is not None and comparison.difference == kind

    def _judged(self, name: str, result: SimulationResult) -> Comparison:
        assert isinstance(result.trace, _core.Trace)
        assert result.timing is not None
        simulated = result.timing.cycles
        measured = self.machine.run(result.trace, self.lab.tensors, most_cycles(simulated))
        comparison = Comparison(name, result.command_count, simulated, measured.run.cycles)
        if measured.run.status != "done":
            message = measured.run.message or f"still busy after {measured.run.cycles:,} cycles"
            return replace(comparison, difference=STOPPED, detail=message)
        for tensor, expected in result.outputs.items():
            got = measured.outputs[tensor]
            wrong = np.flatnonzero(got.view(np.uint8) != np.asarray(expected).view(np.uint8)) // got.itemsize
            if len(wrong):
                at = int(wrong[0])
                detail = f"{tensor}[{at}] is {got[at]}, the simulator says {expected[at]}; {len(set(wrong))} elements"
                return replace(comparison, difference=RESULTS, detail=detail)
        if abs(simulated - measured.run.cycles) > max(SLACK, self.bound * measured.run.cycles):
            detail = f"{measured.run.cycles:,} cycles, the simulator says {simulated:,} ({comparison.error:+.1%})"
            return replace(comparison, difference=CYCLES, detail=detail)
        return comparison

    def _write(self, folder: Path, number: int, commands: Sequence[str], comparison: Comparison) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"random-{number}.c"
        name = self.machine.accelerator.full_name
        comments = [
            f"{comparison.difference}: {comparison.detail}",
            f"autocomp fidelity {folder} --against rtl --accelerator {name} --random 0",
        ]
        path.write_text(self.lab.text(commands, comments), encoding="utf-8")
        return path


def shrink(commands: Sequence[str], fails: Callable[[Sequence[str]], bool], deadline: Deadline = NEVER) -> list[str]:
    """A part of the commands that still fails, and does not without any one of them (delta debugging: ever smaller
    runs of commands are left out as long as that fails too). At the deadline, what there is by then."""
    kept = list(commands)
    size = len(kept) // 2
    while size:
        start = 0
        while start < len(kept) and not deadline.over:
            part = kept[:start] + kept[start + size :]
            if fails(part):
                kept = part
            else:
                start += size
        size = min(size // 2, len(kept)) if size > 1 else 0
    while not deadline.over and any(fails(part := kept[:i] + kept[i + 1 :]) for i in range(len(kept))):
        kept = part
    return kept
