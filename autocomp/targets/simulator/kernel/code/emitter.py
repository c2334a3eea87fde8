"""Typed expressions to bytecode: registers, labels, and constants that are loaded once per function.

A frame is laid out as fixed registers (variables, constants, argument blocks) and above them a stack of temporaries.
While a function is being emitted, temporaries are numbered from TEMPORARY upwards; `finish` places them after the fixed
registers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from autocomp.targets.simulator.kernel.code.bytecode import DTYPE_INDEX, MAX_SLOTS, Code
from autocomp.targets.simulator.kernel.code.typed import (
    Address,
    Assign,
    Check,
    Constant,
    FunctionCall,
    HostCall,
    Issue,
    Load,
    Logical,
    Narrow,
    Operation,
    Select,
    Sequence,
    SystemCall,
    Value,
    Variable,
    is_fixed_address,
)
from autocomp.targets.simulator.kernel.code.types import Pointer, Scalar, Void

TEMPORARY = 1 << 20
BLOCK_SLOTS = 30_000  # fixed registers up to which calls in loops get argument blocks of their own
CODE_LIMIT = 4_000_000


@dataclass(frozen=True)
class FunctionCode:
    """Bytecode of one function with jumps relative to its start; a Call's immediate is a function's number."""

    code: npt.NDArray[np.int64]
    lines: npt.NDArray[np.int32]
    frame_size: int
    calls: tuple[tuple[int, int], ...]  # (slot of the callee's frame, function number)


class Emitter:
    def __init__(self, line: int, *, blocks: bool, fail: Callable[[str], NoReturn]) -> None:
        self.line = line
        self.loop_depth = 0
        self._blocks = blocks
        self._fail = fail
        self._first_line = line
        self._code: list[tuple[int, int, int, int, int]] = []
        self._lines: list[int] = []
        self._prologue: list[tuple[int, int, int, int, int]] = []
        self._labels: list[int] = []
        self._fixed = 0
        self._top = TEMPORARY
        self._highest = TEMPORARY
        self._pool: dict[tuple[bool, bool, int], int] = {}
        self._calls: list[tuple[int, int]] = []
        self._rules: dict[type, Callable[[Any, int | None], int]] = {
            Constant: self._constant,
            Address: self._constant,
            Variable: self._variable,
            Load: self._load,
            Operation: self._operation,
            Narrow: self._narrow,
            Logical: self._logical,
            Select: self._select,
            Assign: self._assign,
            Sequence: self._sequence,
            FunctionCall: self._function_call,
            SystemCall: self._system_call,
        }

    # --- registers, labels, single bytecodes ---

    def new_slot(self) -> int:
        """A fixed register of the frame."""
        self._fixed += 1
        if self._fixed > MAX_SLOTS:
            self._fail(f"a function may use at most {MAX_SLOTS} registers: split it, or roll unrolled code into loops")
        return self._fixed - 1

    def new_label(self) -> int:
        self._labels.append(-1)
        return len(self._labels) - 1

    def put_label(self, label: int) -> None:
        self._labels[label] = len(self._code)

    def emit(self, code: Code, a: int = 0, b: int = 0, c: int = 0, imm: int = 0) -> None:
        self._code.append((code, a, b, c, imm))
        self._lines.append(self.line)

    def jump(self, label: int) -> None:
        self.emit(Code.Jump, imm=label)

    def _push(self, count: int = 1) -> int:
        slot = self._top
        self._top += count
        if self._top > self._highest:
            self._highest = self._top
            if self._highest - TEMPORARY > MAX_SLOTS // 2:
                self._fail("an expression needs too many registers: split it")
        return slot

    def _pooled(self, value: Constant | Address) -> int:
        key = (isinstance(value.value, float), is_fixed_address(value), _bits(value.value))
        slot = self._pool.get(key)
        if slot is None:
            slot = self._pool[key] = self.new_slot()
            self._prologue.append(_loaded(value, slot))
        return slot

    # --- expressions ---

    def value(self, value: Value) -> int:
        """Emits an expression; the register that holds it. Temporaries stay in use until `discard` or a statement."""
        return self._rules[type(value)](value, None)

    def into(self, value: Value, slot: int) -> None:
        """Emits an expression whose value is to lie in a given register."""
        mark = self._top
        self._rules[type(value)](value, slot)
        self._top = mark

    def effect(self, value: Value) -> None:
        """Emits an expression for what it does."""
        mark = self._top
        kind = type(value)
        if kind is Issue:
            self._issue(value)  # type: ignore[arg-type]
        elif kind is HostCall:
            self._host_call(value)  # type: ignore[arg-type]
        elif kind is Check:
            assert isinstance(value, Check)
            self.emit(Code.Assigned, value.assigned.slot, imm=value.message)
        elif kind is Sequence:
            assert isinstance(value, Sequence)
            for part in value.effects:
                self.effect(part)
            self.effect(value.value)
        elif kind is Select and isinstance(value.type, Void):
            self._select_effect(value)  # type: ignore[arg-type]
        elif kind is not Constant and kind is not Variable:
            self.value(value)
        self._top = mark

    def _constant(self, value: Constant | Address, slot: int | None) -> int:
        if slot is None:
            return self._pooled(value)
        self.emit(*_loaded(value, slot))
        return slot

    def _variable(self, value: Variable, slot: int | None) -> int:
        if slot is None or slot == value.slot:
            return value.slot
        self.emit(Code.Move, slot, value.slot)
        return slot

    def _load(self, value: Load, slot: int | None) -> int:
        mark = self._top
        pointer = self.value(value.pointer)
        self._top = mark
        target = self._push() if slot is None else slot
        self.emit(Code.Load, target, pointer, _dtype(value), value.offset)
        return target

    def _operation(self, value: Operation, slot: int | None) -> int:
        if value.code is Code.Move:
            return self._rules[type(value.left)](value.left, slot)
        mark = self._top
        left = self.value(value.left)
        right = 0 if value.right is None else self.value(value.right)
        self._top = mark
        target = self._push() if slot is None else slot
        self.emit(value.code, target, left, right)
        return target

    def _narrow(self, value: Narrow, slot: int | None) -> int:
        mark = self._top
        operand = self.value(value.operand)
        self._top = mark
        target = self._push() if slot is None else slot
        self.emit(Code.Extend, target, operand, imm=DTYPE_INDEX[value.type.dtype])
        return target

    def _logical(self, value: Logical, slot: int | None) -> int:
        target = self._push() if slot is None else slot
        false, end = self.new_label(), self.new_label()
        self.branch(value, false, when=False)
        self.emit(Code.LoadInt, target, imm=1)
        self.jump(end)
        self.put_label(false)
        self.emit(Code.LoadInt, target, imm=0)
        self.put_label(end)
        return target

    def _select(self, value: Select, slot: int | None) -> int:
        target = self._push() if slot is None else slot
        otherwise, end = self.new_label(), self.new_label()
        self.branch(value.condition, otherwise, when=False)
        self.into(value.then, target)
        self.jump(end)
        self.put_label(otherwise)
        self.into(value.otherwise, target)
        self.put_label(end)
        return target

    def _select_effect(self, value: Select) -> None:
        otherwise, end = self.new_label(), self.new_label()
        self.branch(value.condition, otherwise, when=False)
        self.effect(value.then)
        self.jump(end)
        self.put_label(otherwise)
        self.effect(value.otherwise)
        self.put_label(end)

    def _assign(self, value: Assign, slot: int | None) -> int:
        target = value.target
        if isinstance(target, Variable):
            self.into(value.value, target.slot)
            return self._variable(target, slot)
        pointer = self.value(target.pointer)
        stored = self.value(value.value)
        self.emit(Code.Store, stored, pointer, _dtype(target), target.offset)
        if slot is not None and slot != stored:
            self.emit(Code.Move, slot, stored)
            return slot
        return stored

    def _sequence(self, value: Sequence, slot: int | None) -> int:
        for effect in value.effects:
            self.effect(effect)
        return self._rules[type(value.value)](value.value, slot)

    def branch(self, condition: Value, label: int, *, when: bool) -> None:
        """Jumps to a label when a condition is (not) zero; falls through otherwise."""
        if isinstance(condition, Constant):
            if bool(condition.value) is when:
                self.jump(label)
        elif isinstance(condition, Logical):
            if condition.conjunction is when:
                past = self.new_label()
                self.branch(condition.left, past, when=not when)
                self.branch(condition.right, label, when=when)
                self.put_label(past)
            else:
                self.branch(condition.left, label, when=when)
                self.branch(condition.right, label, when=when)
        elif isinstance(condition, Operation) and condition.code is Code.LogicalNot:
            self.branch(condition.left, label, when=not when)
        else:
            mark = self._top
            tested = self.value(condition)
            self._top = mark
            self.emit(Code.JumpIfNotZero if when else Code.JumpIfZero, tested, imm=label)

    # --- calls ---

    def _issue(self, value: Issue) -> None:
        line, self.line = self.line, value.line or self.line
        count = len(value.arguments)
        if self._blocks and self.loop_depth and count and self._fixed + count <= BLOCK_SLOTS:
            first = self._fixed
            for argument in value.arguments:
                slot = self.new_slot()
                if isinstance(argument, Constant | Address):
                    self._prologue.append(_loaded(argument, slot))
            for slot, argument in enumerate(value.arguments, first):
                if not isinstance(argument, Constant | Address):
                    self.into(argument, slot)
        else:
            first = self._arguments(value.arguments)
        self.emit(Code.Issue, first, imm=value.instruction)
        self.line = line

    def _host_call(self, value: HostCall) -> None:
        self.emit(Code.HostCall, self._arguments(value.arguments), imm=value.builtin)

    def _system_call(self, value: SystemCall, slot: int | None) -> int:
        first = self._arguments(value.arguments)
        self.emit(Code.Service, first, len(value.arguments), imm=value.service)
        if slot is None:
            return first
        self.emit(Code.Move, slot, first)
        return slot

    def _arguments(self, arguments: tuple[Value, ...]) -> int:
        first = self._push(max(1, len(arguments)))
        for slot, argument in enumerate(arguments, first):
            self.into(argument, slot)
        return first

    def _function_call(self, value: FunctionCall, slot: int | None) -> int:
        frame = self._arguments(value.arguments)
        self.emit(Code.Call, frame, imm=value.function)
        self._calls.append((frame, value.function))
        if slot is None or isinstance(value.type, Void):
            return frame
        self.emit(Code.Move, slot, frame)
        return slot

    # --- the finished function ---

    def prologue_store(self, value: Constant, slot: int) -> None:
        """Loads a constant once, when the function is entered."""
        self._prologue.append(_loaded(value, slot))

    def finish(self) -> FunctionCode:
        """The function with its prologue, its labels resolved and its temporaries placed after the fixed registers."""
        shift = len(self._prologue)
        if shift + len(self._code) > CODE_LIMIT:
            self._fail("the kernel is too long")
        code = np.array(self._prologue + self._code, dtype=np.int64).reshape(-1, 5)
        jumps = np.isin(code[:, 0], (Code.Jump, Code.JumpIfZero, Code.JumpIfNotZero))
        if jumps.any():
            code[jumps, 4] = np.array(self._labels, dtype=np.int64)[code[jumps, 4]] + shift
        registers = code[:, 1:4]
        registers[registers >= TEMPORARY] += self._fixed - TEMPORARY
        frame = self._fixed + self._highest - TEMPORARY
        if frame > MAX_SLOTS:
            self._fail(f"a function may use at most {MAX_SLOTS} registers: split it, or roll unrolled code into loops")
        lines = np.array([self._first_line] * shift + self._lines, dtype=np.int32)
        calls = tuple((slot - TEMPORARY + self._fixed, function) for slot, function in self._calls)
        return FunctionCode(code, lines, max(frame, 1), calls)


def _loaded(value: Constant | Address, slot: int) -> tuple[Code, int, int, int, int]:
    """The bytecode that loads a constant; its operand b is 1 for an address, which the interpreter places."""
    code = Code.LoadFloat if isinstance(value.value, float) else Code.LoadInt
    return code, slot, int(is_fixed_address(value)), 0, _bits(value.value)


def _bits(value: int | float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value))[0]) if isinstance(value, float) else value


def _dtype(place: Load) -> int:
    if isinstance(place.type, Pointer):
        return DTYPE_INDEX["i64"]
    assert isinstance(place.type, Scalar)
    return DTYPE_INDEX[place.type.dtype]
