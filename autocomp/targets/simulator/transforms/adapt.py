"""Applies a transformation that was chosen for one kernel to one of another shape, or of a machine of another size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from autocomp.targets.simulator.kernel import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.protocol import Parameters, Transformation
from autocomp.targets.simulator.transforms.registry import transformation

_OTHER = 8.0  # distance of values that are no sizes: another choice is further away than any usual change of size


def adapted(facts: Facts, name: str, parameters: Parameters) -> tuple[Parameters, ast.Kernel]:
    """The parameters nearest to the given ones that apply here, and the rewritten kernel: the given ones themselves if
    they do, else those of the transformation's candidates in the order of their distance.

    Raises NotApplicable, for the reason that the given ones do not apply, where none does.
    """
    item = transformation(name)
    try:
        return parameters, item.apply(facts, parameters)
    except NotApplicable as error:
        reason = error
    candidates = [proposal.parameters for proposal in item.candidates(facts)]
    return _first(facts, item, sorted(candidates, key=lambda other: distance(parameters, other)), reason)


def chosen(facts: Facts, name: str) -> tuple[Parameters, ast.Kernel]:
    """The parameters that the transformation itself thinks best of those that apply here, and the rewritten kernel.

    Raises NotApplicable where none does, for the reason that the best one does not.
    """
    item = transformation(name)
    return _first(facts, item, [proposal.parameters for proposal in item.candidates(facts)])


def _first(
    facts: Facts, item: Transformation, candidates: Sequence[Parameters], reason: NotApplicable | None = None
) -> tuple[Parameters, ast.Kernel]:
    """The first candidate that applies. Raises `reason`, or that of the first one, where none does."""
    for candidate in candidates:
        try:
            return candidate, item.apply(facts, candidate)
        except NotApplicable as error:
            reason = reason or error
    raise reason or NotApplicable(f"{item.name} has nothing to propose here")


def distance(one: Any, other: Any) -> float:
    """How far apart two parameters are: the octaves between sizes, summed over mappings and lists; what only one of
    them has counts like another choice."""
    if one == other:
        return 0.0
    if _is_size(one) and _is_size(other):
        return octaves(one, other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        shared = one.keys() & other.keys()
        return sum(distance(one[key], other[key]) for key in shared) + _OTHER * len(one.keys() ^ other.keys())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        pairs = zip(one, other, strict=False)
        return sum(distance(a, b) for a, b in pairs) + _OTHER * abs(len(one) - len(other))
    return _OTHER


def octaves(one: float, other: float) -> float:
    """|log2| of the ratio, of both plus 1, so that 0 is a size."""
    return abs(math.log2((1 + abs(one)) / (1 + abs(other))))


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
