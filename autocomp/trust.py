"""The permissions that this user gave to files: code that may run, and run folders that they began themselves.

A file is known by the sha256 of its content, so that what changes is asked about again. The list is a text file in the
user's own configuration folder, a line a file: the digest, what it is for, and where it was seen.
"""

from __future__ import annotations

import contextlib
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Literal

from autocomp.data import config_folder, data_dir, read_bytes
from autocomp.errors import ConfigError

Kind = Literal["code", "run"]


def is_trusted(kind: Kind, content: bytes) -> bool:
    """True if the user said so, or the content is that of a file that ships with the package."""
    digest = _digest(content)
    return (kind == "code" and digest in _shipped()) or f"{digest} {kind}" in _listed()


def trust(kind: Kind, content: bytes, seen: str) -> None:
    """Remember a content for good; `seen` says where it was. Raises ConfigError where the list cannot be written."""
    if is_trusted(kind, content):
        return
    path = _path()
    line = f"{_digest(content)} {kind} {' '.join(seen.split())}\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(line)
    except OSError as error:
        raise ConfigError(
            f"cannot write {path}: {error.strerror}", hint="set AUTOCOMP_CONFIG to a writable folder"
        ) from error


def _listed() -> set[str]:
    with contextlib.suppress(FileNotFoundError):
        lines = _path().read_text(encoding="utf-8", errors="replace").splitlines()
        return {" ".join(line.split()[:2]) for line in lines}
    return set()


@lru_cache(maxsize=1)
def _shipped() -> frozenset[str]:
    """The digests of the references that ship."""
    return frozenset(_digest(read_bytes(file)) for file in data_dir("workloads").glob("*.py"))


def _path() -> Path:
    return config_folder() / "trusted"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
