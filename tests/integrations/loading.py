"""The examples under `integrations`, which are files to copy and no packages."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "integrations"


def load(folder: str, name: str) -> Any:
    """The module `integrations/folder/name.py`, which others of its folder find by its name."""
    found = importlib.util.spec_from_file_location(name, FOLDER / folder / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    found.loader.exec_module(module)
    return module
