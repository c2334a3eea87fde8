"""Addresses in tensors and numbers of C's types, as they are known before a kernel runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from autocomp.isa.model import Accelerator
from autocomp.kernel import ast
from autocomp.transforms.affine import literal

Number = int | float
_SIZES = {"float": 4, "double": 8, "bool": 1, "int": 4, "size_t": 8, "int_fast32_t": 4}
_BITS: Mapping[str, tuple[int, bool]] = {
    **{f"{'u' * (not signed)}int{bits}_t": (bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False)},
    "int": (32, True),
    "size_t": (64, False),
    "int_fast32_t": (32, True),
}


@dataclass(frozen=True)
class Place:
    """An address inside a tensor: elements from its start, and the extents of what is addressed (none: one element)."""

    tensor: str
    offset: int
    extents: tuple[int, ...] = ()

    def at(self, index: int) -> Place:
        """What an index selects."""
        return Place(self.tensor, self.offset + index * prod(self.extents[1:]), self.extents[1:])


Value = Number | Place


class DependsOnData(Exception):
    """A value that only a run knows."""


def element_of(tensor: str, number: int, shape: tuple[int, ...]) -> ast.Expression:
    """`T[i][j]` of an element by its number in a tensor of a shape."""
    node: ast.Expression = ast.Name(tensor)
    for dimension in range(len(shape)):
        size = prod(shape[dimension + 1 :])
        node = ast.Index(node, literal(number // size))
        number %= size
    return node


def element_size(accelerator: Accelerator, kind: ast.Type) -> int:
    """Bytes of one element of a type."""
    name = accelerator.types.get(kind.name, kind.name)
    digits = "".join(character for character in name.removesuffix("_t") if character.isdigit())
    return 8 if kind.pointer else _SIZES.get(kind.name) or (int(digits) // 8 if digits else 4)


def converted(kind: ast.Type, value: Value) -> Value:
    """A value as a type holds it."""
    if isinstance(value, Place):
        if not kind.pointer:
            raise DependsOnData("an address as a number")
        return Place(value.tensor, value.offset, (1,))  # a pointer to elements, whatever they were part of
    if kind.name == "bool":
        return int(value != 0)
    if kind.name in _BITS and not kind.pointer:
        bits, signed = _BITS[kind.name]
        whole = int(value) & ((1 << bits) - 1)
        return whole - (1 << bits) if signed and whole >> (bits - 1) else whole
    return float(value) if kind.name in ("float", "double") else value


def constant(value: Number) -> ast.Expression:
    if isinstance(value, int):
        return literal(value)
    size = ast.FloatLiteral(abs(value), single=True, text=f"{abs(value)!r}f")
    return ast.Unary("-", size) if value < 0 else size
