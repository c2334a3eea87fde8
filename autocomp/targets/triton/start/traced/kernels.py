"""The kernels of a module. Layers that compute the same share one, which is launched with their tensors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autocomp.targets.triton.start.traced.values import Scope

ASSIGNED = re.compile(r"^\s*(?:for )?(\w+) (?:in|[-+*]?=) ", re.MULTILINE)
WORD = re.compile(r"(?<![\w.])[a-zA-Z_]\w*(?!\w|=[^=])")  # neither an attribute nor the name of an argument


@dataclass(frozen=True)
class Kernel:
    """A kernel's lines, the memory it fills, and its launch: the grid, sizes of blocks, and descriptors by name."""

    scope: Scope
    lines: Sequence[str]
    grid: str
    blocks: Mapping[str, str]
    numbers: Mapping[str, str] = field(default_factory=dict)
    descriptors: Mapping[str, str] = field(default_factory=dict)


class Kernels:
    """Texts of kernels, each with a name of its own."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._names: dict[tuple[object, ...], str] = {}
        self._taken: set[str] = set()

    def name_of(self, word: str, given: Sequence[str], constants: Sequence[str], body: str, sizes: object) -> str:
        """The name of the kernel with a body, parameters that are `given` at run time and `constants`. Kernels that
        differ in names alone are one, if they are launched for the same `sizes`."""
        key = (unnamed([*given, *constants], body), sizes)
        if key not in self._names:
            name = word if word not in self._taken else f"{word}_{len(self.texts) + 1}"
            self._taken.add(name)
            self._names[key] = name
            parameters = ", ".join([*given, *(f"{constant}: tl.constexpr" for constant in constants)])
            self.texts.append(f"@triton.jit\ndef {name}({parameters}):\n{body}\n")
        return self._names[key]


def unnamed(parameters: Sequence[str], body: str) -> str:
    """A body with its parameters and variables numbered in the order in which they come."""
    own = {*parameters, *ASSIGNED.findall(body)}
    numbers = {name: f"v{at}" for at, name in enumerate(parameters)}

    def numbered(match: re.Match[str]) -> str:
        word = match[0]
        return numbers.setdefault(word, f"v{len(numbers)}") if word in own else word

    return WORD.sub(numbered, body)
