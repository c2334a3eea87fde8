"""The files of one kind that are found by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autocomp.data import search_path


def named_files(kind: str, suffix: str, paths: Sequence[Path]) -> dict[str, Path]:
    """Name -> file; the first folder of the search path that has a name wins. Only folders called after their kind
    are listed: a working directory may hold anything."""
    files: dict[str, Path] = {}
    for folder in search_path(kind, paths):
        if folder.name == kind:
            for file in sorted(folder.glob(f"*{suffix}")):
                files.setdefault(file.stem, file)
    return files
