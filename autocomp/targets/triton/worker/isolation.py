"""Limits of a candidate process: no network where the system lets it give that up, bounded files and processor time."""

from __future__ import annotations

import ctypes
import os
import resource

CLONE_NEWNET = 0x40000000
CLONE_NEWUSER = 0x10000000


def isolate(limits: dict[str, int]) -> list[str]:
    """Apply the limits; the names of those that hold. `file_bytes` bounds each file, `cpu_seconds` the processor time,
    `data_bytes` the memory of its own."""
    held = []
    for name, kind in (
        ("file_bytes", resource.RLIMIT_FSIZE),
        ("cpu_seconds", resource.RLIMIT_CPU),
        ("data_bytes", resource.RLIMIT_DATA),
    ):
        if limits.get(name):
            try:
                resource.setrlimit(kind, (limits[name], limits[name]))
                held.append(name)
            except (OSError, ValueError):
                continue
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if limits.get("network") == 0 and _without_network():
        held.append("network")
    return held


def _without_network() -> bool:
    """Move to a network namespace that has no interfaces. Needs a privilege, or user namespaces."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        user = os.getuid()
        flags = CLONE_NEWNET if user == 0 else CLONE_NEWUSER | CLONE_NEWNET
        return bool(library.unshare(flags) == 0)
    except (AttributeError, OSError):
        return False
