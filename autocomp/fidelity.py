"""How true the timing is: a folder of measured cases is replayed, and the error is stated per group.

A folder holds `cycles.csv` (case_id, group, description, command_count, mem_latency, cycles) and `traces/CASE.txt.gz`.
The cycles of a case are those of its last fence-delimited segment.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autocomp import isa
from autocomp.errors import ConfigError
from autocomp.isa.lower import MachineTables
from autocomp.isa.model import Accelerator
from autocomp.simulator import Options, replay_trace
from autocomp.trace import read_trace

LATENCY = "MEM_LATENCY"  # the parameter that a case's memory latency sets


@dataclass(frozen=True)
class Case:
    """A measured case, and what the simulator says of it; `predicted` is None when the trace cannot be replayed."""

    case_id: str
    group: str
    cycles: int
    predicted: int | None
    reason: str = ""

    @property
    def error(self) -> float | None:
        """Relative error, signed: predicted / measured - 1."""
        return None if self.predicted is None else self.predicted / self.cycles - 1.0


@dataclass(frozen=True)
class GroupError:
    """Absolute relative errors of a group: `mean`, 95th percentile, and the worst case by name."""

    group: str
    count: int
    unsupported: int
    mean: float
    p95: float
    worst: str
    worst_error: float


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
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error}", hint="give a folder with cycles.csv and traces/") from None
    needed = {"case_id", "group", "mem_latency", "cycles"}
    if not rows or not needed <= rows[0].keys():
        raise ConfigError(f"{path} lacks the columns {', '.join(sorted(needed))}")
    return rows


def _replay(folder: Path, row: Mapping[str, str], accelerator: Accelerator, tables: MachineTables) -> Case:
    text = read_trace(folder / "traces" / f"{row['case_id']}.txt.gz", accelerator, tables)
    cycles = int(row["cycles"])
    if text.unsupported:
        return Case(row["case_id"], row["group"], cycles, None, "has no " + ", ".join(sorted(text.unsupported)))
    result = replay_trace(tables.machine, text.trace, Options(record_commands=False))
    if result.error is not None or result.timing is None:
        reason = "no timing" if result.error is None else result.error.message
        return Case(row["case_id"], row["group"], cycles, None, reason)
    return Case(row["case_id"], row["group"], cycles, int(result.timing.segment_cycles[-1]))


def by_group(cases: Sequence[Case]) -> tuple[GroupError, ...]:
    """Errors of each group in alphabetical order, then of `all`; percentiles by the nearest rank."""
    groups = sorted({case.group for case in cases})
    table = [_group(name, [case for case in cases if case.group == name]) for name in groups]
    return (*table, _group("all", cases)) if table else ()


def _group(name: str, cases: Sequence[Case]) -> GroupError:
    errors = sorted((abs(case.error), case.case_id) for case in cases if case.error is not None)
    missing = len(cases) - len(errors)
    if not errors:
        return GroupError(name, 0, missing, 0.0, 0.0, "", 0.0)
    rank = max(0, -(-95 * len(errors) // 100) - 1)
    mean = sum(error for error, _ in errors) / len(errors)
    return GroupError(name, len(errors), missing, mean, errors[rank][0], errors[-1][1], errors[-1][0])
