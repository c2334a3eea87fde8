"""The C types of the dialect as the checker sees them: names resolved, extents known. LP64, plain two's complement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Scalar:
    """An arithmetic type. `dtype` is the element type in memory; `low` and `high` bound an integer's values."""

    name: str
    dtype: str
    bits: int
    signed: bool = True
    floating: bool = False

    @property
    def size(self) -> int:
        return max(self.bits, 8) // 8

    @property
    def low(self) -> int:
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        return (1 << (self.bits - self.signed)) - 1

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Void:
    size = 1

    def __str__(self) -> str:
        return "void"


@dataclass(frozen=True)
class Pointer:
    target: CType
    size = 8

    def __str__(self) -> str:
        return f"{self.target}*"


@dataclass(frozen=True)
class Array:
    element: CType
    extent: int

    @property
    def size(self) -> int:
        return self.extent * self.element.size

    def __str__(self) -> str:
        base: CType = self
        extents = ""
        while isinstance(base, Array):
            extents += f"[{base.extent}]"
            base = base.element
        return f"{base}{extents}"


CType = Scalar | Void | Pointer | Array

VOID = Void()
BOOL = Scalar("bool", "u8", 1, signed=False)
INT8, UINT8 = Scalar("int8_t", "i8", 8), Scalar("uint8_t", "u8", 8, signed=False)
INT16, UINT16 = Scalar("int16_t", "i16", 16), Scalar("uint16_t", "u16", 16, signed=False)
INT, UINT = Scalar("int32_t", "i32", 32), Scalar("uint32_t", "u32", 32, signed=False)
INT64, UINT64 = Scalar("int64_t", "i64", 64), Scalar("uint64_t", "u64", 64, signed=False)
FLOAT, DOUBLE = Scalar("float", "f32", 32, floating=True), Scalar("double", "f64", 64, floating=True)
# Types of elements in memory: arithmetic on them is that of float.
NARROW_FLOATS = (
    Scalar("float16_t", "f16", 16, floating=True),
    Scalar("bfloat16_t", "bf16", 16, floating=True),
    Scalar("float8_e5m2_t", "f8e5m2", 8, floating=True),
    Scalar("float8_e4m3_t", "f8e4m3", 8, floating=True),
)

BY_ELEMENT: Mapping[str, Scalar] = {
    t.dtype: t for t in (INT8, UINT8, INT16, UINT16, INT, UINT, INT64, UINT64, FLOAT, DOUBLE, *NARROW_FLOATS)
}
# NumPy's and ml_dtypes' names of element types.
NUMPY_NAMES: Mapping[str, str] = {
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    "bool": "u8",
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float8_e5m2": "f8e5m2",
    "float8_e4m3": "f8e4m3",  # of workloads
    "float8_e4m3fn": "f8e4m3",
}

_WIDTHS = {8: (INT8, UINT8), 16: (INT16, UINT16), 32: (INT, UINT), 64: (INT64, UINT64)}


def _named() -> dict[str, CType]:
    names: dict[str, CType] = {"void": VOID, "bool": BOOL, "_Bool": BOOL, "float": FLOAT, "double": DOUBLE}
    for bits, (signed, unsigned) in _WIDTHS.items():
        fast = 8 if bits == 8 else 64
        for prefix, kind in (("int", signed), ("uint", unsigned)):
            names[f"{prefix}{bits}_t"] = names[f"{prefix}_least{bits}_t"] = kind
            names[f"{prefix}_fast{bits}_t"] = _WIDTHS[fast][not kind.signed]
    words = {"short": (INT16, UINT16), "int": (INT, UINT), "long": (INT64, UINT64), "long long": (INT64, UINT64)}
    for word, (signed, unsigned) in words.items():
        for spelling in {word, f"{word} int" if word != "int" else word}:
            names[spelling] = names[f"signed {spelling}"] = signed
            names[f"unsigned {spelling}"] = unsigned
    names.update(
        {
            "char": INT8,
            "signed char": INT8,
            "unsigned char": UINT8,
            "signed": INT,
            "unsigned": UINT,
            "ssize_t": INT64,
            "ptrdiff_t": INT64,
            "intptr_t": INT64,
        }
    )
    names.update({kind.name: kind for kind in NARROW_FLOATS})
    names.update({"size_t": UINT64, "uintptr_t": UINT64, "intmax_t": INT64, "uintmax_t": UINT64})
    return names


NAMED: Mapping[str, CType] = _named()


def promote(kind: Scalar) -> Scalar:
    """C's integer promotion; floats of fewer bits become float."""
    if kind.bits >= 32:
        return kind
    return FLOAT if kind.floating else INT


def common(left: Scalar, right: Scalar) -> Scalar:
    """C's usual arithmetic conversions."""
    if left.floating or right.floating:
        return DOUBLE if DOUBLE in (left, right) else FLOAT
    left, right = promote(left), promote(right)
    if left.bits != right.bits:
        return left if left.bits > right.bits else right
    return right if left.signed else left


def is_integer(kind: CType) -> bool:
    """True for numbers that are not floating."""
    return isinstance(kind, Scalar) and not kind.floating


def element_of(kind: CType) -> CType:
    """The innermost element of an array type; any other type as it is."""
    while isinstance(kind, Array):
        kind = kind.element
    return kind


def shape_of(kind: CType) -> tuple[int, ...]:
    shape = []
    while isinstance(kind, Array):
        shape.append(kind.extent)
        kind = kind.element
    return tuple(shape)
