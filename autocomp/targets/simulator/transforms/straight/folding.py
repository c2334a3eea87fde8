"""Constant folding: what expressions come to where variables have known values and arrays are at known places.

The checker of kernels folds constants by C's rules; here all variables are constants in its scope.
"""

from __future__ import annotations

from typing import Any, NoReturn

from autocomp.errors import KernelError
from autocomp.targets.simulator.kernel import print_expression
from autocomp.targets.simulator.kernel.checking.expressions import Expressions
from autocomp.targets.simulator.kernel.checking.scope import Scope, Symbol, Tensor, Unit, outer_types
from autocomp.targets.simulator.kernel.code.bytecode import POINTER_SHIFT
from autocomp.targets.simulator.kernel.code.typed import Address, Constant, Load, Variable, range_of
from autocomp.targets.simulator.kernel.code.typed import Value as Typed
from autocomp.targets.simulator.kernel.code.types import INT64, UINT64, Array, CType, Pointer, Scalar, element_of
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.straight.places import TensorByte, Value


class Folding:
    """The names of a kernel with their types and values. Everything raises NotApplicable for what C does not allow."""

    def __init__(self, facts: Facts) -> None:
        unit = Unit(facts.given, facts.accelerator, facts.constants, outer_types(facts.accelerator))
        self._expressions = Expressions(unit, Scope(), lambda node: 0)
        self._expressions.call = _depends_on_data
        self._tensors: dict[str, Array] = {}  # in the order of their numbers

    # --- names

    @property
    def scope(self) -> Scope:
        return self._expressions.scope

    @scope.setter
    def scope(self, scope: Scope) -> None:
        self._expressions.scope = scope

    def declare(self, name: str, kind: CType, value: Constant | None) -> None:
        """A variable; without a value, what reads it depends on data."""
        unknown = Variable(kind, 0, *range_of(kind))
        self.scope.declare(name, Symbol(unknown if value is None else value, const=False))

    def declare_array(self, name: str, kind: Array, tensor: str) -> None:
        """An array, under the name of a tensor that all functions know it by."""
        self._tensors.setdefault(tensor, kind)
        self.scope.declare(name, Tensor(kind, list(self._tensors).index(tensor)))

    def assign(self, name: ast.Name, value: ast.Expression) -> None:
        """Gives a variable a value."""
        meaning = self.scope.find(name.name)
        if not isinstance(meaning, Symbol):
            raise NotApplicable(f"{name.name!r} is not a variable")
        self.scope.replace(name.name, Symbol(self.converted(value, meaning.value.type), const=False))

    # --- what expressions come to

    def type_of(self, kind: ast.Type, node: Any) -> CType:
        """A type as the checker sees it, with its extents."""
        try:
            return self._expressions.type_of(kind, node)
        except KernelError as error:
            raise NotApplicable(error.message) from None

    def value(self, node: ast.Expression) -> Typed:
        """A Constant, also for addresses; a Load of an element; or something else, which depends on data."""
        try:
            return self._expressions.value(node)
        except KernelError as error:
            raise NotApplicable(error.message) from None

    def constant(self, node: ast.Expression) -> Constant:
        """The value of an expression. Raises NotApplicable if it depends on data."""
        value = self.value(node)
        return _fixed(value, node)

    def truth(self, node: ast.Expression) -> bool:
        """True if a condition holds. Raises NotApplicable if that depends on data."""
        return bool(self.constant(node).value)

    def converted(self, node: ast.Expression, kind: CType) -> Constant:
        """The value of an expression as a variable of a type holds it. Raises NotApplicable if it depends on data."""
        try:
            value = self._expressions.assigned(self._expressions.value(node), kind, node)
        except KernelError as error:
            raise NotApplicable(error.message) from None
        return _fixed(value, node)

    def place(self, value: Typed) -> TensorByte | None:
        """The place of an element or address, or None of a null pointer. Raises NotApplicable if it depends on data, or
        lies outside of all tensors."""
        pointer = value.pointer if isinstance(value, Load) else value
        if not isinstance(pointer, Constant):
            raise NotApplicable("an address depends on data")
        number, byte = divmod(int(pointer.value), 1 << POINTER_SHIFT)
        if not number and not byte:
            return None
        tensor = dict(enumerate(self._tensors, 1)).get(number)
        if tensor is None or byte > self._tensors[tensor].size:
            raise NotApplicable("an address lies outside of all tensors")
        return TensorByte(tensor, byte)

    def operand(self, node: ast.Expression) -> Value:
        """A number, 0 for a null pointer, or a place. Raises NotApplicable if it depends on data."""
        value = self.constant(node)
        return (self.place(value) or 0) if is_address(value) else number(value)

    def element(self, node: ast.Expression) -> tuple[TensorByte, int]:
        """The place of an element of a tensor, and its bytes. Raises NotApplicable for another expression, and for a
        place that depends on data."""
        value = self.value(node)
        place = self.place(value) if isinstance(value, Load) else None
        if place is None:
            _depends_on_data(node)
        kind = element_of(self._tensors[place.tensor])
        if value.type != kind:
            raise NotApplicable(f"{place.tensor!r} is accessed as {value.type}")
        return place, kind.size


def _fixed(value: Typed, node: Any) -> Constant:
    if isinstance(value, Address):
        return Constant(value.type, value.value)
    return value if isinstance(value, Constant) else _depends_on_data(node)


def is_address(value: Constant) -> bool:
    """True if a constant is an address, perhaps one that a cast made a number: no other number is as large."""
    return isinstance(value.type, Pointer) or (value.type in (INT64, UINT64) and value.value >= 1 << POINTER_SHIFT)


def number(value: Constant) -> int | float:
    """The number that a constant is: registers hold large unsigned ones as negative."""
    unsigned = isinstance(value.type, Scalar) and not value.type.signed and isinstance(value.value, int)
    return int(value.value) & ((1 << 64) - 1) if unsigned else value.value


def _depends_on_data(node: ast.Expression) -> NoReturn:
    line = f" in line {node.line}" if node.line else ""
    raise NotApplicable(f"'{print_expression(node)}'{line} depends on data")
