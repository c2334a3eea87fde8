"""Processes of this machine, as the kernel lists them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

LONGEST = 10  # seconds that the system takes to end a process


def descendants(pid: int) -> list[int]:
    """The processes that one has started, and those that these have."""
    children = [int(c) for task in Path(f"/proc/{pid}/task").iterdir() for c in (task / "children").read_text().split()]
    return children + [grandchild for child in children for grandchild in descendants(child)]


def ended(processes: Iterable[int]) -> bool:
    """True if all of them have ended, or end now."""
    deadline = time.monotonic() + LONGEST
    waiting = list(processes)
    while (waiting := [pid for pid in waiting if _alive(pid)]) and time.monotonic() < deadline:
        os.sched_yield()
    return not waiting


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
