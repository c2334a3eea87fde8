"""Finding targets: each kind is an entry point of the group `autocomp.targets`, which any installed package may add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from autocomp.data import closest
from autocomp.errors import ConfigError
from autocomp.targets.evaluation import Number
from autocomp.targets.protocol import Target

GROUP = "autocomp.targets"


def kinds() -> tuple[str, ...]:
    """The kinds of targets that are installed, in alphabetical order."""
    return tuple(sorted(_found()))


def kind_of(name: str) -> type[Target]:
    """The class of a kind of target. Raises ConfigError where none of that name is installed or can be imported."""
    point = _found().get(name)
    if point is None:
        near = closest(name, kinds())
        hint = (f"did you mean {near!r}? " if near else "") + f"installed: {', '.join(kinds()) or 'none'}"
        raise ConfigError(f"unknown kind of target {name!r}", hint=hint)
    try:
        kind = point.load()
    except Exception as error:  # another package's code
        raise ConfigError(
            f"the target {name!r} ({point.value}) cannot be imported: {type(error).__name__}: {error}"
        ) from error
    if not (isinstance(kind, type) and issubclass(kind, Target)):
        raise ConfigError(f"the entry point {name!r} of {GROUP} names {point.value}, which is not a Target class")
    return kind


def load_target(
    spec: str, parameters: Mapping[str, Number] | None = None, paths: Sequence[Path] = (), trust: bool = False
) -> Target:
    """The target of a spec `KIND` or `KIND:MACHINE`; with `trust` programs that its files name may run. Raises
    ConfigError, or what the kind raises for its machines."""
    kind, colon, machine = spec.partition(":")
    if not colon and kind not in kinds() and closest(kind, kinds()) is None:
        hint = f"if it is a machine, write KIND:{kind}; installed kinds: {', '.join(kinds()) or 'none'}"
        raise ConfigError(f"unknown kind of target {kind!r}", hint=hint)
    return kind_of(kind).load(machine, parameters or {}, paths, trust)


def restore_target(kind: str, snapshot: Mapping[str, Any], trust: bool = False) -> Target:
    """The target that wrote a snapshot; with `trust` programs that it names may run. Raises ConfigError."""
    return kind_of(kind).restore(snapshot, trust)


@cache
def _found() -> Mapping[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}
