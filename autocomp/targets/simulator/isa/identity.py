"""The identity of a machine: digests of its meaning, without the words and the places of its description."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from typing import Any

from autocomp.targets.simulator.isa.model import Accelerator

# Fields that inform readers, and those that say where a model comes from: no kernel behaves differently for them.
_WORDS = {
    "doc",
    "message",
    "notes",
    "choices",
    "beyond",
    "absent",
    "energy_doc",
    "energy_notes",
    "area",
    "area_note",
    "unknowns",
}
_ORIGIN = {"source", "path", "place", "digest", "machine_digest", "configurations", "configuration"}
# What programs may call beside the machine.
_CALLED = frozenset({"library", "procedures"})
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def identified(accelerator: Accelerator) -> Accelerator:
    """An accelerator with its two digests: sha256, in hex, of all that kernels and judges can observe, and of the same
    without the procedures that a kernel may call or not.

    A field that has its default is left out, so that a new kind of declaration leaves the machines without it as they
    were.
    """
    alone = _digest(_meaning(accelerator, left_out=_CALLED))
    called = [_meaning(getattr(accelerator, name)) for name in sorted(_CALLED)]
    return replace(accelerator, digest=_digest([alone, called]), machine_digest=alone)


def _digest(meaning: Any) -> str:
    text = json.dumps(meaning, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _meaning(value: Any, left_out: frozenset[str] = frozenset()) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        told = [
            f
            for f in fields(value)
            if f.name not in _WORDS | _ORIGIN | left_out and not _is_default(f, getattr(value, f.name))
        ]
        parts = {f.name: _meaning(getattr(value, f.name)) for f in told}
        if isinstance(parts.get("text"), str):
            parts["text"] = " ".join(_COMMENT.sub(" ", parts["text"]).split())
        return [type(value).__name__, parts]
    if isinstance(value, Mapping):
        return {str(key): _meaning(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_meaning(item) for item in value]
    return value


def _is_default(field: Field[Any], value: Any) -> bool:
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    return default is not MISSING and bool(value == default)
