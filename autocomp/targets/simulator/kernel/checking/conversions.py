"""Values of one type as values of another: casts, assignments and what is passed, and registers that hold values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from autocomp.targets.simulator.kernel.checking.scope import Unit, describe
from autocomp.targets.simulator.kernel.code.arithmetic import convert, operation, retype
from autocomp.targets.simulator.kernel.code.bytecode import POINTER_SHIFT, Code
from autocomp.targets.simulator.kernel.code.typed import (
    INT64_HIGH,
    INT64_LOW,
    Address,
    Assign,
    Check,
    Constant,
    Sequence,
    Value,
    Variable,
    bounds,
    is_null,
)
from autocomp.targets.simulator.kernel.code.types import BOOL, INT, INT64, VOID, CType, Pointer, Scalar, Void


class Conversions:
    """Conversions in one function. `new_slot` reserves a register of its frame."""

    def __init__(self, unit: Unit, new_slot: Callable[[Any], int]) -> None:
        self.unit = unit
        self.new_slot = new_slot

    def fail(self, node: Any, message: str, hint: str | None = None) -> NoReturn:
        self.unit.fail(node, message, hint)

    def assigned(self, value: Value, kind: CType, node: Any) -> Value:
        """A value as it is stored into a variable of a type, passed by value or returned."""
        if isinstance(kind, Pointer):
            if is_null(value) or isinstance(value.type, Pointer):
                return retype(value, kind)
            self.fail(node, f"{kind} is needed here, not {describe(value.type)}", "write a cast if that is meant")
        return self.cast(value, kind, node)

    def cast(self, value: Value, kind: CType, node: Any) -> Value:
        source = value.type
        if isinstance(kind, Void):
            return value if isinstance(source, Void) else Sequence(VOID, (value,), Constant(VOID, 0))
        if isinstance(source, Scalar) and isinstance(kind, Scalar):
            return convert(value, kind)
        if isinstance(source, Pointer) and kind == BOOL:
            return operation(BOOL, Code.ToBool, value)
        if isinstance(source, Pointer) and isinstance(kind, Scalar):
            number = retype(value, INT64)
            if kind.floating or kind.bits < 64:
                number = self._local_address(number, kind, node)
            elif not is_null(value):
                self.unit.numeric_addresses.add(node.line)
            return convert(number, kind)
        if isinstance(kind, Pointer) and isinstance(source, Pointer | Scalar):
            if isinstance(source, Scalar) and source.floating:
                self.fail(node, f"{source} cannot become a pointer")
            if isinstance(source, Scalar) and isinstance(value, Constant) and int(value.value) >> POINTER_SHIFT:
                self.fail(node, f"{value.value} is not the address of a tensor", "write &A[i][j]")
            return retype(value, kind)
        return self.fail(node, f"{describe(source)} cannot become {describe(kind)}")

    def _local_address(self, number: Value, kind: Scalar, node: Any) -> Value:
        """A pointer as the local address that it may hold, which is a small number; the address of a tensor is
        refused, where need be in the run."""
        message = f"the address of a tensor does not fit into {kind}"
        low, high = (number.value,) * 2 if isinstance(number, Address) else bounds(number)
        if kind.floating or low >= 1 << POINTER_SHIFT:
            self.fail(node, message, "use uint64_t")
        if high < 1 << POINTER_SHIFT:
            return number
        held, fits = self.temporary(number, node), self.temporary(Constant(INT, 0), node)
        self.unit.messages.append(message)
        small = operation(INT, Code.LtU, held, Constant(INT64, 1 << POINTER_SHIFT))
        check = Check(VOID, fits, len(self.unit.messages) - 1)
        return Sequence(INT64, (Assign(INT64, held, number), Assign(INT, fits, small), check), held)

    def temporary(self, value: Value, node: Any) -> Variable:
        """A fresh register that is to hold a value."""
        integer = not (isinstance(value.type, Scalar) and value.type.floating)
        low, high = bounds(value) if integer else (INT64_LOW, INT64_HIGH)
        return Variable(value.type, self.new_slot(node), low, high)
