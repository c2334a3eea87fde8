"""Typed expressions: what the checker makes of the syntax tree and the emitter turns into bytecode.

Integers are kept as they lie in a register: the value for types below 64 bits, the two's complement bit pattern read as
int64 for uint64_t and pointers. Named tuples, since thousands are made for every kernel a search looks at.
"""

from __future__ import annotations

from typing import NamedTuple

from autocomp.targets.simulator.kernel.code.bytecode import Code, Service
from autocomp.targets.simulator.kernel.code.types import CType, Pointer, Scalar

INT64_LOW, INT64_HIGH = -(1 << 63), (1 << 63) - 1


class Constant(NamedTuple):
    type: CType
    value: int | float


class Address(NamedTuple):
    """A fixed address that a cast made a number. Where tensors lie is not known: only offsets fold into it."""

    type: CType
    value: int


class Variable(NamedTuple):
    """A register of the function; `low` and `high` bound what it can hold here."""

    type: CType
    slot: int
    low: int
    high: int


class Load(NamedTuple):
    """An element in DRAM, `offset` bytes after a pointer."""

    type: CType
    pointer: Value
    offset: int


class Operation(NamedTuple):
    """A bytecode of one or two operands. The register may hold any of low..high, which need not fit the type yet."""

    type: CType
    code: Code
    left: Value
    right: Value | None
    low: int
    high: int


class Narrow(NamedTuple):
    """The operand cut to the width of an integer type and extended again."""

    type: Scalar
    operand: Value


class Logical(NamedTuple):
    type: CType
    conjunction: bool
    left: Value
    right: Value


class Select(NamedTuple):
    type: CType
    condition: Value
    then: Value
    otherwise: Value


class Assign(NamedTuple):
    """Stores `value`, already of the target's type; the expression's value is what was stored."""

    type: CType
    target: Variable | Load
    value: Value


class Sequence(NamedTuple):
    """Evaluates `effects` in order, then `value`."""

    type: CType
    effects: tuple[Value, ...]
    value: Value


class Check(NamedTuple):
    """Ends the run with the unit's message number `message` if `assigned` is 0: a variable has no value yet, or
    one that is not allowed."""

    type: CType
    assigned: Variable
    message: int


class FunctionCall(NamedTuple):
    type: CType
    function: int
    arguments: tuple[Value, ...]


class Issue(NamedTuple):
    """Accelerator instruction number `instruction` of the description."""

    type: CType
    instruction: int
    arguments: tuple[Value, ...]
    line: int


class HostCall(NamedTuple):
    type: CType
    builtin: int
    arguments: tuple[Value, ...]
    line: int


class SystemCall(NamedTuple):
    """A service that a whole program asks the host's system for; gives an integer."""

    type: CType
    service: Service
    arguments: tuple[Value, ...]


Value = (
    Constant
    | Address
    | Variable
    | Load
    | Operation
    | Narrow
    | Logical
    | Select
    | Assign
    | Sequence
    | Check
    | FunctionCall
    | Issue
    | HostCall
    | SystemCall
)


def bounds(value: Value) -> tuple[int, int]:
    """The least and greatest integer that the register of an integer or pointer expression can hold."""
    if isinstance(value, Constant):
        number = int(value.value)
        return number, number
    if isinstance(value, Variable | Operation):
        return value.low, value.high
    if isinstance(value, Select):
        (a, b), (c, d) = bounds(value.then), bounds(value.otherwise)
        return min(a, c), max(b, d)
    return range_of(value.type)


def range_of(kind: CType) -> tuple[int, int]:
    """The least and greatest integer that a register of this type can hold."""
    if isinstance(kind, Scalar) and not kind.floating and kind.bits < 64:
        return kind.low, kind.high
    return INT64_LOW, INT64_HIGH


def is_pure(value: Value) -> bool:
    """True where evaluating the expression twice, or not at all, is the same as once, short of a failing access."""
    if isinstance(value, Constant | Address | Variable):
        return True
    if isinstance(value, Operation):
        return is_pure(value.left) and (value.right is None or is_pure(value.right))
    if isinstance(value, Narrow):
        return is_pure(value.operand)
    if isinstance(value, Logical):
        return is_pure(value.left) and is_pure(value.right)
    if isinstance(value, Select):
        return is_pure(value.condition) and is_pure(value.then) and is_pure(value.otherwise)
    return False


def is_null(value: Value) -> bool:
    return isinstance(value, Constant) and value.value == 0 and not isinstance(value.value, float)


def is_fixed_address(value: Value) -> bool:
    """True of a fixed address, as a pointer or as a number."""
    return isinstance(value, Address) or (
        isinstance(value, Constant) and isinstance(value.type, Pointer) and value.value != 0
    )
