"""Records that a search of seconds beats: found, and replaced by what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autocomp import workload as workloads
from autocomp.data import decode, read_regular
from autocomp.errors import AutocompError, ConfigError
from autocomp.schedules.fresh import fresh_record
from autocomp.schedules.record import ScheduleRecord, from_yaml
from autocomp.schedules.store import Warn
from autocomp.schedules.verify import workload_of
from autocomp.targets.protocol import Target
from autocomp.targets.registry import load_target
from autocomp.workload import Workload

BEATEN = 1.02  # times the value of what a short search finds: less is not worth a new record
FRESH = "fresh"
STALE = "stale"
UNKNOWN = "unknown"
AT_BOUND = f"no kernel is more than {BEATEN - 1:.0%} better: its bound says so"


@dataclass(frozen=True)
class Freshness:
    """A record compared with a short search: `gain` is how many times better the search's result is, and `found` its
    record where it beats the one in the file. `message` is the reason why there was no search."""

    path: Path
    outcome: str
    gain: float = 1.0
    found: ScheduleRecord | None = None
    message: str = ""


def freshness(
    path: Path, evaluations: int, warn: Warn, extra_paths: Sequence[Path] = (), say_trusted: bool = False
) -> Freshness:
    """Search for what the record in a file is a schedule for, by that many evaluations. The search begins with the
    nearest other schedules; the record itself takes no part. A record so near to its bound that nothing can beat it is
    fresh without a search. `extra_paths` and `say_trusted` are as in `verify`."""
    try:
        record = from_yaml(decode(read_regular(path), str(path), ConfigError), str(path))
        target = load_target(record.target.spec, record.target.parameters, extra_paths, say_trusted)
        workload = workloads.as_trusted(workload_of(record, target, path, extra_paths), say_trusted)
        workloads.require_trusted(workload)
        if _at_bound(record, target, workload):
            return Freshness(path, FRESH, message=AT_BOUND)
        fresh = fresh_record(workload, target, evaluations, warn)
    except (AutocompError, OSError) as error:
        return Freshness(path, UNKNOWN, message=getattr(error, "message", str(error)))
    gain = record.result.objective.gain(record.result.value, fresh.result.value)
    if gain <= BEATEN:
        return Freshness(path, FRESH, gain)
    return Freshness(path, STALE, gain, fresh)


def _at_bound(record: ScheduleRecord, target: Target, workload: Workload) -> bool:
    """True if no kernel can beat the record by enough, on the machine that it was measured on."""
    bound = target.bound(workload) if record.target.digest == target.digest else None
    return bound is not None and record.result.objective.within(record.result.value, bound.value, BEATEN)
