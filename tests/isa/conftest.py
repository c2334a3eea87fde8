"""A plain interpreter of the model: what the semantics say, element by element, independent of the native core."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa.model import Accelerator, Instruction
from autocomp.targets.simulator.isa.tree import (
    AddressField,
    Assign,
    Binary,
    Conditional,
    Element,
    Expression,
    For,
    Let,
    Name,
    Number,
    Require,
    StateField,
    Statement,
    Sum,
    Unary,
    When,
)

Touch = tuple[str, int, int, bool]  # memory (or pointer parameter), row (or byte), column, written
Number_ = int | float


class RequirementError(Exception):
    """A requirement of the description does not hold."""


def numpy_type(element: str) -> str:
    return {"i": "int", "u": "uint", "f": "float"}[element[0]] + element[1:]


@dataclass
class Interpreter:
    """Executes instructions in order; `touched` holds the accesses of local memories and DRAM by the last one."""

    accelerator: Accelerator
    tensors: Sequence[npt.NDArray[Any]] = ()
    data: bool = True  # False: only requirements and state, as for a trace without data
    state: dict[tuple[str, int, str], Number_] = field(default_factory=dict)
    memory: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    touched: set[Touch] = field(default_factory=set)

    def __post_init__(self) -> None:
        for record in self.accelerator.states:
            for index in range(max(1, record.count)):
                for name, _, initial in record.fields:
                    self.state[record.name, index, name] = initial
        for memory in self.accelerator.memories:
            if memory.kind != "dram" and self.data:
                self.memory[memory.name] = np.zeros((memory.rows, memory.cols), numpy_type(memory.element))

    def call(self, name: str, *arguments: Number_) -> None:
        """Issue an instruction or a call form of the description."""
        instruction = self.accelerator.instruction(name)
        form = self.accelerator.alias(name, len(arguments))
        if instruction is not None and form is None:
            self.execute(instruction, dict(zip([p.name for p in instruction.parameters], arguments, strict=True)))
            return
        assert form is not None, name
        self.expand(form.expansion, dict(zip(form.parameters, arguments, strict=True)))

    def expand(self, expansion: Any, names: Mapping[str, Number_]) -> None:
        for callee, values in expansion:
            self.call(callee, *[_Frame(self, None, dict(names)).value(v) for v in values])

    def execute(self, instruction: Instruction, arguments: dict[str, Number_]) -> None:
        self.touched = set()
        for parameter in instruction.parameters:
            if parameter.low is not None and not parameter.low <= arguments[parameter.name] <= parameter.high:
                raise RequirementError(f"{instruction.name}: {parameter.name} is {arguments[parameter.name]}")
        _Frame(self, instruction, dict(arguments)).run(instruction.body)


@dataclass
class _Frame:
    machine: Interpreter
    instruction: Instruction | None
    names: dict[str, Number_]

    def run(self, body: Sequence[Statement]) -> None:
        for statement in body:
            if isinstance(statement, Let):
                self.names[statement.name] = self.value(statement.value)
            elif isinstance(statement, Require):
                if (self.machine.data or not _reads(statement.condition)) and not self.value(statement.condition):
                    raise RequirementError(statement.message)
            elif isinstance(statement, When):
                inner = _Frame(self.machine, self.instruction, dict(self.names))
                inner.run(statement.then if self.value(statement.condition) else statement.otherwise)
            elif isinstance(statement, For):
                if self.machine.data:
                    stores: list[tuple[Element, tuple[int, ...], Number_]] = []
                    self.loops(statement.variables, statement.body, stores)
                    for target, indices, value in stores:
                        self.store(target, indices, value)
            else:
                self.assign(statement)

    def loops(self, variables: Any, body: Sequence[Statement], stores: list[Any]) -> None:
        if variables:
            name, bound = variables[0]
            for index in range(int(self.value(bound))):
                self.names[name] = index
                self.loops(variables[1:], body, stores)
            return
        for statement in body:
            if isinstance(statement, When):
                self.loops((), statement.then if self.value(statement.condition) else statement.otherwise, stores)
            else:
                assert isinstance(statement, Assign)
                assert isinstance(statement.target, Element)
                indices = tuple(int(self.value(i)) for i in statement.target.indices)
                stores.append((statement.target, indices, self.value(statement.value)))

    def assign(self, statement: Assign) -> None:
        target, value = statement.target, self.value(statement.value)
        if isinstance(target, Element):
            self.store(target, tuple(int(self.value(i)) for i in target.indices), value)
            return
        record = next(s for s in self.machine.accelerator.states if s.name == target.state)
        element = next(e for name, e, _ in record.fields if name == target.field)
        index = 0 if target.index is None else int(self.value(target.index))
        if element[0] != "f":
            value = algebra.wrap(int(value), int(element[1:]), element[0] == "i")
        self.machine.state[target.state, index, target.field] = value

    def location(self, element: Element, indices: tuple[int, ...], written: bool) -> tuple[npt.NDArray[Any], Any]:
        if element.element is not None:
            size = int(element.element[1:]) // 8
            pointer = int(self.names[element.memory]) + indices[0]
            for byte in range(size):
                self.machine.touched.add((element.memory, indices[0] + byte, 0, written))
            flat = self.machine.tensors[(pointer >> 48) - 1].view(np.uint8).reshape(-1)
            offset = pointer & ((1 << 48) - 1)
            return flat[offset : offset + size].view(numpy_type(element.element)), 0
        row, column = indices
        cells = self.machine.memory[element.memory]
        assert 0 <= row < cells.shape[0], f"{element.memory} has no row {row}"
        assert 0 <= column < cells.shape[1], f"{element.memory} has no column {column}"
        if self.machine.accelerator.memory(element.memory).kind == "local":
            self.machine.touched.add((element.memory, row, column, written))
        return cells, (row, column)

    def store(self, element: Element, indices: tuple[int, ...], value: Number_) -> None:
        cells, where = self.location(element, indices, True)
        bits = cells.dtype.itemsize * 8
        cells[where] = value if cells.dtype.kind == "f" else algebra.wrap(int(value), bits, cells.dtype.kind == "i")

    def value(self, e: Expression) -> Number_:
        if isinstance(e, Number):
            return e.value
        if isinstance(e, Name):
            return self.names[e.name]
        if isinstance(e, AddressField):
            return self.address_field(e)
        if isinstance(e, StateField):
            index = 0 if e.index is None else int(self.value(e.index))
            return self.machine.state[e.state, index, e.field]
        if isinstance(e, Element):
            cells, where = self.location(e, tuple(int(self.value(i)) for i in e.indices), False)
            return cells[where].item()
        if isinstance(e, Unary):
            found = algebra.unary(e.operator, Number(self.value(e.operand)))
            assert isinstance(found, Number)
            return found.value
        if isinstance(e, Conditional):
            return self.value(e.then if self.value(e.condition) else e.otherwise)
        if isinstance(e, Sum):
            return self.total(e)
        if isinstance(e, Binary):
            left = self.value(e.left)
            if e.operator == "&&" and not left:
                return 0
            if e.operator == "||" and left:
                return 1
            return algebra.apply_binary(e.operator, left, self.value(e.right))
        return algebra.apply_function(e.function, [self.value(a) for a in e.arguments], e.type_argument)

    def total(self, e: Sum) -> Number_:
        result: Number_ = -(1 << 63) if e.function == "largest" else 0
        if e.start is not None:
            result = self.value(e.start)
        for index in range(int(self.value(e.bound))):
            self.names[e.variable] = index
            if e.start is not None:
                assert isinstance(e.body, Binary)
                result = algebra.fma(self.value(e.body.left), self.value(e.body.right), result)
            elif e.function == "largest":
                result = max(result, self.value(e.body))
            else:
                result += self.value(e.body)
        return result

    def address_field(self, e: AddressField) -> int:
        assert self.instruction is not None
        parameter = next(p for p in self.instruction.parameters if p.name == e.parameter)
        space = self.machine.accelerator.space(parameter.space)
        value = int(self.names[e.parameter])
        if e.field == "none":
            return int(value == space.none)
        high, low = space.field(e.field)
        return (value >> low) & ((1 << (high - low + 1)) - 1)


def _reads(expression: Expression) -> bool:
    return any(isinstance(part, Element) for part in algebra.walk(expression))


def pointer(tensor: int, offset: int = 0) -> int:
    """The argument that names a byte of a tensor, as the front end makes it."""
    return ((tensor + 1) << 48) | offset


def trace_commands(accelerator: Accelerator, text: str) -> Iterator[tuple[str, dict[str, Number_]]]:
    """Commands of a hardware trace and their operands by name."""
    for line in text.splitlines():
        name, *operands = line.split()
        if name[0] in "#@" or name.startswith("loop_ws"):
            continue
        yield name, {key: _operand(accelerator, value) for key, value in (o.split("=") for o in operands)}


def _operand(accelerator: Accelerator, text: str) -> Number_:
    space = accelerator.spaces[0]
    if text == space.text_none:
        return space.none or 0
    memories = dict(space.text_names)
    if ":" in text:
        memory, rest = text.split(":")
        row, *flags = rest.split("+")
        value = int(row) | next(match for name, _, match in space.memories if name == memories[memory])
        for flag in flags:
            value |= 1 << space.field(dict(space.text_flags)[flag])[1]
        return value
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if text.startswith("0x"):
        return int(text, 16)
    return accelerator.constants[text] if text in accelerator.constants else float(text)


@pytest.fixture(scope="session")
def systolic() -> Accelerator:
    """The shipped 16x16 systolic array."""
    return isa.load("gemmini")


@pytest.fixture(scope="session")
def small() -> Accelerator:
    """The shipped 4x4 machine with semaphores."""
    return isa.load("tiny")
