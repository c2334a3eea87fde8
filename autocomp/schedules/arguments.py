"""Options that a kernel takes at run time: its text has their values as numbers, where any other value may stand.

Needs the standard library alone.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping

_NUMBER = re.compile(r"(?<![\w.])(?:(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)[fF]?(?![\w.])")


def binary32(value: float) -> float:
    """The value as a float of C has it."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def is_number(text: str, value: float) -> bool:
    """True if a number in a kernel's text equals this value, both rounded to binary32."""
    return binary32(float(text.rstrip("fF"))) == binary32(value)


def has_number(kernel: str, value: float) -> bool:
    return any(is_number(match.group(), value) for match in _NUMBER.finditer(kernel))


def bound(kernel: str, present: Mapping[str, float], wanted: Mapping[str, float]) -> str:
    """The kernel with the `wanted` values of its arguments where its text has the `present` ones; both are by name."""
    changed = {name: value for name, value in wanted.items() if binary32(value) != binary32(present[name])}

    def written(places: re.Match[str]) -> str:
        for name, value in changed.items():
            if is_number(places.group(), present[name]):
                return c_float(value)
        return places.group()

    return _NUMBER.sub(written, kernel) if changed else kernel


def c_float(value: float) -> str:
    """A number of type float in C, equal to the value as binary32; a negative one is in parentheses."""
    text = repr(binary32(value)) + "f"
    return text if value >= 0 else f"({text})"
