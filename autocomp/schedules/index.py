"""The index of a store: a line a record, with all that a look-up needs. Needs the standard library alone."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autocomp.data import data_dir, decode, read_regular
from autocomp.errors import ConfigError

INDEX = "index.json"
MOST_BYTES = 1 << 26  # of an index: 10,000 records take some 5 MB
_KERNEL = "\nkernel: |\n"


@dataclass(frozen=True)
class Entry:
    """A record's line in the index; `path` is relative to the store's root, `sha256` that of the file's bytes."""

    path: str
    sha256: str
    target: str  # KIND:NAME
    parameters: dict[str, int | float]
    operation: str
    dims: dict[str, int]
    options: dict[str, Any]
    usual: list[str]  # the options with the value that a workload file may leave out
    value: int | float
    unit: str
    direction: str  # of better values: lower or higher
    ratio: float | None
    identity: str
    arguments: dict[str, Any] = field(default_factory=dict)  # options that the kernel takes at run time: usual values

    def options_as(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The options, with those that the kernel takes at run time as they are asked for."""
        return {**self.options, **{name: asked.get(name) for name in self.arguments}}

    @property
    def rank(self) -> int | float:
        """A key to sort records of one identity by: the best first."""
        return self.value if self.direction == "lower" else -self.value


@dataclass(frozen=True)
class Stored:
    """A record's place and summary."""

    root: Path
    entry: Entry

    @property
    def path(self) -> Path:
        return self.root / self.entry.path

    def text(self) -> str:
        """The record's file. Raises ConfigError if it is not the one that was indexed."""
        try:
            content = read_regular(self.path)
        except OSError as error:
            raise ConfigError(f"cannot read the schedule {self.path}: {error.strerror}", hint=_REBUILD) from error
        if hashlib.sha256(content).hexdigest() != self.entry.sha256:
            raise ConfigError(f"{self.path}: changed after it was indexed", hint=_REBUILD)
        return decode(content, str(self.path), ConfigError)

    def kernel(self) -> str:
        """The kernel's text."""
        text = self.text()
        _, separator, block = text.partition(_KERNEL)
        if separator:
            return "".join(line.removeprefix("  ") for line in block.splitlines(keepends=True))
        from autocomp.schedules.record import from_yaml  # a kernel that is not a literal block needs a YAML reader

        return from_yaml(text, str(self.path)).kernel


_REBUILD = "autocomp schedules list checks all files and rebuilds the index"


def read_index(root: Path) -> list[Entry] | None:
    """The entries of a store; None if it has no index, one of another version, or one that is not as it was written."""
    try:
        entries = [Entry(**entry) for entry in json.loads(read_regular(root / INDEX, MOST_BYTES).decode())]
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return entries if all(map(_well_formed, entries)) else None


def _well_formed(entry: Entry) -> bool:
    """True if the fields have their types and ranges, and the path leads to a file of the store."""
    texts = (entry.path, entry.sha256, entry.target, entry.operation, entry.unit, entry.identity)
    return (
        all(isinstance(text, str) for text in texts)
        and not {"..", ""} & set(entry.path.split("/"))
        and isinstance(entry.parameters, dict)
        and all(map(_number, (entry.value, *entry.parameters.values())))
        and (entry.ratio is None or _number(entry.ratio))
        and isinstance(entry.dims, dict)
        and all(type(size) is int for size in entry.dims.values())
        and isinstance(entry.options, dict)
        and isinstance(entry.usual, list)
        and all(isinstance(name, str) for name in entry.usual)
        and isinstance(entry.arguments, dict)
        and entry.arguments.keys() <= entry.options.keys()
        and entry.direction in ("lower", "higher")
        and entry.value > 0
    )


def _number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def index_text(entries: list[Entry]) -> str:
    """A JSON list with a line an entry, so that a change of one record is a change of one line."""
    lines = ",\n".join(json.dumps(vars(entry), sort_keys=True) for entry in entries)
    return f"[\n{lines}\n]\n" if entries else "[]\n"


def listed_roots() -> tuple[Path, ...]:
    """The folders that AUTOCOMP_SCHEDULES lists, as PATH does."""
    listed = os.environ.get("AUTOCOMP_SCHEDULES", "")
    return tuple(Path(folder).expanduser() for folder in listed.split(os.pathsep) if folder)


def user_root() -> Path:
    """Where new records go: the first folder of AUTOCOMP_SCHEDULES, else `./schedules` if there is one, else the user's
    data folder (XDG base directory specification)."""
    listed = listed_roots()
    if listed:
        return listed[0]
    local = Path.cwd() / "schedules"
    shared = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser()
    return local if local.is_dir() else shared / "autocomp" / "schedules"


def default_roots() -> tuple[Path, ...]:
    """The folders of AUTOCOMP_SCHEDULES, else the user's store; then the shipped one, unless
    AUTOCOMP_SHIPPED_SCHEDULES is 0."""
    shipped = () if os.environ.get("AUTOCOMP_SHIPPED_SCHEDULES") == "0" else (data_dir("schedules"),)
    roots = (*(listed_roots() or (user_root(),)), *shipped)
    return tuple(dict.fromkeys(root.resolve() for root in roots))
