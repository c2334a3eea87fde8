"""Triton reads how it is to run when it is imported: before any test of this folder, say that there is no GPU."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("TRITON_INTERPRET", "1")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Modules that import torch at once are not read where their tests are not selected: it takes seconds."""
    if "not triton" not in config.option.markexpr or collection_path.suffix != ".py":
        return None
    return True if 'importorskip("torch"' in collection_path.read_text() else None
