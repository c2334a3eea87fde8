"""The version of the judge: a verdict holds for the version that gave it."""

from __future__ import annotations

import hashlib
import importlib
from functools import cache
from pathlib import Path

import numpy as np

from autocomp.targets.simulator.isa.model import Accelerator

JUDGES = (
    "autocomp.simulator",
    "autocomp.targets.simulator.isa",
    "autocomp.targets.simulator.kernel",
    "autocomp.workload",
    "autocomp.targets.simulator.evaluate",
)


def version_on(accelerator: Accelerator) -> str:
    """sha256 of the code that judges, and of a machine with the procedures that kernels call by name alone."""
    return hashlib.sha256(f"{code_version()} {accelerator.digest}".encode()).hexdigest()


@cache
def code_version() -> str:
    """sha256 of the native core and of the Python code that evaluates, with numpy's version."""
    digest = hashlib.sha256(np.__version__.encode())
    core = importlib.import_module("autocomp.simulator._core").__file__
    files = [Path(core)] if core else []
    for name in JUDGES:
        for folder in importlib.import_module(name).__path__:
            files += sorted(file for file in Path(folder).rglob("*") if file.suffix in (".py", ".lark"))
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
