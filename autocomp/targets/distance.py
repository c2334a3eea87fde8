"""Distances between sizes, and between parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_OTHER = 8.0  # distance of values that are not sizes: another choice is further away than any usual change of size


def octaves(one: float, other: float) -> float:
    """|log2| of the ratio, of both plus 1, so that 0 is a size."""
    return abs(math.log2((1 + abs(one)) / (1 + abs(other))))


def distance(one: Any, other: Any) -> float:
    """The distance between two parameters: the octaves between sizes, summed over mappings and lists. A part that only
    one of them has counts like another choice."""
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


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
