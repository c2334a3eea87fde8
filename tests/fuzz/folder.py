"""The folder that readers of files work in."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path


@cache
def folder() -> Path:
    """A folder that is emptied at the end, in memory where that is possible."""
    shared = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="autocomp-fuzz-", dir=shared if shared.is_dir() else None))


def from_file(name: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """Readers of paths: the data goes into a file of this name."""

    def reader(data: bytes) -> object:
        path = folder() / name
        path.write_bytes(data)
        return read(path)

    return reader
