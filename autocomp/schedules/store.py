"""The store of schedules: one file a record, `<root>/<accelerator>/<operation>/<sizes>-<identity>.yaml`.

A hyphen separates the accelerator and its configuration, as in `<root>/systolic-small/…`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from filelock import FileLock

from autocomp.data import check_regular, closest, decode, listing, read_regular, write_atomically
from autocomp.errors import ConfigError, RunFolderError
from autocomp.schedules.index import INDEX, Entry, Stored, default_roots, index_text, read_index, user_root
from autocomp.schedules.record import Operation, RecordedTarget, ScheduleRecord, better, from_yaml, to_yaml
from autocomp.workload.schema import usual_options

__all__ = ["Store", "all_schedules", "as_fast", "find", "of_sizes", "record_at", "user_root"]

Warn = Callable[[str], None]


def record_at(stored: Stored) -> ScheduleRecord:
    """The record of a file that is still the indexed one."""
    return from_yaml(stored.text(), str(stored.path))


class Store:
    """One folder of schedules. Files are the truth; the index only saves reading them all."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def improved_by(self, record: ScheduleRecord) -> bool:
        """True if `put` would write the record now."""
        return self._improves(record, self.root / record.folder / record.file_name)

    def put(self, record: ScheduleRecord) -> tuple[Path, bool]:
        """Keep a record; its path, and whether it was written: a record that is no better than the one already there is
        not."""
        path = self.root / record.folder / record.file_name
        with self.writing(path):
            if not self._improves(record, path):
                return path, False
            self._write(record, path)
        return path, True

    def require_writable(self) -> None:
        """Raises RunFolderError where no record can be put: before the work that makes one, not after it."""
        with self.writing(self.root / INDEX):
            pass

    def renew(self, old: Path, record: ScheduleRecord) -> Path:
        """Put a record in the place of what is in the file `old`, whatever that is worth; its path, which is another
        one if the machine has other parameters now."""
        path = self.root / record.folder / record.file_name
        with self.writing(path):
            self._write(record, path, replaced=old)
            if old != path:
                old.unlink(missing_ok=True)
        return path

    def files(self) -> list[Path]:
        """All files that may be records, corrupt ones too."""
        return sorted(self.root.glob("*/*/*.yaml"))

    def entries(self, warn: Warn, *, renew: bool = True) -> list[Entry]:
        """All intact records in path order. Corrupt files are named to `warn` and left out. With `renew` an index that
        is not of today is written anew; a folder of somebody else's is only read."""
        writable = renew and self.root.is_dir() and os.access(self.root, os.W_OK)
        with self._locked() if writable else nullcontext():
            present = read_index(self.root)
            by_content = {(entry.path, entry.sha256): entry for entry in present or ()}
            fresh = []
            for file in self.files():
                entry = _read_entry(file, file.relative_to(self.root).as_posix(), by_content, warn)
                if entry is not None:
                    fresh.append(entry)
            if writable and fresh != present:
                write_atomically(self.root / INDEX, index_text(fresh))
        return fresh

    def _improves(self, record: ScheduleRecord, path: Path) -> bool:
        if not path.exists():
            return True
        try:
            present = from_yaml(decode(read_regular(path), str(path), ConfigError), str(path))
        except (ConfigError, OSError):
            return True  # a corrupt record is worth less than any
        return better(present, record)

    def _write(self, record: ScheduleRecord, path: Path, replaced: Path | None = None) -> None:
        text = to_yaml(record)
        write_atomically(path, text)
        gone = {file.relative_to(self.root).as_posix() for file in (path, replaced) if file is not None}
        self._index(_entry(record, path.relative_to(self.root).as_posix(), text.encode()), gone)

    def _index(self, entry: Entry, gone: Container[str]) -> None:
        """Enter a record into the index, without the entries that are `gone`; files that an index does not have yet
        enter with the next listing."""
        others = [present for present in read_index(self.root) or () if present.path not in gone]
        write_atomically(self.root / INDEX, index_text(sorted([*others, entry], key=lambda e: e.path)))

    @contextmanager
    def writing(self, path: Path) -> Iterator[None]:
        """Hold the store for one writer of a file in it. Raises RunFolderError where it cannot be written."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with self._locked():
                yield
        except OSError as error:
            raise RunFolderError(
                f"cannot write {path}: {error.strerror}",
                hint="begin AUTOCOMP_SCHEDULES with a writable folder",
            ) from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time, so that the faster of two records stays whichever comes first."""
        path = self.root / ".lock"
        check_regular(path, writes=True)
        with FileLock(path):
            yield


def _read_entry(file: Path, name: str, known: dict[tuple[str, str], Entry], warn: Warn) -> Entry | None:
    try:
        content = read_regular(file)
        entry = known.get((name, hashlib.sha256(content).hexdigest()))
        return entry or _entry(from_yaml(decode(content, str(file), ConfigError), str(file)), name, content)
    except (ConfigError, OSError) as error:
        named = str(error) if str(file) in str(error) else f"{file}: {error}"
        warn(f"left out a corrupt schedule: {named}")
        return None


def _entry(record: ScheduleRecord, name: str, content: bytes) -> Entry:
    usual = usual_options(record.operation.name)
    options = record.operation.options
    return Entry(
        path=name,
        sha256=hashlib.sha256(content).hexdigest(),
        target=record.target.spec,
        parameters=record.target.parameters,
        operation=record.operation.name,
        dims=record.operation.dims,
        options=options,
        usual=sorted(name for name in options if name in usual and options[name] == usual[name]),
        value=record.result.value,
        unit=record.result.objective.unit,
        direction=record.result.objective.direction,
        ratio=record.result.ratio,
        identity=record.identity,
        arguments={name: usual.get(name) for name in record.operation.arguments},
    )


def of_sizes(target: RecordedTarget, operation: Operation, warn: Warn) -> Iterator[Stored]:
    """The schedules, in any of the stores, of a kind of machine for an operation of these sizes."""
    for stored in all_schedules(warn, default_roots()):
        entry = stored.entry
        if (entry.target, entry.operation, entry.dims) == (target.spec, operation.name, operation.dims):
            yield stored


def as_fast(record: ScheduleRecord, warn: Warn) -> Path | None:
    """The file of another schedule, in any of the stores, that computes the same on the same machine as fast: such
    as one that takes at run time what this one has as a constant."""
    operation, target, objective = record.operation, record.target, record.result.objective
    for stored in of_sizes(target, operation, warn):
        known = record_at(stored)
        if known.identity == record.identity or (known.target, known.result.objective) != (target, objective):
            continue
        serves = known.operation.computes(operation) and set(operation.arguments) <= set(known.operation.arguments)
        if serves and objective.rank(known.result.value) <= objective.rank(record.result.value):
            return stored.path
    return None


def all_schedules(warn: Warn, roots: Sequence[Path] | None = None) -> list[Stored]:
    """The user's records, then the shipped ones; of the same identity the better, and the user's if equal."""
    best: dict[str, Stored] = {}
    for root in dict.fromkeys(root.resolve() for root in roots or default_roots()):
        for entry in Store(root).entries(warn):
            present = best.get(entry.identity)
            if present is None or entry.rank < present.entry.rank:
                best[entry.identity] = Stored(root, entry)
    return sorted(best.values(), key=lambda s: (s.entry.target, s.entry.operation, s.entry.path))


def find(name: str, warn: Warn, roots: Sequence[Path] | None = None) -> Stored:
    """The one record a user means: a path, a file name, or the start of its path, of its file name or its identity."""
    stored = all_schedules(warn, roots)
    tail = Path(name).name
    for matches in (
        [s for s in stored if name in (str(s.path), s.entry.path)],
        [s for s in stored if tail in (s.path.name, s.path.stem)],
        [s for s in stored if s.entry.path.startswith(name)],
        [s for s in stored if s.path.name.startswith(tail) or s.entry.identity.startswith(tail)],
    ):
        if len(matches) == 1:
            return matches[0]
        if matches:
            paths = [s.entry.path for s in matches]
            raise ConfigError(
                f"{name!r} means several schedules: {listing(paths)}",
                hint=f"give more of its path, such as {paths[0]!r}",
            )
    near = closest(tail, [s.path.stem for s in stored])
    guess = f"did you mean {near!r}? " if near else ""
    raise ConfigError(
        f"no schedule named {name!r}",
        hint=f"{guess}known: {listing([s.entry.path for s in stored])}; `autocomp schedules list` has all",
    )
