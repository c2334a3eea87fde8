"""The files that can go from a store of schedules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autocomp.schedules.index import Stored
from autocomp.schedules.record import better
from autocomp.schedules.store import Store, Warn, all_schedules, record_at

ABANDONED = 3600.0  # seconds after which a file that is being written is taken to be left behind by a crash


@dataclass(frozen=True)
class Garbage:
    """A file that can go, and why."""

    path: Path
    reason: str


def garbage(root: Path, others: Sequence[Path], now: float, warn: Warn) -> Iterator[Garbage]:
    """Files of a writer that did not finish, and records no better than another one of the same identity. That one is
    in the file of the record's own name, if the record is not in it, or in one of the stores `others`.

    `now` is seconds since the epoch. Corrupt records are named to `warn` and stay: only their owner knows their worth.
    """
    for file in sorted([*root.glob("**/.*.yaml.*"), *root.glob("**/.*.json.*")]):
        if now - file.stat().st_mtime > ABANDONED:
            yield Garbage(file, "unfinished file of an interrupted writer")
    present = {entry.path: Stored(root, entry) for entry in Store(root).entries(warn)}
    elsewhere = {s.entry.identity: s for s in all_schedules(warn, others)} if others else {}
    for here in present.values():
        record = record_at(here)
        proper = present.get(f"{record.folder}/{record.file_name}")
        for rival in (proper, elsewhere.get(here.entry.identity)):
            if rival is not None and rival != here and not better(record_at(rival), record):
                yield Garbage(here.path, f"no better than {rival.path}")
                break


def collect(root: Path, removable: Sequence[Garbage], warn: Warn) -> None:
    """Remove files, and the folders that this leaves empty; the index follows."""
    for item in removable:
        item.path.unlink(missing_ok=True)
    for folder in sorted({item.path.parent for item in removable}):
        while folder != root and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent
    Store(root).entries(warn)
