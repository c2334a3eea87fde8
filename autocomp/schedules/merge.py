"""Bringing libraries of schedules together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from autocomp.errors import ConfigError
from autocomp.schedules.index import Stored
from autocomp.schedules.record import ScheduleRecord
from autocomp.schedules.store import Store, Warn, record_at

Doubt = Callable[[Path], str | None]  # why a record's file is not to be copied, if so


@dataclass(frozen=True)
class Merged:
    """Numbers of records: those copied, those no better than the ones already there, and those in doubt."""

    copied: int
    left: int
    doubted: int = 0


def merge(sources: Sequence[Path], target: Path, warn: Warn, doubt: Doubt = lambda _: None) -> Merged:
    """Copy the records of the sources into the target as they are, with where they come from. Of the same identity the
    better one stays (`record.better`), whatever the order of the sources. Those that are corrupt, or that `doubt`
    speaks against, are named to `warn`.

    Raises ConfigError for a source that is not a folder.
    """
    for source in sources:
        if not source.is_dir():
            raise ConfigError(f"not a schedule folder: {source}")
    store = Store(target)
    counts = {"copied": 0, "left": 0, "doubted": 0}
    for source in sources:
        for entry in Store(source).entries(warn, renew=False):
            stored = Stored(source, entry)
            counts[_merged(store, stored, record_at(stored), warn, doubt)] += 1
    return Merged(**counts)


def _merged(store: Store, stored: Stored, record: ScheduleRecord, warn: Warn, doubt: Doubt) -> str:
    if not store.improved_by(record):
        return "left"
    reason = doubt(stored.path)
    if reason is not None:
        warn(f"left out {stored.path}: {reason}")
        return "doubted"
    return "copied" if store.put(record)[1] else "left"
