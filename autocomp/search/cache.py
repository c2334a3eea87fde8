"""Verdicts on kernels, shared between the runs of a user: what was evaluated once is not evaluated again.

An entry's key is made of all that its verdict follows from. That is the target with its parameters, the workload, the
kernel's text (as lines are part of a verdict), the stages, and the code that evaluates. Entries are files of their own,
written whole: any number of processes may share a folder. An entry that is not as it was written is not an entry.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from autocomp.data import read_bytes, write_atomically
from autocomp.targets.protocol import Target
from autocomp.workload.model import Workload

LIMIT_BYTES = 512 * 1024 * 1024
KEPT_SHARE = 0.8  # of the limit, when entries have to go: those used longest ago

_WORKLOAD: TypeAdapter[Workload] = TypeAdapter(Workload)


class EvaluationCache:
    """The entries of one target and workload. `damaged` counts entries that were not as they were written, and
    `unwritten` those that could not be written: neither is more than a verdict to be made again."""

    def __init__(self, folder: Path, scope: str, limit: int = LIMIT_BYTES) -> None:
        self.folder = folder
        self.damaged = 0
        self.unwritten = 0
        self._scope = scope
        self._limit = limit

    def find(self, stages: str, kernel: str) -> dict[str, Any] | None:
        """The document kept for a kernel, by the digest of its text, or None."""
        path = self._path(stages, kernel)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        document = _decoded(content)
        if document is None:
            self.damaged += 1
            path.unlink(missing_ok=True)
            return None
        with contextlib.suppress(OSError):  # another process may have removed it, or another user own it
            os.utime(path)  # used now
        return document

    def keep(self, stages: str, kernel: str, document: Mapping[str, Any]) -> None:
        try:
            write_atomically(self._path(stages, kernel), _encoded(document), durable=False)
        except OSError:
            self.unwritten += 1

    def trim(self) -> None:
        """Remove the entries used longest ago, if all together take more than the limit."""
        entries: list[tuple[float, int, Path]] = []
        for path in self.folder.glob("*/*"):
            try:
                status = path.stat()
            except OSError:
                continue  # another process removed it
            entries.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in entries)
        if total <= self._limit:
            return
        for _, size, path in sorted(entries):
            if total <= self._limit * KEPT_SHARE:
                return
            path.unlink(missing_ok=True)
            total -= size

    def _path(self, stages: str, kernel: str) -> Path:
        key = hashlib.sha256(f"{self._scope}/{stages}/{kernel}".encode()).hexdigest()
        return self.folder / key[:2] / key[2:]


def scope_of(target: Target, workload: Workload, version: str) -> str:
    """All that a verdict follows from, besides the kernel and the stages; `version` is that of the judge."""
    described = _WORKLOAD.dump_python(workload, mode="json")
    for place in ("name", "path", "reference_source", "text", "files", "trusted"):
        described.pop(place, None)
    parts = [target.kind, target.digest, json.dumps(described, sort_keys=True), _reference(workload), version]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _reference(workload: Workload) -> str:
    """A digest of the user's own reference function, and of the modules beside it, which it may import."""
    if workload.reference_source is None:
        return ""
    path, function = workload.reference_source.rsplit(":", 1)
    digest = hashlib.sha256(f"{function}\0{workload.reference_text}".encode())
    for file in sorted(Path(path).parent.glob("*.py")):
        with contextlib.suppress(OSError):  # what cannot be read cannot be imported
            digest.update(file.name.encode() + b"\0" + read_bytes(file))
    return digest.hexdigest()


def _encoded(document: Mapping[str, Any]) -> bytes:
    content = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
    return hashlib.sha256(content).digest() + zlib.compress(content)


def _decoded(content: bytes) -> dict[str, Any] | None:
    """The decoded document, or None if these are not the bytes that were written."""
    try:
        text = zlib.decompress(content[32:])
        document = json.loads(text) if hashlib.sha256(text).digest() == content[:32] else None
    except (zlib.error, ValueError):
        return None
    return document if isinstance(document, dict) else None
