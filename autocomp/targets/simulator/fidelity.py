"""The accuracy of the timing: a folder of measured cases is replayed, and the error is stated per group.

A folder holds `cycles.csv` (case_id, group, description, command_count, mem_latency, cycles) and `traces/CASE.txt.gz`.
The cycles of a case are those of its last fence-delimited segment. A case whose trace is missing or cannot be replayed
is counted, with the reason, and left out of the errors.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autocomp.data import decode, read_bytes
from autocomp.errors import AutocompError, ConfigError
from autocomp.simulator import SimulationOptions, replay_trace
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.lowering.lower import MachineTables
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.trace import read_trace

LATENCY = "MEM_LATENCY"  # the parameter that a case's memory latency sets
GROUPS = {
    "a": "moves in",
    "b": "weight-stationary compute",
    "c": "output-stationary compute",
    "d": "moves out",
    "e": "overlap and conflicts",
    "f": "dependency chains",
    "g": "queue limits",
    "h": "whole GEMMs",
    "i": "hardware loops",
    "j": "corner cases",
    "k": "slow hosts",
    "t": "small whole programs",
}
SCHEDULES = frozenset("hi")  # the groups whose cases are schedules of the same work, of which the faster is to be found


@dataclass(frozen=True)
class Case:
    """A measured case, and what the simulator says of it; `predicted` is None where its trace cannot be replayed, for a
    `reason`."""

    case_id: str
    group: str
    cycles: int
    mem_latency: int
    predicted: int | None = None
    reason: str = ""

    @property
    def error(self) -> float | None:
        """Relative error, signed: predicted / measured - 1."""
        return None if self.predicted is None else self.predicted / self.cycles - 1.0


@dataclass(frozen=True)
class GroupError:
    """Cases whose cycles are `exact`, and absolute relative errors of a group: `mean`, 95th percentile, and the worst
    case by name."""

    group: str
    count: int
    unsupported: int
    exact: int
    mean: float
    p95: float
    worst: str
    worst_error: float

    @property
    def name(self) -> str:
        """The group in words."""
        return GROUPS.get(self.group, self.group)


def measure(
    folder: Path, accelerator: str | Path, names: Sequence[str] = (), extra_paths: Sequence[Path] = ()
) -> Iterator[Case]:
    """Replays the cases of a folder, or only those of `names`.

    Raises ConfigError when the folder is not one of measured cases.
    """
    machines: dict[int, tuple[Accelerator, MachineTables]] = {}
    for row in _rows(folder):
        if names and row["case_id"] not in names:
            continue
        latency = int(row["mem_latency"])
        if latency not in machines:
            machine = isa.load(accelerator, {LATENCY: latency}, extra_paths)
            machines[latency] = (machine, isa.lower(machine))
        yield _replay(folder, row, *machines[latency])


def _rows(folder: Path) -> list[dict[str, str]]:
    path = folder / "cycles.csv"
    try:
        text = decode(read_bytes(path), str(path), ConfigError)
        rows = list(csv.DictReader(text.splitlines()))
    except (OSError, csv.Error) as error:
        raise ConfigError(f"{path} cannot be read: {error}", hint="give a folder with cycles.csv and traces/") from None
    needed = {"case_id", "group", "mem_latency", "cycles"}
    if not rows or not needed <= rows[0].keys():
        raise ConfigError(f"{path} lacks the columns {', '.join(sorted(needed))}")
    for line, row in enumerate(rows, 2):
        if not re.fullmatch(r"[\w.+-]{1,200}", row["case_id"] or ""):
            raise ConfigError(f"{path}: row {line}: case_id is {row['case_id']!r:.80}; expected the name of a file")
        for column, least in (("mem_latency", 0), ("cycles", 1)):
            text = row[column] or ""
            if not re.fullmatch("[0-9]{1,18}", text) or int(text) < least:
                raise ConfigError(f"{path}: row {line}: {column} is {text!r}; expected a whole number from {least}")
    return rows


def trace_path(folder: Path, case_id: str) -> Path:
    """Where the trace of a case lies."""
    return folder / "traces" / f"{case_id}.txt.gz"


def _replay(folder: Path, row: Mapping[str, str], accelerator: Accelerator, tables: MachineTables) -> Case:
    case = Case(row["case_id"], row["group"], int(row["cycles"]), int(row["mem_latency"]))
    path = trace_path(folder, case.case_id)
    if not path.is_file():
        return replace(case, reason="its trace is missing")
    try:
        text = read_trace(path, accelerator, tables)
    except AutocompError as error:
        return replace(case, reason=str(error).strip().splitlines()[-1].strip())
    if text.unsupported:
        return replace(case, reason=f"unknown commands: {text.unknown()}")
    result = replay_trace(tables.machine, text.trace, SimulationOptions(record_commands=False))
    if result.error is not None or result.timing is None or not result.timing.segment_cycles:
        return replace(case, reason="it was not timed" if result.error is None else result.error.message)
    return replace(case, predicted=int(result.timing.segment_cycles[-1]))


def by_group(cases: Sequence[Case]) -> tuple[GroupError, ...]:
    """Errors of each group in alphabetical order, then of `all`; percentiles by the nearest rank."""
    groups = sorted({case.group for case in cases})
    table = [_group(name, [case for case in cases if case.group == name]) for name in groups]
    return (*table, _group("all", cases)) if table else ()


def _group(name: str, cases: Sequence[Case]) -> GroupError:
    errors = sorted((abs(case.error), case.case_id) for case in cases if case.error is not None)
    missing = len(cases) - len(errors)
    if not errors:
        return GroupError(name, 0, missing, 0, 0.0, 0.0, "", 0.0)
    rank = max(0, -(-95 * len(errors) // 100) - 1)
    mean = sum(error for error, _ in errors) / len(errors)
    exact = sum(error == 0 for error, _ in errors)
    return GroupError(name, len(errors), missing, exact, mean, errors[rank][0], errors[-1][1], errors[-1][0])


def rank_correlation(cases: Sequence[Case]) -> float | None:
    """Spearman's rank correlation of predicted and measured cycles over the GEMM schedules; None below two of them."""
    chosen = [case for case in cases if case.group in SCHEDULES and case.predicted is not None]
    measured = _ranks([case.cycles for case in chosen])
    predicted = _ranks([case.predicted or 0 for case in chosen])
    spread = math.sqrt(sum(x * x for x in measured) * sum(y * y for y in predicted))
    return sum(x * y for x, y in zip(measured, predicted, strict=True)) / spread if spread else None


def _ranks(values: Sequence[int]) -> list[float]:
    """Ranks around their mean; equal values share theirs."""
    places = sorted(values)
    middle = (len(values) - 1) / 2
    return [places.index(value) + (places.count(value) - 1) / 2 - middle for value in values]


def not_replayed(cases: Sequence[Case]) -> dict[str, int]:
    """The reasons for cases without a replay: reason -> number of cases, most frequent first."""
    return dict(Counter(case.reason for case in cases if case.predicted is None).most_common())
