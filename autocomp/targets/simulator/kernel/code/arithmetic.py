"""C's arithmetic over typed expressions: conversions, operators, folding of constants, and no needless narrowing.

Operators that only depend on the low bits of their operands (+ - * & | ^ << ~ and negation) are computed in 64 bits
over operands that are not narrowed yet. One narrowing at the end is enough, and none where the bounds show a fit.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping

from autocomp.targets.simulator.kernel.code.bytecode import Code, tensor_number
from autocomp.targets.simulator.kernel.code.typed import (
    INT64_HIGH,
    INT64_LOW,
    Address,
    Constant,
    Load,
    Narrow,
    Operation,
    Select,
    Value,
    bounds,
    is_fixed_address,
    is_pure,
)
from autocomp.targets.simulator.kernel.code.types import (
    BOOL,
    FLOAT,
    INT,
    INT64,
    UINT64,
    CType,
    Pointer,
    Scalar,
    common,
    promote,
)

_MASK = (1 << 64) - 1


def register(value: int) -> int:
    """An integer as its low 64 bits lie in a register."""
    return ((value + (1 << 63)) & _MASK) - (1 << 63)


def quotient(a: int, b: int) -> int:
    """Rounded towards 0, as C's."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def to_float32(value: float) -> float:
    """The nearest binary32, as a Python float; overflow gives an infinity."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _float_divide(a: float, b: float) -> float:
    if b != 0:
        return a / b
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)


def _to_int(value: float) -> int:
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return INT64_HIGH if value > 0 else INT64_LOW
    return min(max(int(value), INT64_LOW), INT64_HIGH)


_FOLD: Mapping[Code, Callable[..., int | float]] = {
    Code.Add: lambda a, b: register(a + b),
    Code.Sub: lambda a, b: register(a - b),
    Code.Mul: lambda a, b: register(a * b),
    Code.Div: lambda a, b: register(quotient(a, b)),
    Code.Mod: lambda a, b: register(a - b * quotient(a, b)),
    Code.DivU: lambda a, b: register((a & _MASK) // (b & _MASK)),
    Code.ModU: lambda a, b: register((a & _MASK) % (b & _MASK)),
    Code.And: lambda a, b: a & b,
    Code.Or: lambda a, b: a | b,
    Code.Xor: lambda a, b: a ^ b,
    Code.Shl: lambda a, b: register(a << (b & 63)),
    Code.Shr: lambda a, b: a >> (b & 63),
    Code.ShrU: lambda a, b: register((a & _MASK) >> (b & 63)),
    Code.Neg: lambda a: register(-a),
    Code.BitNot: lambda a: ~a,
    Code.LogicalNot: lambda a: int(a == 0),
    Code.Eq: lambda a, b: int(a == b),
    Code.Ne: lambda a, b: int(a != b),
    Code.Lt: lambda a, b: int(a < b),
    Code.Le: lambda a, b: int(a <= b),
    Code.LtU: lambda a, b: int((a & _MASK) < (b & _MASK)),
    Code.LeU: lambda a, b: int((a & _MASK) <= (b & _MASK)),
    Code.FAdd: lambda a, b: a + b,
    Code.FSub: lambda a, b: a - b,
    Code.FMul: lambda a, b: a * b,
    Code.FDiv: _float_divide,
    Code.FNeg: lambda a: -a,
    Code.FEq: lambda a, b: int(a == b),
    Code.FNe: lambda a, b: int(a != b),
    Code.FLt: lambda a, b: int(a < b),
    Code.FLe: lambda a, b: int(a <= b),
    Code.ToBool: lambda a: int(a != 0),
    Code.IntToFloat: float,
    Code.UIntToFloat: lambda a: float(a & _MASK),
    Code.FloatToInt: _to_int,
    Code.ToF32: to_float32,
}
_DIVISIONS = frozenset({Code.Div, Code.Mod, Code.DivU, Code.ModU})
_TESTS = frozenset(
    {Code.Eq, Code.Ne, Code.Lt, Code.Le, Code.LtU, Code.LeU, Code.FEq, Code.FNe, Code.FLt, Code.FLe}
    | {Code.LogicalNot, Code.ToBool}
)
RING = {"+": Code.Add, "-": Code.Sub, "*": Code.Mul, "&": Code.And, "|": Code.Or, "^": Code.Xor}
_DIVIDE = {
    ("/", False): Code.Div,
    ("/", True): Code.DivU,
    ("%", False): Code.Mod,
    ("%", True): Code.ModU,
}
_FLOATING = {"+": Code.FAdd, "-": Code.FSub, "*": Code.FMul, "/": Code.FDiv}
_COMPARE = {"==": "Eq", "!=": "Ne", "<": "Lt", "<=": "Le", ">": "Lt", ">=": "Le"}


def operation(kind: CType, code: Code, left: Value, right: Value | None = None) -> Value:
    """One bytecode, folded where its operands are constants and left out where it changes nothing."""
    if type(left) is Constant and (right is None or type(right) is Constant):
        if right is None:
            return Constant(kind, _FOLD[code](left.value))
        if code not in _DIVISIONS or right.value != 0:
            number = _FOLD[code](left.value, right.value)
            if not isinstance(kind, Pointer) or _same_tensor(int(left.value), int(number)):
                return Constant(kind, number)
    elif (folded := _fold_address(kind, code, left, right)) is not None:
        return folded
    elif right is not None and _is_identity(code, left, right):
        if type(left) is Constant:
            left = right
        low, high = bounds(left)
        return left if left.type == kind else Operation(kind, Code.Move, left, None, low, high)
    elif code is Code.Mul and right is not None:
        zero = next((v for v in (left, right) if type(v) is Constant and v.value == 0), None)
        if zero is not None and is_pure(left) and is_pure(right):
            return Constant(kind, 0)
        if isinstance(right, Constant) and isinstance(left, Operation) and left.code is Code.Mul:
            inner = left.right
            if isinstance(inner, Constant):  # (x * a) * b = x * (a * b)
                left, right = left.left, Constant(kind, register(int(inner.value) * int(right.value)))
    low, high = _result_bounds(code, left, right)
    return Operation(kind, code, left, right, low, high)


def _fold_address(kind: CType, code: Code, left: Value, right: Value | None) -> Value | None:
    """Arithmetic on an address that gives the same wherever tensors lie: a step to another byte, a test for NULL."""
    if isinstance(right, Address) and isinstance(left, Constant) and code in (Code.Add, Code.Eq, Code.Ne):
        left, right = right, left
    if not isinstance(left, Address):
        return None
    if right is None:
        return Constant(kind, int(code is Code.ToBool)) if code in (Code.ToBool, Code.LogicalNot) else None
    if not isinstance(right, Constant):
        return None
    if code in (Code.Add, Code.Sub):
        place = int(_FOLD[code](left.value, right.value))
        return retype(Address(INT64, place), kind) if _same_tensor(left.value, place) else None
    return Constant(kind, int(code is Code.Ne)) if code in (Code.Eq, Code.Ne) and right.value == 0 else None


def _same_tensor(one: int, other: int) -> bool:
    """True for two addresses in one tensor. The numbers of other addresses are known only when the kernel runs."""
    return tensor_number(one) == tensor_number(other)


def _is_identity(code: Code, left: Value, right: Value) -> bool:
    if type(right) is Constant:
        value = right.value
        if value == 0:
            return code in (Code.Add, Code.Sub, Code.Or, Code.Xor, Code.Shl, Code.Shr, Code.ShrU)
        return value == 1 and code in (Code.Mul, Code.Div)
    if type(left) is Constant:
        return (left.value == 0 and code in (Code.Add, Code.Or, Code.Xor)) or (left.value == 1 and code is Code.Mul)
    return False


def _result_bounds(code: Code, left: Value, right: Value | None) -> tuple[int, int]:
    """Bounds of an integer register after the bytecode; those of int64 where nothing better is known."""
    if code in _TESTS:
        return 0, 1
    whole = INT64_LOW, INT64_HIGH
    if code >= Code.FAdd or (type(left.type) is Scalar and left.type.floating):
        return whole
    a, b = bounds(left)
    if right is None:
        low, high = {Code.Neg: (-b, -a), Code.BitNot: (~b, ~a), Code.Move: (a, b)}.get(code, whole)
    else:
        c, d = bounds(right)
        if code is Code.Add:
            low, high = a + c, b + d
        elif code is Code.Sub:
            low, high = a - d, b - c
        elif code is Code.Mul:
            corners = (a * c, a * d, b * c, b * d)
            low, high = min(corners), max(corners)
        elif code is Code.And and (c >= 0 or a >= 0):
            low, high = 0, min(high for low, high in ((a, b), (c, d)) if low >= 0)
        elif code in (Code.Or, Code.Xor) and a >= 0 and c >= 0:
            low, high = 0, (1 << max(b, d).bit_length()) - 1
        elif code is Code.Shl and c >= 0 and d <= 63:
            low, high = min(a, a << d), max(b, b << d)
        elif code in (Code.Shr, Code.ShrU) and c >= 0 and d <= 63 and a >= 0:
            low, high = a >> d, b >> c
        elif code in (Code.Div, Code.DivU) and c > 0 and (a >= 0 or code is Code.Div):
            low, high = min(a, 0) if a < 0 else a // d, max(b, 0) // c
        elif code in (Code.Mod, Code.ModU) and c > 0 and (a >= 0 or code is Code.Mod):
            low, high = max(min(a, 0), 1 - d), min(max(b, 0), d - 1)
        else:
            return whole
    return (low, high) if low >= INT64_LOW and high <= INT64_HIGH else whole


def narrow(value: Value, kind: Scalar) -> Value:
    """A register whose low bits are right, cut to an integer type where it may hold more."""
    low, high = bounds(value)
    if type(value) is Constant:
        number = int(value.value) & ((1 << kind.bits) - 1)
        return Constant(kind, register(number - (1 << kind.bits) if number > kind.high else number))
    if kind.bits == 64 or (low >= kind.low and high <= kind.high):
        return retype(value, kind)
    return Narrow(kind, _low_bits(value, kind.bits))


def _low_bits(value: Value, bits: int) -> Value:
    """The expression without a narrowing that keeps at least `bits` bits."""
    return value.operand if type(value) is Narrow and value.type.bits >= bits else value


def retype(value: Value, kind: CType) -> Value:
    """The same register under another type of the same representation."""
    if value.type == kind:
        return value
    if is_fixed_address(value):
        assert isinstance(value, Constant | Address)
        return (Constant if isinstance(kind, Pointer) else Address)(kind, int(value.value))
    if isinstance(value, Operation | Constant):
        return value._replace(type=kind)
    low, high = bounds(value)
    return Operation(kind, Code.Move, value, None, low, high)


def convert(value: Value, kind: Scalar) -> Value:
    """An arithmetic value converted to an arithmetic type, as by assignment or cast."""
    source = value.type
    assert isinstance(source, Scalar)
    if source == kind:
        return value
    if kind == BOOL:
        return truth(value, BOOL)
    if source.floating:
        if not kind.floating:
            return narrow(operation(INT64, Code.FloatToInt, value), kind)
        return operation(kind, Code.ToF32, value) if kind == FLOAT else retype(value, kind)
    if kind.floating:
        unsigned = source == UINT64 and bounds(value)[0] < 0
        wide = operation(kind, Code.UIntToFloat if unsigned else Code.IntToFloat, value)
        return operation(FLOAT, Code.ToF32, wide) if kind == FLOAT else wide
    return narrow(value, kind)


def truth(value: Value, kind: Scalar = INT) -> Value:
    """1 if the value is not zero, else 0."""
    if isinstance(value.type, Scalar) and value.type.floating:
        return operation(kind, Code.FNe, value, Constant(value.type, 0.0))
    if bounds(value) == (0, 1):
        return retype(value, kind)
    return operation(kind, Code.ToBool, value)


def negated_truth(value: Value) -> Value:
    if isinstance(value.type, Scalar) and value.type.floating:
        return operation(INT, Code.FEq, value, Constant(value.type, 0.0))
    return operation(INT, Code.LogicalNot, value)


def unary(operator: str, value: Value) -> Value:
    """`-`, `+` or `~` of an arithmetic value."""
    kind = value.type
    assert isinstance(kind, Scalar)
    if kind.floating:
        value = convert(value, promote(kind))
        return operation(promote(kind), Code.FNeg, value) if operator == "-" else value
    kind = promote(kind)
    value = convert(value, kind)
    if operator == "+":
        return value
    code = Code.Neg if operator == "-" else Code.BitNot
    return narrow(operation(kind, code, _low_bits(value, kind.bits)), kind)


def binary(operator: str, left: Value, right: Value) -> Value:
    """A binary operator of C, other than && and ||, on arithmetic values."""
    assert isinstance(left.type, Scalar)
    assert isinstance(right.type, Scalar)
    if operator in ("<<", ">>"):
        return _shift(operator, left, right)
    kind = common(left.type, right.type)
    left, right = convert(left, kind), convert(right, kind)
    if operator in _COMPARE:
        return _compare(operator, left, right, kind)
    if kind.floating:
        result = operation(kind, _FLOATING[operator], left, right)
        return operation(kind, Code.ToF32, result) if kind == FLOAT else result
    if operator in RING:
        cut = kind.bits
        return narrow(operation(kind, RING[operator], _low_bits(left, cut), _low_bits(right, cut)), kind)
    unsigned = kind == UINT64 and (bounds(left)[0] < 0 or bounds(right)[0] < 0)
    code = _DIVIDE[operator, unsigned]
    return narrow(operation(kind, code, left, right), kind)


def _shift(operator: str, left: Value, right: Value) -> Value:
    assert isinstance(left.type, Scalar)
    assert isinstance(right.type, Scalar)
    kind = promote(left.type)
    left, right = convert(left, kind), convert(right, promote(right.type))
    if operator == "<<":
        return narrow(operation(kind, Code.Shl, _low_bits(left, kind.bits), right), kind)
    code = Code.ShrU if kind == UINT64 and bounds(left)[0] < 0 else Code.Shr
    return narrow(operation(kind, code, left, right), kind)


def _compare(operator: str, left: Value, right: Value, kind: CType) -> Value:
    name = _COMPARE[operator]
    if operator in (">", ">="):
        left, right = right, left
    if isinstance(kind, Scalar) and kind.floating:
        name = "F" + name
    elif name in ("Lt", "Le") and kind == UINT64 and (bounds(left)[0] < 0 or bounds(right)[0] < 0):
        name += "U"
    return operation(INT, Code[name], left, right)


def compare_pointers(operator: str, left: Value, right: Value) -> Value:
    return _compare(operator, left, right, UINT64)


def add_to_pointer(pointer: Value, index: Value, size: int, *, subtract: bool = False) -> Value:
    """`pointer ± index` in elements of `size` bytes; constants are gathered at the front."""
    kind = pointer.type
    assert isinstance(kind, Pointer)
    step = operation(INT64, Code.Mul, retype(index, INT64), Constant(INT64, size))
    if subtract:
        return operation(kind, Code.Sub, pointer, step)
    movable = isinstance(pointer, Operation) and pointer.code is Code.Add and isinstance(pointer.left, Constant)
    if isinstance(step, Constant) and movable:
        assert isinstance(pointer, Operation)
        return operation(kind, Code.Add, operation(kind, Code.Add, pointer.left, step), pointer.right)
    return operation(kind, Code.Add, pointer, step)


def select(condition: Value, then: Value, otherwise: Value, kind: CType) -> Value:
    if isinstance(condition, Constant):
        return then if condition.value else otherwise
    return Select(kind, condition, then, otherwise)


def load(pointer: Value) -> Load:
    """The element that a pointer points at."""
    assert isinstance(pointer.type, Pointer)
    return Load(pointer.type.target, pointer, 0)
