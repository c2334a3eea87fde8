"""The run folder: a snapshot of what was asked for, the kernels by digest, the event log, and a lock."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from pydantic_core import from_json

from autocomp.data import check_regular, read_regular, write_atomically
from autocomp.errors import RunFolderError
from autocomp.search.log.exchanges import Exchanges

FORMAT = 2
MOST_BYTES = 1 << 24  # of what a run was asked
SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,16}")  # of kernels; a stranger's folder states it, and it becomes a part of paths


class RunFolder:
    """Paths and files of a run. Kernels are stored by the sha256 of their text, before any event names them, with the
    suffix of their language."""

    def __init__(self, path: Path, suffix: str = ".c") -> None:
        self.path = path
        self.suffix = suffix

    @property
    def config(self) -> Path:
        return self.path / "config.json"

    @property
    def events(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def best_kernel(self) -> Path:
        return self.path / f"best{self.suffix}"

    @property
    def exchanges(self) -> Exchanges:
        """The requests to models, and their answers."""
        return Exchanges(self.path / "exchanges")

    @property
    def findings(self) -> Path:
        return self.path / "findings.md"

    @classmethod
    def create(cls, path: Path, snapshot: Mapping[str, Any]) -> RunFolder:
        """A new run folder; the folder may exist if it is empty, or if making it was interrupted."""
        if os.path.exists(path) and not path.is_dir():
            raise RunFolderError(f"{path} is a file, and a run needs a folder", hint="choose another --run-dir")
        if os.path.exists(path) and not _is_blank(path):
            raise RunFolderError(
                f"{path} already exists",
                hint=f"continue it with: autocomp resume {shlex.quote(str(path))}, or choose another --run-dir",
            )
        try:
            write_atomically(cls(path).config, json.dumps({"format": FORMAT, **snapshot}, indent=1) + "\n")
        except OSError as error:
            raise RunFolderError(f"cannot write to {path}: {error.strerror}") from error
        return cls(path, _suffix(snapshot))

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        return cls(path, _suffix(cls(path).snapshot()))

    def snapshot(self) -> dict[str, Any]:
        """The request that the run was started with."""
        file = self.config
        try:
            snapshot = from_json(read_regular(file, MOST_BYTES), allow_inf_nan=False)
        except OSError as error:
            raise RunFolderError(
                f"{self.path} is not a run folder: {_missing(self.path, error)}",
                hint="give the folder that `autocomp search` printed, such as runs/20260131-120000-gemm",
            ) from error
        except ValueError as error:
            raise RunFolderError(f"{file} is not valid JSON: {error}") from error
        if not isinstance(snapshot, dict) or snapshot.get("format") != FORMAT:
            version = snapshot.get("format") if isinstance(snapshot, dict) else type(snapshot).__name__
            raise RunFolderError(
                f"{file} has format {version!r}; this version reads format {FORMAT}",
                hint="another version of autocomp wrote it, and that version reads it. Its kernels are plain text: a"
                f" new search can start from one, with `kernel: {self.path}/best.c` in the workload",
            )
        return snapshot

    def store_kernel(self, text: str) -> str:
        """Keep a kernel's text; its digest."""
        digest = hashlib.sha256(text.encode()).hexdigest()
        file = self.kernel_path(digest)
        if not file.exists():
            write_atomically(file, text)
        return digest

    def kernel(self, digest: str) -> str:
        file = self.kernel_path(digest)
        try:
            data = read_regular(file)
        except OSError as error:
            raise RunFolderError(f"kernel {digest} is missing from {self.path}: {error.strerror}") from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise RunFolderError(f"{file} was changed after it was stored")
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise RunFolderError(f"{file} is not UTF-8 text: {error.reason}") from None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run for one writer; the lock goes with the process, however that ends."""
        with self._lock() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.seek(0)
                holder = lock.read().strip()
                who = f" (process {holder})" if holder else ""
                raise RunFolderError(f"{self.path} is in use by another search{who}") from None
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            yield

    def _lock(self) -> TextIO:
        file = self.path / "lock"
        try:
            check_regular(file, writes=True)
            return file.open("a+")
        except OSError as error:
            raise RunFolderError(f"cannot lock {file}: {error.strerror}") from error

    def kernel_path(self, digest: str) -> Path:
        """The file of a kernel. Raises RunFolderError where the folder of kernels lies elsewhere."""
        folder = self.path / "kernels"
        if folder.is_symlink():
            raise RunFolderError(f"{folder} is a link; expected the run's own folder of kernels")
        return folder / f"{digest}{self.suffix}"


def _suffix(snapshot: Mapping[str, Any]) -> str:
    """The suffix of the kernels' language; folders of earlier versions, which do not state it, have kernels in C."""
    target = snapshot.get("target")
    stated = target.get("suffix", ".c") if isinstance(target, dict) else ".c"
    if not (isinstance(stated, str) and SUFFIX.fullmatch(stated)):
        raise RunFolderError(f"invalid suffix of kernels {stated!r}", hint="expected a dot, then letters or digits")
    return stated


def _missing(path: Path, error: OSError) -> str:
    if os.path.exists(path):
        return f"cannot read config.json ({error.strerror})" if os.path.isdir(path) else "that is a file"
    return "there is no such folder"


def _is_blank(path: Path) -> bool:
    return all(entry.name.startswith(".config.json.") for entry in path.iterdir())


def new_run_path(parent: Path, name: str, now: datetime) -> Path:
    """A new, empty folder below `parent`, of which no other search that begins now gets hold: time stamp, name, and a
    number if need be."""
    stem = f"{now:%Y%m%d-%H%M%S}-{name}"
    number = 1
    while True:
        path = parent / (stem if number == 1 else f"{stem}-{number}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            number += 1
        except OSError as error:
            raise RunFolderError(f"cannot make {path}: {error.strerror}", hint="name a folder: --run-dir") from error
        else:
            return path
