"""Expressions of one instruction as nodes of the native core's tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import get_args

from autocomp.errors import IsaError
from autocomp.simulator import _core
from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa.formats import SPECIAL
from autocomp.targets.simulator.isa.model import Accelerator, Instruction
from autocomp.targets.simulator.isa.tree import (
    AddressField,
    Assign,
    Binary,
    Call,
    Conditional,
    Element,
    ElementType,
    Expression,
    For,
    Name,
    Number,
    Position,
    StateField,
    Statement,
    Sum,
    Unary,
    When,
    element_bits,
    is_float,
)

_INTEGER = {
    "+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "%": "Mod", "&": "And", "|": "Or", "^": "Xor", "<<": "Shl",
    ">>": "Shr", "&&": "LogicalAnd", "||": "LogicalOr",
}  # fmt: skip
_COMPARISON = {"==": "Eq", "!=": "Ne", "<": "Lt", "<=": "Le", ">": "Gt", ">=": "Ge"}
_FLOAT = {"+": "FAdd", "-": "FSub", "*": "FMul", "/": "FDiv"}
_UNARY = {"-": "Neg", "~": "Not", "!": "LogicalNot"}
_FUNCTION = {
    "ceil_div": "CeilDiv", "rounding_shift": "RoundingShift", "float": "ToFloat", "round": "RoundToInt", "fma": "Fma",
    "square_root": "SquareRoot",
    "bits_to_float": "BitsToFloat", "float_to_bits": "FloatToBits",
    "extent": "Extent",
}  # fmt: skip


@dataclass(frozen=True)
class Environment:
    """The meaning of names at one point of an instruction: nodes of lets and loop variables."""

    nodes: Mapping[str, int] = field(default_factory=dict)
    depends: Mapping[str, frozenset[str]] = field(default_factory=dict)  # lets -> state and memories they are made of
    stale: Mapping[str, str] = field(default_factory=dict)  # lets whose value would now differ -> what changed
    depth: int = 0  # loop variables alive
    homes: Mapping[str, str] = field(default_factory=dict)  # view -> the memory that it shows

    def let(self, name: str, node: int, value: Expression) -> Environment:
        """With a name for a node; a let of lets is out of date when they are."""
        depends = {**self.depends, name: frozenset(self._dependences(value))}
        stale = {other: changed for other, changed in self.stale.items() if other != name}
        return replace(self, nodes={**self.nodes, name: node}, depends=depends, stale=stale)

    def loop(self, name: str, node: int) -> Environment:
        """With one more loop variable."""
        return replace(self, nodes={**self.nodes, name: node}, depth=self.depth + 1)

    def after(self, statement: Statement) -> Environment:
        """Behind a statement: lets that depend on what it changed must not be used any more."""
        changed = frozenset(self.homes.get(name, name) for name in _changes(statement))
        stale = {name: min(changed & depends) for name, depends in self.depends.items() if changed & depends}
        return replace(self, stale={**stale, **self.stale})

    def _dependences(self, value: Expression) -> Iterator[str]:
        for part in algebra.walk(value):
            if isinstance(part, StateField):
                yield f"{part.state}.{part.field}"
            elif isinstance(part, Element):
                yield "DRAM" if part.element is not None else self.homes.get(part.memory, part.memory)
            elif isinstance(part, Name):
                yield from self.depends.get(part.name, ())


def _changes(statement: Statement) -> Iterator[str]:
    if isinstance(statement, Assign):
        target = statement.target
        if isinstance(target, StateField):
            yield f"{target.state}.{target.field}"
        else:
            yield "DRAM" if target.element is not None else target.memory
    elif isinstance(statement, For):
        for inner in statement.body:
            yield from _changes(inner)
    elif isinstance(statement, When):
        for inner in (*statement.then, *statement.otherwise):
            yield from _changes(inner)


def _dtype(element: str) -> int:
    """The number of an element type in the native core."""
    return get_args(ElementType).index(element)


class Nodes:
    """Makes nodes for the expressions of one instruction."""

    def __init__(
        self,
        builder: _core.MachineBuilder,
        accelerator: Accelerator,
        instruction: Instruction,
        memories: Mapping[str, int],
        first_slot: Mapping[tuple[str, str], int],
    ) -> None:
        self.instruction = instruction
        self._builder = builder
        self._accelerator = accelerator
        self._memories = memories
        self._first_slot = first_slot
        self._parameters = {p.name: (i, p) for i, p in enumerate(instruction.parameters)}
        self._floats: set[int] = set()

    def loop(self, depth: int) -> int:
        """The node of the loop variable at a depth, 0 = outermost."""
        return self._node("Loop", imm=depth)

    def fit_state(self, target: StateField, value: Expression) -> Expression:
        """The value truncated to the type of the field that it goes to."""
        record = next(s for s in self._accelerator.states if s.name == target.state)
        element = next(element for name, element, _ in record.fields if name == target.field)
        return value if is_float(element) or element_bits(element) == 64 else algebra.call("wrap", (value,), element)

    def build(self, expression: Expression, environment: Environment) -> int:
        """The node of an expression. Raises IsaError for a let that is out of date."""
        if isinstance(expression, Number):
            return self._number(expression.value)
        if isinstance(expression, Name):
            return self._name(expression.name, environment)
        if isinstance(expression, AddressField):
            return self._address_field(expression)
        if isinstance(expression, StateField):
            index = -1 if expression.index is None else self.build(expression.index, environment)
            record = next(s for s in self._accelerator.states if s.name == expression.state)
            element = next(element for name, element, _ in record.fields if name == expression.field)
            slot = self._first_slot[expression.state, expression.field]
            return self._node("State", index, imm=slot, is_float=is_float(element))
        if isinstance(expression, Element):
            return self._element(expression, environment)
        if isinstance(expression, Position):
            return self._position(expression)
        if isinstance(expression, Unary):
            operand = self.build(expression.operand, environment)
            return self._node(_UNARY[expression.operator], operand, is_float=operand in self._floats)
        if isinstance(expression, Binary):
            left, right = self.build(expression.left, environment), self.build(expression.right, environment)
            return self._binary(expression.operator, left, right)
        if isinstance(expression, Conditional):
            parts = [self.build(part, environment) for part in algebra.children(expression)]
            return self._node("Select", parts[0], parts[1], parts[2], is_float=parts[1] in self._floats)
        if isinstance(expression, Sum):
            bound = self.build(expression.bound, environment)
            inner = environment.loop(expression.variable, self.loop(environment.depth))
            body = self.build(expression.body, inner)
            if expression.start is not None:
                return self._node("FmaChain", bound, body, self.build(expression.start, environment), is_float=True)
            op = "Largest" if expression.function == "largest" else "Sum"
            return self._node(op, bound, body, is_float=body in self._floats)
        return self._call(expression, environment)

    def _node(
        self, op: str, a: int = -1, b: int = -1, c: int = -1, imm: int = 0, fimm: float = 0.0, is_float: bool = False
    ) -> int:
        node: int = self._builder.expr(op, a, b, c, imm, fimm, is_float)
        if is_float:
            self._floats.add(node)
        return node

    def _number(self, value: int | float) -> int:
        if isinstance(value, float):
            return self._node("ConstFloat", fimm=value, is_float=True)
        return self._node("ConstInt", imm=algebra.wrap(value))

    def _name(self, name: str, environment: Environment) -> int:
        if name in environment.stale:
            raise IsaError(
                f"`let {name}` is used after a statement that changes {environment.stale[name]}, which it depends on",
                place=self.instruction.place,
                hint=f"this happens in the instruction {self.instruction.name}; use the value before, or a new let",
            )
        if name in environment.nodes:
            return environment.nodes[name]
        index, parameter = self._parameters[name]
        return self._node("Argument", imm=index, is_float=parameter.kind == "float")

    def _address_field(self, expression: AddressField) -> int:
        index, parameter = self._parameters[expression.parameter]
        assert parameter.space is not None
        space = self._accelerator.space(parameter.space)
        value = self._node("Argument", imm=index)
        if expression.field == "none":
            assert space.none is not None
            bits = 32 if space.none < 1 << 32 else 64
            return self._node("Eq", self._node("WrapU", value, imm=bits), self._number(space.none))
        high, low = space.field(expression.field)
        shifted = self._node("Shr", value, self._number(low)) if low else value
        return self._node("And", shifted, self._number((1 << (high - low + 1)) - 1))

    def _element(self, expression: Element, environment: Environment) -> int:
        indices = [self.build(index, environment) for index in expression.indices]
        if expression.element is None:
            memory = self._accelerator.memory(expression.memory)
            index = self._memories[memory.name]
            return self._node("Read", indices[0], indices[1], imm=index, is_float=is_float(memory.element))
        pointer = self._name(expression.memory, environment)
        dtype = _dtype(expression.element)
        return self._node("ReadDram", pointer, indices[0], imm=dtype, is_float=is_float(expression.element))

    def _position(self, expression: Position) -> int:
        number, stream = next((i, s) for i, s in enumerate(self.instruction.streams) if s.name == expression.stream)
        if expression.variable == "done":
            return self._node("Done", imm=number)
        return self._node("Position", imm=(number << 8) + stream.variables.index(expression.variable))

    def _binary(self, symbol: str, left: int, right: int) -> int:
        if symbol in _COMPARISON:
            return self._node(_COMPARISON[symbol], left, right)
        if left in self._floats:
            return self._node(_FLOAT[symbol], left, right, is_float=True)
        return self._node(_INTEGER[symbol], left, right)

    def _call(self, expression: Call, environment: Environment) -> int:
        arguments = [self.build(argument, environment) for argument in expression.arguments]
        floats = arguments[0] in self._floats
        if expression.function == "convert":
            assert expression.type_argument is not None
            return self._node("RoundTo", arguments[0], imm=_dtype(expression.type_argument), is_float=True)
        if expression.type_argument is not None:
            bits, signed = algebra.type_bits(expression.type_argument)
            return self._node(
                ("Saturate" if expression.function == "saturate" else "Wrap") + ("" if signed else "U"),
                arguments[0],
                imm=bits,
            )
        if expression.function in ("min", "max"):
            op = expression.function.capitalize()
            return self._node(f"F{op}" if floats else op, arguments[0], arguments[1], is_float=floats)
        if expression.function == "relu":
            return self._relu(arguments[0], floats)
        if expression.function in SPECIAL:
            imm = list(SPECIAL).index(expression.function)
            return self._node("Special", arguments[0], imm=imm, is_float=True)
        result_is_float = expression.function in ("float", "fma", "bits_to_float")
        a, b, c = (*arguments, -1, -1)[:3]
        return self._node(_FUNCTION[expression.function], a, b, c, is_float=result_is_float)

    def _relu(self, value: int, floats: bool) -> int:
        """Integers: max(x, 0). Floats: what has its sign bit set and is not -0 gives +0."""
        if not floats:
            return self._node("Max", value, self._number(0))
        negative = self._node("Gt", self._node("FloatToBits", value), self._number(algebra.NEGATIVE_ZERO))
        return self._node("Select", negative, self._number(0.0), value, is_float=True)
