"""Look-up of schedules for compilers: exact, nearest or none. Needs the standard library alone."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from autocomp.errors import ConfigError
from autocomp.schedules.index import INDEX, Stored, default_roots, read_index
from autocomp.schedules.nearest import Point, build, nearest

FEW = 16  # variants that are searched one by one; of more, enough records agree for a search among all


@dataclass(frozen=True)
class Match:
    """A schedule found. `distance` is the sum over the dimensions of |log2(size / size of the record)|: 0 is exact.

    `expected_ratio`, the share of the bound, is the record's own: measured if exact, an estimate otherwise. The kernel
    of a match that is not exact is one to start from, not one for the shape asked for.
    """

    stored: Stored
    distance: float

    @property
    def exact(self) -> bool:
        return self.distance == 0

    @property
    def expected_ratio(self) -> float | None:
        return self.stored.entry.ratio


class Library:
    """Records by operation and machine; of the same identity the first of the best."""

    def __init__(self, stored: Iterable[Stored]) -> None:
        best: dict[str, Stored] = {}
        for item in stored:
            present = best.get(item.entry.identity)
            if present is None or item.entry.rank < present.entry.rank:
                best[item.entry.identity] = item
        members: dict[tuple[str, str, tuple[str, ...]], list[Stored]] = defaultdict(list)
        for item in best.values():
            members[item.entry.target, item.entry.operation, tuple(sorted(item.entry.dims))].append(item)
        self._families = {key: _Family(key[2], group) for key, group in members.items()}

    def lookup(
        self,
        operation: str,
        shape: Mapping[str, int],
        accelerator: str | None = None,
        *,
        target: str | None = None,
        options: Mapping[str, Any] | None = None,
        parameters: Mapping[str, int | float] | None = None,
    ) -> Match | None:
        """See `autocomp.schedules.lookup`."""
        wrong = {name: size for name, size in shape.items() if size < 1}
        if wrong:
            raise ConfigError(f"look-up of {operation}: sizes are at least 1, not {wrong}")
        family = self._families.get((_spec(accelerator, target), operation, tuple(sorted(shape))))
        if family is None:
            return None
        variants = family.variants(options or {}, parameters or {})
        exact = family.exact(shape, variants)
        if exact:
            _refuse_ambiguity(exact, operation)
            return Match(exact[0], 0.0)
        return family.nearest(shape, variants)


_Fact = tuple[str, str, Any]  # what a record states: option or parameter, its name, its value
_Member = tuple[int, Stored]  # a record behind the number of its variant


class _Family:
    """Records of one operation on one machine. Those of one variant have the same options and parameters, and differ in
    their sizes."""

    def __init__(self, names: tuple[str, ...], stored: Iterable[Stored]) -> None:
        self._names = names
        numbers: dict[frozenset[_Fact], int] = {}
        members: list[tuple[Point, _Member]] = []
        for item in stored:
            facts = frozenset(_facts(item.entry.options, item.entry.parameters))
            members.append((self._point(item.entry.dims), (numbers.setdefault(facts, len(numbers)), item)))
        self._at: dict[Point, list[_Member]] = defaultdict(list)
        of_variant: dict[int, list[tuple[Point, _Member]]] = defaultdict(list)
        for point, member in members:
            self._at[point].append(member)
            of_variant[member[0]].append((point, member))
        self._whole = build(members)
        self._trees = {number: build(group) for number, group in of_variant.items()}
        self._stating: dict[_Fact, set[int]] = defaultdict(set)
        for facts, number in numbers.items():
            for fact in facts:
                self._stating[fact].add(number)

    def variants(self, options: Mapping[str, Any], parameters: Mapping[str, int | float]) -> Set[int]:
        """Those that state all that is given."""
        stating = [self._stating.get(fact, set()) for fact in _facts(options, parameters)]
        return set.intersection(*sorted(stating, key=len)) if stating else self._trees.keys()

    def exact(self, shape: Mapping[str, int], variants: Set[int]) -> list[Stored]:
        return [item for number, item in self._at.get(self._point(shape), ()) if number in variants]

    def nearest(self, shape: Mapping[str, int], variants: Set[int]) -> Match | None:
        point = self._point(shape)
        if len(variants) > FEW:
            found = nearest((self._whole,), point, lambda member: member[0] in variants)
        else:
            found = nearest([self._trees[number] for number in sorted(variants)], point)
        return found and Match(found[1][1], found[0])

    def _point(self, dims: Mapping[str, int]) -> Point:
        return tuple(math.log2(max(1, dims[name])) for name in self._names)


def _facts(options: Mapping[str, Any], parameters: Mapping[str, int | float]) -> Iterator[_Fact]:
    for kind, values in (("option", options), ("parameter", parameters)):
        for name, value in values.items():
            yield kind, name, json.dumps(value, sort_keys=True) if isinstance(value, dict | list) else value


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
    accelerator: str | None = None,
    *,
    target: str | None = None,
    options: Mapping[str, Any] | None = None,
    parameters: Mapping[str, int | float] | None = None,
) -> Match | None:
    """The schedule for a shape in the user's store or the shipped one: exact, else the nearest, else None.

    `shape` gives the dimensions by name, as in `{"I": 512, "J": 512, "K": 512}`; `accelerator` is a name or
    `name:configuration`, short for the `target` `simulator:name`. `options` of the operation and `parameters` of the
    machine must equal the record's where they are given, and are not compared where they are not.

    Raises ConfigError where several records of this shape differ in what was not stated.
    """
    return _opened(tuple((root, _stamp(root)) for root in default_roots())).lookup(
        operation, shape, accelerator, target=target, options=options, parameters=parameters
    )


def _spec(accelerator: str | None, target: str | None) -> str:
    if (accelerator is None) == (target is None):
        raise ConfigError("a look-up needs either an accelerator or a target")
    return target or f"simulator:{accelerator}"


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
