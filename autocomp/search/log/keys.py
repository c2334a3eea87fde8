"""Keys of the events in a run's log: the one place that makes and reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "grant": (),
    "entropy": (),
    "replay": (),
    "select": ("number",),
    "plan": ("step", "parent"),
    "code": ("step", "candidate"),
    "repair": ("step", "candidate"),
    "turn": ("number",),
    "tools": ("number",),
    "evaluate": ("kernel",),
    "prove": ("kernel",),
    "measure": ("number",),
    "candidate": ("candidate",),
    "verdict": ("candidate",),
    "step": ("number",),
    "expired": (),
    "routine": (),
    "condition": ("name",),
    "stop": (),
}


def key_of(kind: str, *parts: int | str) -> str:
    """The key of an event, as in `plan/3/7`. Raises ValueError for other parts than those of the kind."""
    if len(parts) != len(PARTS[kind]):
        raise ValueError(f"the key of {kind!r} has the parts {PARTS[kind]}, got {parts}")
    return "/".join((kind, *map(str, parts)))


def form_of(kind: str) -> str:
    """The form of the keys of a kind, as in `plan/<step>/<parent>`."""
    return "/".join((kind, *(f"<{part}>" for part in PARTS[kind])))


def is_key(kind: str, key: str) -> bool:
    """True if a key has the form that its kind demands: all parts, of which the last is free text. Any key that begins
    with its name fits a kind that this version does not know."""
    if kind not in PARTS:
        return key == kind or key.startswith(f"{kind}/")
    begin, *parts = key.split("/", len(PARTS[kind])) if PARTS[kind] else [key]
    return begin == kind and len(parts) == len(PARTS[kind]) and all(parts)
