"""Look-up of schedules for compilers: exact, nearest or none. Needs the standard library alone."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from autocomp.errors import ConfigError
from autocomp.schedules.arguments import bound
from autocomp.schedules.index import INDEX, Entry, Stored, default_roots, read_index
from autocomp.schedules.nearest import Point, build, nearest

FEW = 16  # variants that are searched one by one; of more, enough records agree for a search among all


@dataclass(frozen=True)
class Match:
    """A schedule found. `distance` is the sum over the dimensions of |log2(size / size of the record)|.

    `not_compared` are the options and parameters of the record that the question left open. A match is `exact` if its
    kernel computes what was asked for. The sizes are those, and each option left open has its usual value, as in a
    workload file that leaves it out; `assumed` are the options that do not.

    `shape` are the sizes asked for. `arguments` are the options that its kernel takes at run time, with the values
    asked for or else the usual ones; `kernel` is the kernel's text with them.

    `expected_ratio`, the share of the bound, is the record's own: measured if exact, an estimate otherwise. The kernel
    of a match that is not exact is one to start from, not one for the shape asked for.
    """

    stored: Stored
    distance: float
    not_compared: Mapping[str, Any] = field(default_factory=dict)
    assumed: Mapping[str, Any] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    shape: Mapping[str, int] = field(default_factory=dict)

    def kernel(self) -> str:
        """The kernel's text, with the values of its arguments."""
        entry = self.stored.entry
        return bound(self.stored.kernel(), {name: entry.options[name] for name in self.arguments}, self.arguments)

    @property
    def exact(self) -> bool:
        return self.distance == 0 and not self.assumed

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
        _require_sizes(operation, shape)
        family = self._families.get((_spec(accelerator, target), operation, tuple(sorted(shape))))
        if family is None:
            return None
        options, parameters = _as_kept(options or {}), parameters or {}
        variants = family.variants(options, parameters)
        _require_numbers(operation, options, family.arguments)
        exact = family.exact(shape, variants)
        usual = [item for item in exact if not _assumed(item, options)]
        if exact:
            _refuse_ambiguity(usual or exact, operation)
            best = min(usual or exact, key=lambda item: item.entry.rank)
            return _match(best, 0.0, options, parameters, shape)
        nearest_members = family.nearest(shape, variants, options)
        return nearest_members and _match(nearest_members[1], nearest_members[0], options, parameters, shape)

    def why_none(
        self,
        operation: str,
        shape: Mapping[str, int],
        accelerator: str | None = None,
        *,
        target: str | None = None,
        options: Mapping[str, Any] | None = None,
        parameters: Mapping[str, int | float] | None = None,
    ) -> str:
        """See `autocomp.schedules.why_none`."""
        machine = _spec(accelerator, target)
        machines = sorted({key[0] for key in self._families})
        if machine not in machines:
            return f"no schedule is for {machine}{_known_machine(machine, machines)}"
        operations = sorted({key[1] for key in self._families if key[0] == machine})
        if operation not in operations:
            return f"no schedule of {operation!r} is for {machine}{_known(operation, operations)}"
        names = sorted(key[2] for key in self._families if key[:2] == (machine, operation))
        family = self._families.get((machine, operation, tuple(sorted(shape))))
        if family is None:
            given, expected = ", ".join(sorted(shape)) or "none", " or ".join(", ".join(known) for known in names)
            return f"{operation} has the dimensions {expected}; the look-up gives {given}"
        options, parameters = _as_kept(options or {}), parameters or {}
        lacking = family.lacking(options, parameters)
        if lacking:
            return f"no schedule of {operation} for {machine} has {lacking}"
        if not family.variants(options, parameters):
            return f"no one schedule of {operation} for {machine} has all that the look-up states"
        return f"there is a schedule of {operation} for {machine}: the look-up finds it"


_Fact = tuple[str, str, Any]  # what a record states: option or parameter, its name, its value
_ANY = "any"  # the value of an option that is an argument of the kernel
_Member = tuple[int, Stored]  # a record behind the number of its variant


class _Family:
    """Records of one operation on one machine. Those of one variant have the same options and parameters, and differ in
    their sizes."""

    def __init__(self, names: tuple[str, ...], stored: Iterable[Stored]) -> None:
        self._names = names
        stored = list(stored)
        self.arguments = frozenset(name for item in stored for name in item.entry.arguments)
        numbers: dict[frozenset[_Fact], int] = {}
        self._unusual: dict[int, frozenset[str]] = {}
        self._usual_of: dict[frozenset[str], frozenset[int]] = {}
        members: list[tuple[Point, _Member]] = []
        for item in stored:
            options = {**item.entry.options, **dict.fromkeys(item.entry.arguments, _ANY)}
            facts = frozenset(_facts(options, item.entry.parameters))
            number = numbers.setdefault(facts, len(numbers))
            self._unusual[number] = frozenset(_assumed(item, {}))
            members.append((self._point(item.entry.dims), (number, item)))
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
        stating = [self._stating_of(fact) for fact in _facts(options, parameters)]
        return set.intersection(*sorted(stating, key=len)) if stating else self._trees.keys()

    def lacking(self, options: Mapping[str, Any], parameters: Mapping[str, int | float]) -> str:
        """The first stated fact that no record has, with the values that the records have. Empty if records have every
        fact."""
        for fact in _facts(options, parameters):
            if not self._stating_of(fact):
                kind, name, value = fact
                values = sorted({str(other[2]) for other in self._stating if other[:2] == (kind, name)})
                names = sorted({other[1] for other in self._stating if other[0] == kind})
                have = (
                    f"schedules have {', '.join(values)}" if values else f"no {kind} has that name{_known(name, names)}"
                )
                return f"the {kind} {name} = {value}; {have}"
        return ""

    def _stating_of(self, fact: _Fact) -> set[int]:
        """The variants with this fact, or with any value of the option."""
        stating = self._stating.get(fact, set())
        anything = self._stating.get((*fact[:2], _ANY))
        return stating | anything if anything else stating

    def exact(self, shape: Mapping[str, int], variants: Set[int]) -> list[Stored]:
        return [item for number, item in self._at.get(self._point(shape), ()) if number in variants]

    def nearest(
        self, shape: Mapping[str, int], variants: Set[int], options: Mapping[str, Any]
    ) -> tuple[float, Stored] | None:
        """Of equally near records one that computes what was asked for, options left open having their usual values."""
        point, usual = self._point(shape), self._usual(frozenset(options))
        found = self._nearest(point, variants)
        if found is not None and found[1][0] not in usual:
            other = self._nearest(point, variants & usual)
            found = other if other is not None and other[0] <= found[0] else found
        return found and (found[0], found[1][1])

    def _usual(self, stated: frozenset[str]) -> frozenset[int]:
        """The variants whose options all have their usual values, or are stated."""
        if stated not in self._usual_of:
            self._usual_of[stated] = frozenset(n for n, unusual in self._unusual.items() if unusual <= stated)
        return self._usual_of[stated]

    def _nearest(self, point: Point, variants: Set[int]) -> tuple[float, _Member] | None:
        if len(variants) > FEW:
            return nearest((self._whole,), point, lambda member: member[0] in variants)
        return nearest([self._trees[number] for number in sorted(variants)], point)

    def _point(self, dims: Mapping[str, int]) -> Point:
        return tuple(math.log2(max(1, dims[name])) for name in self._names)


def _facts(options: Mapping[str, Any], parameters: Mapping[str, int | float]) -> Iterator[_Fact]:
    for kind, values in (("option", options), ("parameter", parameters)):
        for name, value in values.items():
            yield kind, name, json.dumps(value, sort_keys=True) if isinstance(value, dict | list) else value


def _match(
    stored: Stored,
    distance: float,
    options: Mapping[str, Any],
    parameters: Mapping[str, int | float],
    shape: Mapping[str, int],
) -> Match:
    entry = stored.entry
    states = {**entry.parameters, **entry.options}
    not_compared = {name: value for name, value in states.items() if name not in options and name not in parameters}
    arguments = {name: options.get(name, usual) for name, usual in entry.arguments.items()}
    return Match(stored, distance, not_compared, _assumed(stored, options), arguments, dict(shape))


def _assumed(stored: Stored, options: Mapping[str, Any]) -> dict[str, Any]:
    """The record's options that were left open and do not have their usual values."""
    entry = stored.entry
    settled = {*options, *entry.usual, *entry.arguments}
    return {name: value for name, value in entry.options.items() if name not in settled}


def _known(name: str, names: Sequence[str]) -> str:
    """A hint for an unknown name: the closest known one, or else all of them."""
    near = get_close_matches(name, names, 1)
    return f"; did you mean {near[0]}?" if near else f"; known: {', '.join(names) or 'none yet'}"


def _known_machine(spec: str, specs: Sequence[str]) -> str:
    """As `_known`, by the names within the kind alone: what they have in common brings no two machines nearer."""
    kind, _, name = spec.partition(":")
    near = get_close_matches(name, [other.removeprefix(f"{kind}:") for other in specs], 1)
    return f"; did you mean {kind}:{near[0]}?" if near else f"; known: {', '.join(specs) or 'none yet'}"


def _require_sizes(operation: str, shape: Mapping[str, int]) -> None:
    sizes = {name: size for name, size in shape.items() if isinstance(size, Integral) and not isinstance(size, bool)}
    wrong = {name: size for name, size in shape.items() if name not in sizes or size < 1}
    if wrong:
        raise ConfigError(f"look-up of {operation}: sizes are whole numbers of at least 1, not {wrong}")


def _require_numbers(operation: str, options: Mapping[str, Any], names: Set[str]) -> None:
    """An option that kernels take at run time may have any value that C's float has."""
    for name in names & options.keys():
        value = options[name]
        if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
            raise ConfigError(f"look-up of {operation}: the option {name} is a finite number, not {value!r}")


def _refuse_ambiguity(exact: Sequence[Stored], operation: str) -> None:
    """Records of the same shape that compute something else, or on another machine, are not interchangeable. They may
    differ in what one of them takes at run time: then the others have the value asked for."""
    arguments = {name for item in exact for name in item.entry.arguments}
    if len({_meaning(item.entry, arguments) for item in exact}) > 1:
        paths = ", ".join(str(item.path) for item in exact)
        raise ConfigError(
            f"several schedules of {operation} have this shape: {paths}",
            hint="state the operation's options or the accelerator's parameters in which they differ",
        )


def _meaning(entry: Entry, arguments: Set[str]) -> str:
    options = {name: value for name, value in entry.options.items() if name not in arguments}
    return json.dumps([options, entry.parameters], sort_keys=True)


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
    machine must equal the record's where they are given. An option that is left open counts with its usual value: a
    record with another one is not an exact match, and the match says what it `assumed`.

    Raises ConfigError where several records of this shape differ in what was not stated.
    """
    return _opened(tuple((root, _stamp(root)) for root in default_roots())).lookup(
        operation, shape, accelerator, target=target, options=options, parameters=parameters
    )


def why_none(
    operation: str,
    shape: Mapping[str, int],
    accelerator: str | None = None,
    *,
    target: str | None = None,
    options: Mapping[str, Any] | None = None,
    parameters: Mapping[str, int | float] | None = None,
) -> str:
    """The reason in one sentence why `lookup` with the same arguments finds nothing, and what to ask for instead."""
    return _opened(tuple((root, _stamp(root)) for root in default_roots())).why_none(
        operation, shape, accelerator, target=target, options=options, parameters=parameters
    )


def _as_kept(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as records have them: numbers for each side or direction are one number where they are equal."""
    several = {name: list(value) for name, value in options.items() if isinstance(value, list | tuple)}
    return {
        **options,
        **{name: values if len(set(values)) > 1 else values[0] for name, values in several.items() if values},
    }


def _spec(accelerator: str | None, target: str | None) -> str:
    if (accelerator is None) == (target is None):
        raise ConfigError("a look-up needs either an accelerator or a target")
    return target or f"simulator:{accelerator}"


def _stamp(root: Path) -> tuple[int, int] | None:
    """A stamp that changes when an index is written anew; None if the index cannot be read."""
    try:
        status = (root / INDEX).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino


@lru_cache(maxsize=4)
def _opened(roots: tuple[tuple[Path, tuple[int, int] | None], ...]) -> Library:
    return Library(Stored(root, entry) for root, _ in roots for entry in read_index(root) or ())
