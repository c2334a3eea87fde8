"""Machines are data: no accelerator's name appears in the program."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = {".py", ".pyi", ".cpp", ".hpp", ".lark", ".j2", ".txt", ".yaml"}


def test_no_accelerators_name_in_the_program() -> None:
    names = "|".join(path.stem for path in (ROOT / "isa").glob("*.isa"))
    files = [p for folder in ("autocomp", "simulator") for p in (ROOT / folder).rglob("*") if p.suffix in TEXT]
    assert len(files) > 50
    found = [p.relative_to(ROOT) for p in files if re.search(names, p.read_text("utf-8"), re.IGNORECASE)]
    assert found == []
