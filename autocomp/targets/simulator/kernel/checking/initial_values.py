"""Initial values of variables and arrays: lists in braces, as bytes that are there at first, or as stores."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from autocomp.targets.simulator.isa.formats import encode
from autocomp.targets.simulator.kernel.checking.expressions import Expressions
from autocomp.targets.simulator.kernel.checking.scope import Unit
from autocomp.targets.simulator.kernel.code.arithmetic import add_to_pointer, load
from autocomp.targets.simulator.kernel.code.bytecode import DTYPES, POINTER_SHIFT
from autocomp.targets.simulator.kernel.code.typed import Assign, Constant, Value
from autocomp.targets.simulator.kernel.code.types import (
    INT64,
    NARROW_FLOATS,
    Array,
    CType,
    Pointer,
    Scalar,
    element_of,
)
from autocomp.targets.simulator.kernel.syntax import ast

MAX_INITIAL_BYTES = 16 << 20
MAX_INITIAL_STORES = 65_536
_PACKED = dict(zip(DTYPES, "bBhHiIqQfdHHBB", strict=True))


class Element(NamedTuple):
    """The value of the element of an array that has a number, and the node that states it."""

    number: int
    value: Value
    node: ast.Expression


def single(initializer: ast.Expression) -> ast.Expression:
    """`{x}` initialises a scalar as `x` does."""
    if isinstance(initializer, ast.InitializerList) and len(initializer.values) == 1:
        return initializer.values[0]
    return initializer


def elements(
    unit: Unit, expressions: Expressions, node: ast.Expression, kind: CType, first: int = 0
) -> Iterator[Element]:
    """The elements that a braced initialiser states, those of `kind` from number `first` on; rows may be braced or
    left flat."""
    if not isinstance(kind, Array):
        value = expressions.value(single(node))
        yield Element(first, expressions.assigned(value, kind, node), node)
        return
    if not isinstance(node, ast.InitializerList):
        unit.fail(node, f"{kind} is initialised by a list in braces")
    flat = not any(isinstance(value, ast.InitializerList) for value in node.values)
    element = element_of(kind) if flat else kind.element
    step, count = element.size // element_of(kind).size, kind.size // element.size
    if len(node.values) > count:
        unit.fail(node.values[count], f"{kind} has {count} elements here; the list has {len(node.values)}")
    for position, value_node in enumerate(node.values):
        yield from elements(unit, expressions, value_node, element, first + position * step)


def packed(value: Constant, kind: Scalar) -> bytes:
    """The bytes of a constant in memory."""
    return struct.pack("<" + _PACKED[kind.dtype], _stored(value, kind))


def packed_array(unit: Unit, kind: Array, values: Sequence[Element], node: Any) -> bytes:
    """The bytes of an array whose elements are constants; 0 where none is stated."""
    element = element_of(kind)
    assert isinstance(element, Scalar)
    if kind.size > MAX_INITIAL_BYTES:
        unit.fail(node, f"an array with initial values may have at most {MAX_INITIAL_BYTES >> 20} MiB")
    buffer = bytearray(kind.size)
    for number, value, _ in values:
        assert isinstance(value, Constant)
        buffer[number * element.size : (number + 1) * element.size] = packed(value, element)
    return bytes(buffer)


def stores(unit: Unit, kind: Array, tensor: int, values: Sequence[Element], node: Any) -> Iterator[Assign]:
    """Stores of every element of an automatic array, which run whenever its declaration is reached. `tensor` is its
    number."""
    element = element_of(kind)
    assert isinstance(element, Scalar)
    count = kind.size // element.size
    if count > MAX_INITIAL_STORES:
        unit.fail(node, f"initialising {count} elements again and again is too much: make the array static")
    given = {number: value for number, value, _ in values}
    zero = Constant(element, 0.0 if element.floating else 0)
    base = Constant(Pointer(element), (tensor + 1) << POINTER_SHIFT)
    for number in range(count):
        target = load(add_to_pointer(base, Constant(INT64, number), element.size))
        yield Assign(element, target, given.get(number, zero))


def _stored(value: Constant, kind: Scalar) -> int | float:
    """A constant as struct.pack wants it: uint64_t as a non-negative number, floats of fewer bits as those."""
    if kind in NARROW_FLOATS:
        return encode(float(value.value), kind.dtype)
    if kind.floating:
        return value.value
    return int(value.value) & ((1 << 64) - 1) if not kind.signed else int(value.value)
