"""Names: what each one means where, and what is known of a function's variables before it is checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from autocomp.data import closest
from autocomp.errors import KernelError, Place
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.code.bytecode import CompiledTensor
from autocomp.targets.simulator.kernel.code.typed import Constant, Variable
from autocomp.targets.simulator.kernel.code.types import (
    BY_ELEMENT,
    DOUBLE,
    INT,
    INT64,
    NAMED,
    UINT,
    UINT64,
    Array,
    CType,
    Pointer,
    Scalar,
    Void,
    element_of,
    shape_of,
)
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.lexer import line_text
from autocomp.targets.simulator.kernel.syntax.walk import children, walk


@dataclass(frozen=True)
class Tensor:
    """An array: tensor number `index` of the program, or the element in it of a static variable (`type` a scalar)."""

    type: CType
    index: int


@dataclass(frozen=True)
class Symbol:
    """A scalar or pointer variable: its register, or the constant that it always is. Of a variable declared without a
    value, `assigned` is the register that says whether it has got one."""

    value: Variable | Constant
    const: bool
    assigned: Variable | None = None


@dataclass(frozen=True)
class FunctionSignature:
    index: int
    name: str
    result: CType
    parameters: tuple[tuple[str, CType], ...]


@dataclass
class Unit:
    """All that the functions of one kernel share while it is checked: text, names from outside, tensors, functions."""

    kernel: ast.Kernel
    accelerator: Accelerator
    constants: Mapping[str, int | float]
    types: Mapping[str, CType]
    tensors: list[CompiledTensor] = field(default_factory=list)
    functions: dict[str, FunctionSignature] = field(default_factory=dict)
    procedures: dict[str, FunctionSignature] = field(default_factory=dict)  # of the machine, those that are called
    tensor_bytes: int = 0
    messages: list[str] = field(default_factory=list)  # of program errors
    globals: dict[str, Symbol | Tensor] = field(default_factory=dict)  # declared outside of functions
    numeric_addresses: set[int] = field(default_factory=set)  # lines that compare, subtract or cast addresses
    program_only: set[str] = field(default_factory=set)  # procedures that kernels may not call
    host_time: bool | None = None  # whether the kernel's own code takes time; None: the machine's description says so

    def fail(self, node: Any, message: str, hint: str | None = None, width: int = 1) -> NoReturn:
        """Raises KernelError at a node, with its line and a caret."""
        line, column = getattr(node, "line", 0), getattr(node, "column", 0)
        if not line:
            raise KernelError(f"{self.kernel.source_name}: {message}", hint=hint)
        text = line_text(self.kernel.source, line)
        if not column:
            column = len(text) - len(text.lstrip()) + 1
        if isinstance(node, ast.Name):
            width = len(node.name)
        elif isinstance(node, ast.Call):
            width = len(node.function)
        raise KernelError(message, place=Place(self.kernel.source_name, line, column, text, width), hint=hint)

    def scalar_or_void(self, node: Any, name: str) -> CType:
        """The type of a name. Raises an error, with the closest type, for an unknown name."""
        kind = self.types.get(name)
        if kind is None:
            near = closest(name, sorted(self.types))
            self.fail(node, f"unknown type {name!r}", near and f"did you mean {near!r}?")
        return kind


def outer_types(accelerator: Accelerator) -> dict[str, CType]:
    named = {**accelerator.library.types, **accelerator.types}
    return {**NAMED, **{name: BY_ELEMENT[element] for name, element in named.items()}}


def addressed_names(function: ast.Function) -> frozenset[str]:
    """Variables that something takes the address of."""
    places = (node.operand for node in walk(function.body) if isinstance(node, ast.Unary) and node.operator == "&")
    return frozenset(place.name for place in places if isinstance(place, ast.Name))


def constant_of(value: int | float) -> Constant:
    """A named constant with the type that a hexadecimal literal of its value would have; floats are double."""
    if isinstance(value, float):
        return Constant(DOUBLE, value)
    for kind in (INT, UINT, INT64):
        if kind.low <= value <= kind.high:
            return Constant(kind, value)
    return Constant(UINT64, ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63))


class Scope:
    """Nested blocks of names, innermost last; `outside` of them, names that all functions share."""

    def __init__(self, outside: Mapping[str, Symbol | Tensor] | None = None) -> None:
        self._blocks: list[dict[str, Symbol | Tensor]] = [dict(outside or {}), {}]

    def open(self) -> None:
        self._blocks.append({})

    def close(self) -> None:
        self._blocks.pop()

    def declared_here(self, name: str) -> bool:
        return name in self._blocks[-1]

    def declare(self, name: str, meaning: Symbol | Tensor) -> None:
        self._blocks[-1][name] = meaning

    def innermost(self) -> dict[str, Symbol | Tensor]:
        """All that the innermost block declares."""
        return self._blocks[-1]

    def replace(self, name: str, meaning: Symbol) -> None:
        """Changes what is known of a name where it is declared."""
        for block in reversed(self._blocks):
            if name in block:
                block[name] = meaning
                return

    def find(self, name: str) -> Symbol | Tensor | None:
        for block in reversed(self._blocks):
            if name in block:
                return block[name]
        return None

    def names(self) -> list[str]:
        return [name for block in self._blocks for name in block]


def tensor_of(name: str, kind: CType, initial: bytes | None, parameter: bool) -> CompiledTensor:
    element = element_of(kind)
    assert isinstance(element, Scalar)
    return CompiledTensor(name, element.dtype, shape_of(kind) or (1,), initial, parameter)


def is_complete(kind: CType) -> bool:
    """True of types whose values can be stored: not of void, nor of an array of it or of pointers."""
    if isinstance(kind, Array):
        return isinstance(element_of(kind), Scalar)
    return isinstance(kind, Scalar | Pointer)


def is_const(declaration: ast.Declaration, kind: CType) -> bool:
    """`const T* p` does not let p write; p itself may change."""
    return declaration.const and not isinstance(kind, Pointer)


def describe(kind: CType) -> str:
    return "nothing (void)" if isinstance(kind, Void) else str(kind)


# --- variables that never change, and loop variables that only their own loop changes ----------------------------


@dataclass(frozen=True)
class Assigned:
    """Names assigned in a function: anywhere but in the step of the `for` that declares them, and anywhere."""

    outside_own_step: frozenset[str]
    anywhere: frozenset[str]


def assigned_names(function: ast.Function) -> Assigned:
    outside: set[str] = set()
    own: set[str] = set()
    stack: list[Any] = [function.body]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is ast.For and isinstance(node.initial, ast.Declaration):
            declared = {declarator.name for declarator in node.initial.declarators}
            target = getattr(node.step, "target", None)
            if isinstance(target, ast.Name) and target.name in declared:
                own.add(target.name)
                below: Sequence[Any] = [node.initial, node.condition, getattr(node.step, "value", None), node.body]
                stack.extend(child for child in below if child is not None)
                continue
        elif kind is ast.Assignment or kind is ast.Increment:
            if isinstance(node.target, ast.Name):
                outside.add(node.target.name)
        elif kind in (ast.Name, ast.IntLiteral, ast.FloatLiteral):
            continue
        stack.extend(children(node))
    return Assigned(frozenset(outside), frozenset(outside | own))
