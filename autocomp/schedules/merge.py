"""Bringing libraries of schedules together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autocomp.errors import ConfigError
from autocomp.schedules.index import Stored
from autocomp.schedules.store import Store, Warn, record_at


@dataclass(frozen=True)
class Merged:
    """How many records were copied, and how many were no better than what was there."""

    copied: int
    left: int


def merge(sources: Sequence[Path], target: Path, warn: Warn) -> Merged:
    """Copy the records of the sources into the target as they are, with where they come from. Of the same identity the
    better one stays (`record.better`), whatever the order of the sources. Corrupt ones are named to `warn`.

    Raises ConfigError for a source that is no folder.
    """
    for source in sources:
        if not source.is_dir():
            raise ConfigError(f"{source} is no folder of schedules")
    store = Store(target)
    written = [
        store.put(record_at(Stored(source, entry)))[1] for source in sources for entry in Store(source).entries(warn)
    ]
    return Merged(sum(written), len(written) - sum(written))
