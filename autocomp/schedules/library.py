"""Look-up of schedules for compilers: exact, nearest or none. Needs the standard library alone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from autocomp.errors import ConfigError
from autocomp.schedules.index import INDEX, Stored, default_roots, read_index
from autocomp.schedules.nearest import Point, build, nearest


@dataclass(frozen=True)
class Match:
    """A schedule found. `distance` is the sum over the dimensions of |log2(size / size of the record)|: 0 is exact.

    `expected_ratio` to the lower bound is the record's own: measured if exact, an estimate otherwise. The kernel of a
    match that is not exact is one to start from, not one for the shape asked for.
    """

    stored: Stored
    distance: float

    @property
    def exact(self) -> bool:
        return self.distance == 0

    @property
    def expected_ratio(self) -> float:
        return self.stored.entry.ratio


class Library:
    """Records indexed by operation and shape; of the same identity the first of the fastest."""

    def __init__(self, stored: Iterable[Stored]) -> None:
        best: dict[str, Stored] = {}
        for item in stored:
            present = best.get(item.entry.identity)
            if present is None or item.entry.cycles < present.entry.cycles:
                best[item.entry.identity] = item
        self._exact: dict[tuple[Any, ...], list[Stored]] = defaultdict(list)
        members: dict[tuple[Any, ...], list[tuple[Point, Stored]]] = defaultdict(list)
        for item in best.values():
            entry = item.entry
            names = tuple(sorted(entry.dims))
            self._exact[entry.accelerator, entry.operation, tuple(sorted(entry.dims.items()))].append(item)
            point = tuple(math.log2(max(1, entry.dims[name])) for name in names)
            members[entry.accelerator, entry.operation, names].append((point, item))
        self._trees = {key: build(group) for key, group in members.items()}

    def lookup(
        self,
        operation: str,
        shape: Mapping[str, int],
        accelerator: str,
        *,
        options: Mapping[str, Any] | None = None,
        parameters: Mapping[str, int | float] | None = None,
    ) -> Match | None:
        """See `autocomp.schedules.lookup`."""
        wrong = {name: size for name, size in shape.items() if size < 1}
        if wrong:
            raise ConfigError(f"look-up of {operation}: sizes are at least 1, not {wrong}")
        options, parameters = options or {}, parameters or {}
        key = (accelerator, operation, tuple(sorted(shape.items())))
        exact = [item for item in self._exact.get(key, ()) if _agrees(item, options, parameters)]
        if exact:
            _refuse_ambiguity(exact, operation)
            return Match(exact[0], 0.0)
        return self._nearest(operation, shape, accelerator, options, parameters)

    def _nearest(
        self,
        operation: str,
        shape: Mapping[str, int],
        accelerator: str,
        options: Mapping[str, Any],
        parameters: Mapping[str, int | float],
    ) -> Match | None:
        names = tuple(sorted(shape))
        tree = self._trees.get((accelerator, operation, names))
        if tree is None:
            return None
        point = tuple(math.log2(shape[name]) for name in names)
        found = nearest(tree, point, lambda item: _agrees(item, options, parameters))
        return found and Match(found[1], found[0])


def _agrees(item: Stored, options: Mapping[str, Any], parameters: Mapping[str, int | float]) -> bool:
    entry = item.entry
    return all(name in entry.options and entry.options[name] == value for name, value in options.items()) and all(
        name in entry.parameters and entry.parameters[name] == value for name, value in parameters.items()
    )


def _refuse_ambiguity(exact: Sequence[Stored], operation: str) -> None:
    """Records of the same shape that compute something else, or on another machine, are not interchangeable."""
    if len(exact) > 1:
        paths = ", ".join(str(item.path) for item in exact)
        raise ConfigError(
            f"several schedules of {operation} have this shape: {paths}",
            hint="state the operation's options or the accelerator's parameters in which they differ",
        )


def lookup(
    operation: str,
    shape: Mapping[str, int],
    accelerator: str,
    *,
    options: Mapping[str, Any] | None = None,
    parameters: Mapping[str, int | float] | None = None,
) -> Match | None:
    """The schedule for a shape in the user's store or the shipped one: exact, else the nearest, else None.

    `shape` gives the dimensions by name, as in `{"I": 512, "J": 512, "K": 512}`; `accelerator` is a name or
    `name:configuration`. `options` of the operation and `parameters` of the accelerator must equal the record's where
    they are given, and are not compared where they are not.

    Raises ConfigError where several records of this shape differ in what was not stated.
    """
    return _opened(tuple((root, _stamp(root)) for root in default_roots())).lookup(
        operation, shape, accelerator, options=options, parameters=parameters
    )


def _stamp(root: Path) -> tuple[int, int] | None:
    """What changes when an index is written anew."""
    try:
        status = (root / INDEX).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino


@lru_cache(maxsize=4)
def _opened(roots: tuple[tuple[Path, tuple[int, int] | None], ...]) -> Library:
    return Library(Stored(root, entry) for root, _ in roots for entry in read_index(root) or ())
