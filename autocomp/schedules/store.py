"""The store of schedules: one file a record, `<root>/<accelerator>/<operation>/<sizes>-<identity>.yaml`.

A configuration of the accelerator stands behind a hyphen, as in `<root>/systolic-small/…`."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path

from autocomp.data import data_dir
from autocomp.errors import ConfigError, RunFolderError
from autocomp.schedules.record import ScheduleRecord, from_yaml, to_yaml
from autocomp.search.folder import write_atomically

INDEX = ".index.json"
Warn = Callable[[str], None]


@dataclass(frozen=True)
class Entry:
    """A record's line in the index; `path` is relative to the store's root."""

    path: str
    size: int
    modified: int  # nanoseconds, as the file system says
    accelerator: str
    operation: str
    dims: dict[str, int]
    cycles: int
    ratio: float
    identity: str


@dataclass(frozen=True)
class Stored:
    """A record's place and summary."""

    root: Path
    entry: Entry

    @property
    def path(self) -> Path:
        return self.root / self.entry.path

    def record(self) -> ScheduleRecord:
        return from_yaml(self.path.read_text(encoding="utf-8"), str(self.path))


class Store:
    """One folder of schedules. Files are the truth; the index only saves reading them all."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, record: ScheduleRecord) -> tuple[Path, bool]:
        """Keep a record; its path, and whether it was written: a record that is no faster than the one already there
        for the same machine description is not."""
        path = self.root / record.folder / record.file_name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with self._locked():
                if not self._improves(record, path):
                    return path, False
                write_atomically(path, to_yaml(record))
        except OSError as error:
            raise RunFolderError(
                f"cannot write the schedule {path}: {error.strerror}",
                hint="set AUTOCOMP_SCHEDULES to a writable folder",
            ) from error
        return path, True

    def entries(self, warn: Warn) -> list[Entry]:
        """All intact records in path order. Corrupt files are named to `warn` and left out."""
        indexed = {entry.path: entry for entry in self._index()}
        fresh: list[Entry] = []
        for file in sorted(self.root.glob("*/*/*.yaml")):
            name = file.relative_to(self.root).as_posix()
            status = file.stat()
            known = indexed.get(name)
            if known is None or (known.size, known.modified) != (status.st_size, status.st_mtime_ns):
                known = _read_entry(file, name, status, warn)
            if known is not None:
                fresh.append(known)
        if fresh != list(indexed.values()):
            self._write_index(fresh)
        return fresh

    def _improves(self, record: ScheduleRecord, path: Path) -> bool:
        if not path.exists():
            return True
        try:
            present = from_yaml(path.read_text(encoding="utf-8"), str(path))
        except (ConfigError, UnicodeDecodeError):
            return True  # a corrupt record is worth less than any
        return present.accelerator.digest != record.accelerator.digest or record.result.cycles < present.result.cycles

    def _index(self) -> list[Entry]:
        try:
            return [Entry(**entry) for entry in json.loads((self.root / INDEX).read_text(encoding="utf-8"))]
        except (OSError, ValueError, TypeError):
            return []  # no index, or one of another version: it is rebuilt from the files

    def _write_index(self, entries: Sequence[Entry]) -> None:
        if os.access(self.root, os.W_OK):
            write_atomically(self.root / INDEX, json.dumps([vars(entry) for entry in entries], indent=0) + "\n")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time, so that the faster of two records stays whichever comes first."""
        with (self.root / ".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _read_entry(file: Path, name: str, status: os.stat_result, warn: Warn) -> Entry | None:
    try:
        record = from_yaml(file.read_text(encoding="utf-8"), str(file))
    except (ConfigError, OSError, UnicodeDecodeError) as error:
        warn(f"left out a corrupt schedule: {error}")
        return None
    return Entry(
        path=name,
        size=status.st_size,
        modified=status.st_mtime_ns,
        accelerator=record.accelerator.name,
        operation=record.operation.name,
        dims=record.operation.dims,
        cycles=record.result.cycles,
        ratio=record.result.ratio,
        identity=record.identity,
    )


def user_root() -> Path:
    """Where new records go: AUTOCOMP_SCHEDULES, else `./schedules` if there is one, else the user's data folder."""
    listed = os.environ.get("AUTOCOMP_SCHEDULES")
    if listed:
        return Path(listed).expanduser()
    local = Path.cwd() / "schedules"
    return local if local.is_dir() else user_data_path("autocomp") / "schedules"


def all_schedules(warn: Warn, roots: Sequence[Path] | None = None) -> list[Stored]:
    """The user's records, then the shipped ones; of the same identity the faster, and the user's if equal."""
    best: dict[str, Stored] = {}
    for root in dict.fromkeys(r.resolve() for r in (roots or (user_root(), data_dir("schedules")))):
        for entry in Store(root).entries(warn):
            present = best.get(entry.identity)
            if present is None or entry.cycles < present.entry.cycles:
                best[entry.identity] = Stored(root, entry)
    return sorted(best.values(), key=lambda s: (s.entry.accelerator, s.entry.operation, s.entry.path))


def find(name: str, warn: Warn, roots: Sequence[Path] | None = None) -> Stored:
    """The one record a user means: a path, a file name, or the start of the file name or its identity."""
    stored = all_schedules(warn, roots)
    tail = Path(name).name
    whole = [s for s in stored if name in (str(s.path), s.entry.path) or tail in (s.path.name, s.path.stem)]
    begun = [s for s in stored if s.path.name.startswith(tail) or s.entry.identity.startswith(tail)]
    for matches in (whole, begun):
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise ConfigError(f"{name!r} means several schedules: {', '.join(s.entry.path for s in matches)}")
    raise ConfigError(
        f"no schedule called {name!r}", hint="known: " + (", ".join(s.entry.path for s in stored) or "none yet")
    )
