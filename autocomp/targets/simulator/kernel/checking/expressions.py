"""Checks the expressions of a function: syntax tree to typed expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from autocomp.data import closest
from autocomp.targets.simulator.kernel.checking.conversions import Conversions
from autocomp.targets.simulator.kernel.checking.scope import Scope, Symbol, Tensor, Unit, constant_of, describe
from autocomp.targets.simulator.kernel.code.arithmetic import (
    add_to_pointer,
    binary,
    compare_pointers,
    convert,
    load,
    negated_truth,
    operation,
    register,
    retype,
    select,
    to_float32,
    truth,
    unary,
)
from autocomp.targets.simulator.kernel.code.bytecode import POINTER_SHIFT, Code
from autocomp.targets.simulator.kernel.code.typed import (
    Assign,
    Check,
    Constant,
    Load,
    Logical,
    Select,
    Sequence,
    Value,
    Variable,
    is_null,
)
from autocomp.targets.simulator.kernel.code.types import (
    DOUBLE,
    FLOAT,
    INT,
    INT64,
    NARROW_FLOATS,
    UINT,
    UINT64,
    VOID,
    Array,
    CType,
    Pointer,
    Scalar,
    Void,
    common,
)
from autocomp.targets.simulator.kernel.syntax import ast

MAX_RANK = 8
MAX_BYTES = 1 << 40  # of one array: offsets in pointers have 48 bits
BUILTIN_NAMES = {"NULL": Constant(Pointer(VOID), 0), "true": Constant(INT, 1), "false": Constant(INT, 0)}


class Expressions(Conversions):
    """The expressions of one function; `call` checks a call.

    `valued` are the registers of variables declared without a value that surely have one where the next expression is
    evaluated; reading any other of them is checked when the kernel runs.
    """

    def __init__(self, unit: Unit, scope: Scope, new_slot: Callable[[Any], int]) -> None:
        super().__init__(unit, new_slot)
        self.scope = scope
        self.call: Callable[[ast.Call], Value]
        self.valued: frozenset[int] = frozenset()
        self._rules: dict[type, Callable[[Any], Value]] = {
            ast.IntLiteral: self._integer,
            ast.FloatLiteral: self._float,
            ast.StringLiteral: lambda node: self.fail(
                node, "text is there to be printed, and only in a program with main()"
            ),
            ast.Name: self._loaded,
            ast.Index: self._loaded,
            ast.Unary: self._unary,
            ast.Binary: self._binary,
            ast.Conditional: self._conditional,
            ast.Cast: self._cast,
            ast.SizeOf: self._sizeof,
            ast.Call: lambda node: self.call(node),
            ast.Assignment: self._assignment,
            ast.Increment: self._step,
            ast.InitializerList: lambda node: self.fail(node, "a list in braces can only initialise an array"),
        }

    # --- entry points ---

    def value(self, node: ast.Expression) -> Value:
        """The typed value of an expression; arrays decay to pointers."""
        return self._rules[type(node)](node)

    def effect(self, node: ast.Expression) -> Value:
        """An expression whose value is not used."""
        if isinstance(node, ast.Increment):
            changed = self._assign(self.place(node.target), node, node.operator[0], Constant(INT, 1))
            return self._given(node.target, changed, read=True)
        return self.value(node)

    def scalar(self, node: ast.Expression) -> Value:
        """A value of arithmetic type."""
        value = self.value(node)
        if not isinstance(value.type, Scalar):
            self.fail(node, f"a number is needed here, not {describe(value.type)}")
        return value

    def condition(self, node: ast.Expression) -> Value:
        """A value that is tested against zero."""
        value = self.value(node)
        if isinstance(value.type, Void):
            self.fail(node, "a call without a result cannot be a condition")
        if isinstance(value.type, Scalar) and value.type.floating:
            return truth(value)
        return value

    def constant(self, node: ast.Expression, what: str) -> int:
        """The value of an integer constant expression."""
        value = self.value(node)
        if not isinstance(value, Constant) or not isinstance(value.type, Scalar) or value.type.floating:
            self.fail(node, f"{what} must be an integer constant")
        return int(value.value) & ((1 << 64) - 1) if value.type == UINT64 else int(value.value)

    def type_of(self, kind: ast.Type, node: Any) -> CType:
        """A type with its pointer depth and extents resolved."""
        result = self.unit.scalar_or_void(node, kind.name)
        if kind.pointer > MAX_RANK or len(kind.extents) > MAX_RANK:
            self.fail(node, f"a type may have at most {MAX_RANK} dimensions or levels of pointers")
        for _ in range(kind.pointer):
            result = Pointer(result)
        for extent in reversed(kind.extents):
            count = self.constant(extent, "an extent")
            if count <= 0:
                self.fail(extent, f"an extent must be positive, not {count}")
            result = Array(result, count)
            if result.size > MAX_BYTES:
                self.fail(extent, f"an array may take at most 2^{MAX_BYTES.bit_length() - 1} bytes")
        return result

    def _cast(self, node: ast.Cast) -> Value:
        kind = self.type_of(node.type, node)
        if kind in NARROW_FLOATS:
            self.fail(node, f"a value of type {kind}: it is a type of elements in memory", "use float")
        return self.cast(self.value(node.operand), kind, node)

    # --- places ---

    def place(self, node: ast.Expression) -> Variable | Load:
        """The place that an expression designates; of a Load, the type may be an array."""
        if isinstance(node, ast.Name):
            meaning = self.scope.find(node.name)
            if isinstance(meaning, Tensor):
                return Load(meaning.type, Constant(Pointer(meaning.type), (meaning.index + 1) << POINTER_SHIFT), 0)
            if isinstance(meaning, Symbol) and isinstance(meaning.value, Variable) and not meaning.const:
                return meaning.value
            if meaning is None and node.name not in BUILTIN_NAMES and node.name not in self.unit.constants:
                self._unknown(node)
            self.fail(node, f"{node.name!r} is a constant and cannot be assigned or have an address")
        if isinstance(node, ast.Index):
            base, index = self.value(node.base), self.value(node.index)
            if isinstance(index.type, Pointer):
                base, index = index, base
            if not isinstance(base.type, Pointer) or isinstance(base.type.target, Void):
                self.fail(node, f"{describe(base.type)} cannot be indexed", "only arrays and pointers have elements")
            self._need_integer(index, node.index, "an index")
            return load(add_to_pointer(base, index, base.type.target.size))
        if isinstance(node, ast.Unary) and node.operator == "*":
            pointer = self.value(node.operand)
            if not isinstance(pointer.type, Pointer) or isinstance(pointer.type.target, Void):
                self.fail(node, f"{describe(pointer.type)} does not point at anything")
            return load(pointer)
        return self.fail(node, "this is a value: it cannot be assigned and has no address")

    def _unknown(self, node: ast.Name) -> NoReturn:
        known = sorted({*self.scope.names(), *self.unit.constants, *BUILTIN_NAMES})
        near = closest(node.name, known)
        if node.name in self.unit.types:
            self.fail(node, f"{node.name!r} is a type, not a value")
        self.fail(node, f"unknown name {node.name!r}", near and f"did you mean {near!r}?")

    def _loaded(self, node: ast.Name | ast.Index) -> Value:
        if isinstance(node, ast.Name):
            meaning = self.scope.find(node.name)
            if isinstance(meaning, Symbol):
                return self._checked(meaning, node.name)
            if meaning is None:
                if node.name in self.unit.constants:
                    return constant_of(self.unit.constants[node.name])
                if node.name in BUILTIN_NAMES:
                    return BUILTIN_NAMES[node.name]
        return self._decayed(self.place(node))

    def _checked(self, symbol: Symbol, name: str) -> Value:
        """The value of a variable, after a check that it has one where that is not sure."""
        variable, assigned = symbol.value, symbol.assigned
        if assigned is None or not isinstance(variable, Variable) or variable.slot in self.valued:
            return variable
        self.unit.messages.append(f"{name!r} is read before it has a value")
        return Sequence(variable.type, (Check(VOID, assigned, len(self.unit.messages) - 1),), variable)

    def sometimes(self, node: ast.Expression, check: Callable[[ast.Expression], Value]) -> Value:
        """An expression that is not always evaluated: what it assigns need not have a value after it."""
        before = self.valued
        value = check(node)
        self.valued = before
        return value

    @staticmethod
    def _decayed(place: Variable | Load) -> Value:
        if isinstance(place, Load) and isinstance(place.type, Array):
            return retype(place.pointer, Pointer(place.type.element))
        return place

    # --- literals, operators ---

    def _integer(self, node: ast.IntLiteral) -> Value:
        value, decimal = node.value, node.text[:2].lower() not in ("0x", "0b") and not node.text.startswith("0")
        if "u" in node.suffix:
            kinds: tuple[Scalar, ...] = (UINT, UINT64)
        else:
            kinds = (INT, INT64, UINT64) if decimal else (INT, UINT, INT64, UINT64)
        if "l" in node.suffix:
            kinds = tuple(kind for kind in kinds if kind.bits == 64)
        for kind in kinds:
            if kind.low <= value <= kind.high:
                return Constant(kind, register(value))
        return self.fail(node, f"{value} does not fit into 64 bits")

    def _float(self, node: ast.FloatLiteral) -> Value:
        return Constant(FLOAT, to_float32(node.value)) if node.single else Constant(DOUBLE, node.value)

    def _unary(self, node: ast.Unary) -> Value:
        if node.operator == "&":
            place = self.place(node.operand)
            if isinstance(place, Variable):
                self.fail(node, "a local variable lies in a register and has no address", "use an array of one element")
            return retype(place.pointer, Pointer(place.type))
        if node.operator == "*":
            return self._decayed(self.place(node))
        if node.operator == "!":
            return negated_truth(self.condition(node.operand))
        value = self.scalar(node.operand)
        if node.operator == "~":
            self._need_integer(value, node, "the operand of ~")
        return unary(node.operator, value)

    def _binary(self, node: ast.Binary) -> Value:
        operator = node.operator
        if operator in ("&&", "||"):
            return self._logical(node)
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(left.type, Scalar) and isinstance(right.type, Scalar):
            return self.arithmetic(operator, left, right, node)
        if isinstance(left.type, Void) or isinstance(right.type, Void):
            self.fail(node, f"an operand of {operator!r} is a call without a result")
        return self._pointer_binary(operator, left, right, node)

    def arithmetic(self, operator: str, left: Value, right: Value, node: Any) -> Value:
        assert isinstance(left.type, Scalar)
        assert isinstance(right.type, Scalar)
        if operator in ("%", "&", "|", "^", "<<", ">>"):
            self._need_integer(left, node, f"an operand of {operator!r}")
            self._need_integer(right, node, f"an operand of {operator!r}")
        integers = not (left.type.floating or right.type.floating)
        if operator in ("/", "%") and integers and isinstance(right, Constant) and right.value == 0:
            self.fail(node, "division by zero")
        return binary(operator, left, right)

    def _pointer_binary(self, operator: str, left: Value, right: Value, node: Any) -> Value:
        if operator in ("+", "-") and isinstance(left.type, Pointer) and isinstance(right.type, Scalar):
            self._need_integer(right, node, "an offset")
            return add_to_pointer(left, right, left.type.target.size, subtract=operator == "-")
        if operator == "+" and isinstance(right.type, Pointer) and isinstance(left.type, Scalar):
            self._need_integer(left, node, "an offset")
            return add_to_pointer(right, left, right.type.target.size)
        if operator == "-" and isinstance(left.type, Pointer) and left.type == right.type:
            self.unit.numeric_addresses.add(node.line)
            difference = operation(INT64, Code.Sub, retype(left, INT64), retype(right, INT64))
            return operation(INT64, Code.Div, difference, Constant(INT64, left.type.target.size))
        if operator in ("==", "!=", "<", "<=", ">", ">="):
            comparable = (isinstance(left.type, Pointer) or is_null(left)) and (
                isinstance(right.type, Pointer) or is_null(right)
            )
            if comparable:
                if not (is_null(left) or is_null(right)):
                    self.unit.numeric_addresses.add(node.line)
                return compare_pointers(operator, retype(left, UINT64), retype(right, UINT64))
        return self.fail(node, f"{describe(left.type)} {operator} {describe(right.type)} has no meaning")

    def _logical(self, node: ast.Binary) -> Value:
        left, right = self.condition(node.left), self.sometimes(node.right, self.condition)
        conjunction = node.operator == "&&"
        if isinstance(left, Constant):
            return truth(right) if bool(left.value) is conjunction else Constant(INT, int(not conjunction))
        return Logical(INT, conjunction, left, right)

    def _conditional(self, node: ast.Conditional) -> Value:
        condition = self.condition(node.condition)
        then, otherwise = self.sometimes(node.then, self.value), self.sometimes(node.otherwise, self.value)
        if isinstance(then.type, Scalar) and isinstance(otherwise.type, Scalar):
            kind: CType = common(then.type, otherwise.type)
            assert isinstance(kind, Scalar)
            return select(condition, convert(then, kind), convert(otherwise, kind), kind)
        kind = otherwise.type if is_null(then) else then.type
        fits = {True: (Pointer, Scalar), False: (Pointer,)}
        for side in (then, otherwise):
            if isinstance(kind, Void):
                matches = isinstance(side.type, Void)
            else:
                matches = isinstance(side.type, fits[is_null(side)])
            if not matches:
                self.fail(node, f"the two sides are {describe(then.type)} and {describe(otherwise.type)}")
        if isinstance(kind, Void):
            return Select(VOID, condition, then, otherwise)
        return select(condition, retype(then, kind), retype(otherwise, kind), kind)

    def _sizeof(self, node: ast.SizeOf) -> Value:
        operand = node.operand
        if isinstance(operand, ast.Type):
            return Constant(UINT64, self.type_of(operand, node).size)
        if isinstance(operand, ast.Index) or (
            isinstance(operand, ast.Name) and isinstance(self.scope.find(operand.name), Tensor)
        ):
            return Constant(UINT64, self.place(operand).type.size)
        kind = self.sometimes(operand, self.value).type
        if isinstance(kind, Void):
            self.fail(node, "a call without a result has no size")
        return Constant(UINT64, kind.size)

    # --- assignment ---

    def _assignment(self, node: ast.Assignment) -> Value:
        changed = self._assign(self.place(node.target), node, node.operator, self.value(node.value))
        return self._given(node.target, changed, read=bool(node.operator))

    def _given(self, target: ast.Expression, assignment: Value, *, read: bool) -> Value:
        """An assignment that also keeps book of a variable declared without a value. `read`: it needs the old one."""
        symbol = self.scope.find(target.name) if isinstance(target, ast.Name) else None
        if not isinstance(target, ast.Name) or not isinstance(symbol, Symbol) or symbol.assigned is None:
            return assignment
        assert isinstance(symbol.value, Variable)
        checked = self._checked(symbol, target.name)
        before = checked.effects if read and isinstance(checked, Sequence) else ()
        if symbol.value.slot in self.valued:
            return assignment
        self.valued |= {symbol.value.slot}
        known = Assign(INT, symbol.assigned, Constant(INT, 1))
        return Sequence(assignment.type, (*before, assignment, known), symbol.value)

    def _assign(
        self, place: Variable | Load, node: ast.Assignment | ast.Increment, operator: str, value: Value
    ) -> Value:
        kind = place.type
        if isinstance(kind, Array | Void):
            self.fail(node, f"{describe(kind)} cannot be assigned", "assign its elements one by one")
        if not operator:
            return Assign(kind, place, self.assigned(value, kind, node))
        effects: tuple[Value, ...] = ()
        if isinstance(place, Load) and not isinstance(place.pointer, Variable | Constant):
            pointer = self.temporary(place.pointer, node)
            effects = (Assign(pointer.type, pointer, place.pointer),)
            place = place._replace(pointer=pointer)
        if isinstance(kind, Scalar) and isinstance(value.type, Scalar):
            changed: Value = convert(self.arithmetic(operator, place, value, node), kind)
        else:
            changed = self.assigned(self._pointer_binary(operator, place, value, node), kind, node)
        result = Assign(kind, place, changed)
        return Sequence(kind, effects, result) if effects else result

    def _step(self, node: ast.Increment) -> Value:
        if node.prefix:
            return self.effect(node)
        place = self.place(node.target)
        effects: tuple[Value, ...] = ()
        if isinstance(place, Load):
            pointer = self.temporary(place.pointer, node)
            effects = (Assign(pointer.type, pointer, place.pointer),)
            place = place._replace(pointer=pointer)
        old = self.temporary(place, node)
        change = self._given(node.target, self._assign(place, node, node.operator[0], Constant(INT, 1)), read=True)
        return Sequence(place.type, (*effects, Assign(place.type, old, place), change), old)

    def _need_integer(self, value: Value, node: Any, what: str) -> None:
        if not isinstance(value.type, Scalar) or value.type.floating:
            self.fail(node, f"{what} must be an integer, not {describe(value.type)}")
