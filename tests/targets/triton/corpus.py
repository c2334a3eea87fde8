"""The kernels that cheat, each with the stage that refuses it and words of the reason, from comments at its top."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "cheats"


@dataclass(frozen=True)
class Cheat:
    name: str
    text: str
    operation: str
    dtype: str
    stage: str
    reason: str


def cheats() -> list[Cheat]:
    return [_read(path) for path in sorted(FOLDER.glob("*.py"))]


def _read(path: Path) -> Cheat:
    text = path.read_text(encoding="utf-8")
    task = re.search(r"^# operation: (\w+) (\w+)$", text, re.MULTILINE)
    refused = re.search(r"^# refused: (\w+): (.+)$", text, re.MULTILINE)
    assert task is not None, f"{path}: no operation"
    assert refused is not None, f"{path}: no stage and reason"
    return Cheat(path.stem, text, task[1], task[2], refused[1], refused[2])
