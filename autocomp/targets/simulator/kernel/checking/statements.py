"""Checks the statements of one function and emits them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from autocomp.targets.simulator.isa.formats import encode
from autocomp.targets.simulator.kernel.checking.calls import Calls, Forms
from autocomp.targets.simulator.kernel.checking.expressions import Expressions
from autocomp.targets.simulator.kernel.checking.scope import (
    FunctionSignature,
    Scope,
    Symbol,
    Tensor,
    Unit,
    addressed_names,
    assigned_names,
    is_complete,
    is_const,
    tensor_of,
)
from autocomp.targets.simulator.kernel.code.arithmetic import add_to_pointer, load
from autocomp.targets.simulator.kernel.code.bytecode import DTYPES, POINTER_SHIFT, Code, Service
from autocomp.targets.simulator.kernel.code.emitter import Emitter, FunctionCode
from autocomp.targets.simulator.kernel.code.typed import (
    INT64_HIGH,
    Assign,
    Constant,
    SystemCall,
    Value,
    Variable,
    bounds,
    range_of,
)
from autocomp.targets.simulator.kernel.code.types import (
    INT,
    INT64,
    NARROW_FLOATS,
    Array,
    CType,
    Pointer,
    Scalar,
    Void,
    element_of,
)
from autocomp.targets.simulator.kernel.syntax import ast

MAX_TENSOR_BYTES = 256 << 20  # arrays of a kernel, together
MAX_INITIAL_BYTES = 16 << 20
MAX_INITIAL_STORES = 65_536
MAX_TENSORS = 30_000
_PACKED = dict(zip(DTYPES, "bBhHiIqQfdHHBB", strict=True))


class FunctionCompiler:
    """One function: `compile` gives its code. Arrays go to the unit's tensors."""

    def __init__(self, unit: Unit, function: ast.Function, signature: FunctionSignature | None, forms: Forms) -> None:
        self._unit = unit
        self._function = function
        self._signature = signature  # None: the entry
        self._scope = Scope(unit.globals)
        self._addressed = addressed_names(function)
        self._program = signature is None and unit.kernel.is_program
        self._emitter = Emitter(
            function.line, blocks=signature is None, fail=lambda message: unit.fail(function, message)
        )
        self._expressions = Expressions(unit, self._scope, self._new_slot)
        self._expressions.call = Calls(unit, self._expressions, forms).check
        self._assigned = assigned_names(function)
        self._loops: list[tuple[int, int]] = []  # (label of break, label of continue)
        self._start: dict[int, tuple[int, int]] = {}  # register -> bounds of its variable's initial value
        self._end = self._emitter.new_label()
        self._rules: dict[type, Callable[[Any], None]] = {
            ast.Declaration: self._declaration,
            ast.ExpressionStatement: lambda s: self._emitter.effect(self._expressions.effect(s.expression)),
            ast.Block: self._block,
            ast.If: self._if,
            ast.For: self._for,
            ast.While: self._while,
            ast.DoWhile: self._do,
            ast.Return: self._return,
            ast.Break: lambda s: self._leave(s, 0, "break"),
            ast.Continue: lambda s: self._leave(s, 1, "continue"),
            ast.Comment: lambda s: None,
        }

    def compile(self) -> FunctionCode:
        """The function's code."""
        if self._signature is not None:
            for name, kind in self._signature.parameters:
                self._declare_variable(name, kind, self._function)
        self._scope.open()  # C: the body is a block of its own only for arrays; shadowing a parameter is allowed here
        for statement in self._function.body.statements:
            self._statement(statement)
        self._emitter.line = self._function.body.end_line or self._emitter.line
        if self._signature is None:
            self._emitter.put_label(self._end)
            self._emitter.emit(Code.Halt)
        else:
            result = self._signature.result
            if not isinstance(result, Void):
                self._no_result()
            self._emitter.put_label(self._end)
            self._emitter.emit(Code.Return)
        return self._emitter.finish()

    def _no_result(self) -> None:
        """The end of a function with a result, which no run may reach."""
        self._unit.messages.append(f"{self._function.name!r} ends without a value to return")
        never = self._emitter.new_slot()
        self._emitter.into(Constant(INT, 0), never)
        self._emitter.emit(Code.Assigned, never, imm=len(self._unit.messages) - 1)

    def _new_slot(self, node: Any) -> int:
        return self._emitter.new_slot()

    # --- names ---

    def declare_tensors(self, parameters: Sequence[tuple[ast.KernelParameter, CType]]) -> None:
        """Names the program's first tensors, which are the entry's parameters."""
        for index, (parameter, kind) in enumerate(parameters):
            if self._scope.declared_here(parameter.name):
                self._unit.fail(parameter, f"two parameters are named {parameter.name!r}")
            self._scope.declare(parameter.name, Tensor(kind, index))

    def declare_arguments(self) -> None:
        """Names what `main` is called with: its name alone, so that there is nothing to read."""
        for parameter, value in zip(self._function.parameters, (1, 0), strict=False):
            kind = self._expressions.type_of(parameter.type, parameter)
            self._scope.declare(parameter.name, Symbol(Constant(kind, value), False))

    def _add_tensor(self, name: str, kind: CType, initial: bytes | None, node: Any) -> int:
        unit = self._unit
        unit.tensor_bytes += kind.size
        if unit.tensor_bytes > MAX_TENSOR_BYTES:
            self._unit.fail(node, f"the kernel's arrays take more than {MAX_TENSOR_BYTES >> 20} MiB")
        if len(unit.tensors) >= MAX_TENSORS:
            self._unit.fail(node, f"a kernel may have at most {MAX_TENSORS} arrays")
        if self._scope.declared_here(name):
            self._unit.fail(node, f"{name!r} is declared twice in the same block")
        unit.tensors.append(tensor_of(name, kind, initial, False))
        self._scope.declare(name, Tensor(kind, len(unit.tensors) - 1))
        return len(unit.tensors) - 1

    def _declare_variable(self, name: str, kind: CType, node: Any, value: Value | None = None) -> Variable:
        if self._scope.declared_here(name):
            self._unit.fail(node, f"{name!r} is declared twice in the same block")
        if kind in NARROW_FLOATS:
            self._unit.fail(node, f"a variable of type {kind}: it is a type of elements in memory", "use float")
        low, high = range_of(kind)
        if value is not None and name not in self._assigned.anywhere and _is_integer(kind):
            low, high = bounds(value)
        variable = Variable(kind, self._emitter.new_slot(), low, high)
        if value is not None and _is_integer(kind):
            self._start[variable.slot] = bounds(value)
        self._scope.declare(name, Symbol(variable, False))
        return variable

    def declare_globals(self, declarations: Sequence[ast.Declaration]) -> dict[str, Symbol | Tensor]:
        """Adds what a file declares outside of its functions; nothing of it needs code."""
        for declaration in declarations:
            self._declaration(replace(declaration, static=True))
        return self._scope.innermost()

    # --- statements ---

    def _statement(self, statement: ast.Statement) -> None:
        line = getattr(statement, "line", 0)
        if line:
            self._emitter.line = line
        self._rules[type(statement)](statement)

    def _block(self, block: ast.Block) -> None:
        self._scope.open()
        for statement in block.statements:
            self._statement(statement)
        self._scope.close()

    def _declaration(self, declaration: ast.Declaration) -> None:
        for declarator in declaration.declarators:
            kind = self._expressions.type_of(declarator.type, declarator)
            if not is_complete(kind):
                self._unit.fail(declarator, f"a variable cannot have the type {kind}")
            if isinstance(kind, Array):
                self._array(declaration, declarator, kind)
            elif declarator.name in self._addressed and isinstance(kind, Scalar) and not declaration.static:
                self._in_memory(declarator, kind)
            elif declaration.static:
                self._static(declaration, declarator, kind)
            else:
                self._local(declaration, declarator, kind)

    def _local(self, declaration: ast.Declaration, declarator: ast.Declarator, kind: CType) -> None:
        name = declarator.name
        if declarator.initializer is None:
            self._without_value(declaration, declarator, kind)
            return
        initial = self._expressions.value(self._single(declarator.initializer))
        value = self._expressions.assigned(initial, kind, declarator.initializer)
        if isinstance(value, Constant) and name not in self._assigned.anywhere:
            if self._scope.declared_here(name):
                self._unit.fail(declarator, f"{name!r} is declared twice in the same block")
            self._scope.declare(name, Symbol(value, is_const(declaration, kind)))
            return
        variable = self._declare_variable(name, kind, declarator, value)
        self._emitter.into(value, variable.slot)
        if is_const(declaration, kind):
            self._scope.declare(name, Symbol(variable, True))

    def _in_memory(self, declarator: ast.Declarator, kind: Scalar) -> None:
        """A variable with an address is an array of one element."""
        value: Value | None = None
        if declarator.initializer is not None:
            initial = self._expressions.value(self._single(declarator.initializer))
            value = self._expressions.assigned(initial, kind, declarator.initializer)
        index = self._add_tensor(declarator.name, kind, None, declarator)
        if value is None:
            self._emitter.emit(Code.Undefine, imm=index)
        else:
            place = load(Constant(Pointer(kind), (index + 1) << POINTER_SHIFT))
            self._emitter.effect(Assign(kind, place, value))

    def _without_value(self, declaration: ast.Declaration, declarator: ast.Declarator, kind: CType) -> None:
        """A variable that has no value until it is assigned; a second register says whether it was."""
        variable = self._declare_variable(declarator.name, kind, declarator)
        assigned = Variable(INT, self._emitter.new_slot(), 0, 1)
        self._emitter.into(Constant(INT, 0), assigned.slot)
        self._scope.declare(declarator.name, Symbol(variable, is_const(declaration, kind), assigned))

    def _single(self, initializer: ast.Expression) -> ast.Expression:
        """`{x}` initialises a scalar as `x` does."""
        if isinstance(initializer, ast.InitializerList) and len(initializer.values) == 1:
            return initializer.values[0]
        return initializer

    def _static(self, declaration: ast.Declaration, declarator: ast.Declarator, kind: CType) -> None:
        """Initialised once a run: a register of the entry, which is entered once; memory in a helper."""
        value: Value = Constant(kind, 0.0 if _is_floating(kind) else 0)
        if declarator.initializer is not None:
            initial = self._expressions.value(self._single(declarator.initializer))
            value = self._expressions.assigned(initial, kind, declarator.initializer)
        if not isinstance(value, Constant):
            self._unit.fail(declarator, f"static {declarator.name!r} must be initialised with a constant")
        if declarator.name not in self._assigned.anywhere:
            if self._scope.declared_here(declarator.name):
                self._unit.fail(declarator, f"{declarator.name!r} is declared twice in the same block")
            self._scope.declare(declarator.name, Symbol(value, is_const(declaration, kind)))
        elif self._signature is None:
            variable = self._declare_variable(declarator.name, kind, declarator)
            self._emitter.prologue_store(value, variable.slot)
        elif isinstance(kind, Scalar):
            packed = struct.pack("<" + _PACKED[kind.dtype], _stored(value, kind))
            self._add_tensor(declarator.name, kind, packed, declarator)
        else:
            self._unit.fail(declarator, "a static pointer in a helper is not supported", "declare it in the entry")

    def _array(self, declaration: ast.Declaration, declarator: ast.Declarator, kind: Array) -> None:
        initializer = declarator.initializer
        values: list[tuple[int, Value, Any]] = []
        if initializer is not None:
            self._flatten(initializer, kind, 0, values)
        constant = all(isinstance(value, Constant) for _, value, _ in values)
        once = declaration.static or (self._signature is None and not self._loops)
        if declaration.static and not constant:
            self._unit.fail(declarator, f"static {declarator.name!r} must be initialised with constants")
        initial = None
        if constant and once and any(value.value != 0 for _, value, _ in values):  # type: ignore[union-attr]
            initial = self._packed(kind, values, declarator)
        index = self._add_tensor(declarator.name, kind, initial, declarator)
        if initializer is None and not declaration.static:
            self._emitter.emit(Code.Undefine, imm=index)
        if initializer is not None and not (constant and once):
            self._store_all(kind, index, values, declarator)

    def _flatten(self, node: ast.Expression, kind: CType, start: int, out: list[tuple[int, Value, Any]]) -> None:
        """Appends (element number, value, node) of a braced initialiser; rows may be braced or left flat."""
        if not isinstance(kind, Array):
            value = self._expressions.value(self._single(node))
            out.append((start, self._expressions.assigned(value, kind, node), node))
            return
        if not isinstance(node, ast.InitializerList):
            self._unit.fail(node, f"{kind} is initialised by a list in braces")
        flat = not any(isinstance(value, ast.InitializerList) for value in node.values)
        element = element_of(kind) if flat else kind.element
        step, count = element.size // element_of(kind).size, kind.size // element.size
        if len(node.values) > count:
            self._unit.fail(node.values[count], f"{kind} has {count} elements here; the list has {len(node.values)}")
        for position, value_node in enumerate(node.values):
            self._flatten(value_node, element, start + position * step, out)

    def _packed(self, kind: Array, values: list[tuple[int, Value, Any]], node: Any) -> bytes:
        element = element_of(kind)
        assert isinstance(element, Scalar)
        if kind.size > MAX_INITIAL_BYTES:
            self._unit.fail(node, f"an array with initial values may have at most {MAX_INITIAL_BYTES >> 20} MiB")
        buffer = bytearray(kind.size)
        for position, value, _ in values:
            assert isinstance(value, Constant)
            struct.pack_into("<" + _PACKED[element.dtype], buffer, position * element.size, _stored(value, element))
        return bytes(buffer)

    def _store_all(self, kind: Array, index: int, values: list[tuple[int, Value, Any]], node: Any) -> None:
        """An automatic array is initialised whenever its declaration is reached: every element is stored."""
        element = element_of(kind)
        assert isinstance(element, Scalar)
        count = kind.size // element.size
        if count > MAX_INITIAL_STORES:
            self._unit.fail(node, f"initialising {count} elements again and again is too much: make the array static")
        given = {position: value for position, value, _ in values}
        zero = Constant(element, 0.0 if element.floating else 0)
        base = Constant(Pointer(element), (index + 1) << POINTER_SHIFT)
        for position in range(count):
            target = load(add_to_pointer(base, Constant(INT64, position), element.size))
            self._emitter.effect(Assign(element, target, given.get(position, zero)))

    # --- control flow ---

    def _if(self, statement: ast.If) -> None:
        condition = self._expressions.condition(statement.condition)
        otherwise, end = self._emitter.new_label(), self._emitter.new_label()
        before = self._expressions.valued
        self._emitter.branch(condition, otherwise, when=False)
        self._block(statement.then)
        if statement.otherwise is not None:
            self._emitter.jump(end)
        self._emitter.put_label(otherwise)
        after_then, self._expressions.valued = self._expressions.valued, before
        if statement.otherwise is not None:
            self._block(statement.otherwise)
        self._expressions.valued &= after_then
        self._emitter.put_label(end)

    def _for(self, loop: ast.For) -> None:
        self._scope.open()
        if loop.initial is not None:
            self._statement(loop.initial)
        test, end, step, body = (self._emitter.new_label() for _ in range(4))
        condition = None if loop.condition is None else self._expressions.condition(loop.condition)
        self._bound_loop_variable(loop)
        always = condition is None or (isinstance(condition, Constant) and condition.value)
        never = isinstance(condition, Constant) and not condition.value
        self._emitter.jump(body if always else end if never else test)
        self._body(loop.body, body, end, step)
        self._emitter.put_label(step)
        self._emitter.line = loop.line or self._emitter.line
        if loop.step is not None:
            self._emitter.effect(self._expressions.effect(loop.step))
        self._emitter.put_label(test)
        self._emitter.branch(Constant(INT64, 1) if condition is None else condition, body, when=True)
        self._emitter.put_label(end)
        self._emitter.loop_depth -= 1
        self._scope.close()

    def _body(self, block: ast.Block, body: int, end: int, step: int) -> None:
        """A loop's body, after the jump that enters the loop. It may not run, or not to its end."""
        before = self._expressions.valued
        self._emitter.loop_depth += 1
        self._loops.append((end, step))
        self._emitter.put_label(body)
        self._block(block)
        self._loops.pop()
        self._expressions.valued = before

    def _while(self, loop: ast.While) -> None:
        test, end, body = (self._emitter.new_label() for _ in range(3))
        self._emitter.jump(test)
        self._body(loop.body, body, end, test)
        self._emitter.put_label(test)
        self._emitter.line = loop.line or self._emitter.line
        self._emitter.branch(self._expressions.condition(loop.condition), body, when=True)
        self._emitter.put_label(end)
        self._emitter.loop_depth -= 1

    def _do(self, loop: ast.DoWhile) -> None:
        test, end, body = (self._emitter.new_label() for _ in range(3))
        self._emitter.jump(body)
        self._body(loop.body, body, end, test)
        self._emitter.put_label(test)
        self._emitter.branch(self._expressions.condition(loop.condition), body, when=True)
        self._emitter.put_label(end)
        self._emitter.loop_depth -= 1

    def _leave(self, statement: ast.Break | ast.Continue, which: int, word: str) -> None:
        if not self._loops:
            self._unit.fail(statement, f"{word!r} is outside of a loop")
        self._emitter.jump(self._loops[-1][which])

    def _return(self, statement: ast.Return) -> None:
        if self._program:
            code = self._expressions.value(statement.value) if statement.value is not None else Constant(INT, 0)
            self._emitter.effect(SystemCall(INT, Service.Exit, (self._expressions.assigned(code, INT, statement),)))
            return
        result = self._signature.result if self._signature is not None else Void()
        if statement.value is None:
            if not isinstance(result, Void):
                self._unit.fail(statement, f"{self._function.name!r} must return {result}")
        elif isinstance(result, Void):
            self._unit.fail(statement, f"{self._function.name!r} returns nothing")
        else:
            value = self._expressions.assigned(self._expressions.value(statement.value), result, statement.value)
            self._emitter.into(value, 0)
        self._emitter.jump(self._end)

    def _bound_loop_variable(self, loop: ast.For) -> None:
        """Narrows what is known of the variable of a counting loop whose body leaves it alone."""
        counting = self._counting(loop)
        if counting is None:
            return
        name, upward, stride = counting
        symbol = self._scope.find(name)
        if not isinstance(symbol, Symbol) or not isinstance(symbol.value, Variable) or symbol.const:
            return
        variable = symbol.value
        kind = variable.type
        assert isinstance(loop.condition, ast.Binary)
        limit = self._expressions.value(loop.condition.right)
        if not isinstance(kind, Scalar) or variable.slot not in self._start or not _is_integer(limit.type):
            return
        (low, high), (limit_low, limit_high) = self._start[variable.slot], bounds(limit)
        strict = loop.condition.operator in ("<", ">")
        if upward and low >= 0 and limit_low >= 0:
            high = max(low, limit_high - strict)
            if high + stride <= min(kind.high, INT64_HIGH):
                self._scope.replace(name, Symbol(variable._replace(low=low, high=high), False))
        elif not upward and kind.signed and low >= 0 and limit_low >= 0:
            self._scope.replace(name, Symbol(variable._replace(low=min(limit_low + strict, high), high=high), False))

    def _counting(self, loop: ast.For) -> tuple[str, bool, int] | None:
        """(variable, counts upward, step) of `for (T v = …; v < …; v += c)` and its like."""
        condition, step = loop.condition, loop.step
        if not isinstance(loop.initial, ast.Declaration) or not isinstance(condition, ast.Binary):
            return None
        if not isinstance(condition.left, ast.Name) or not isinstance(step, ast.Increment | ast.Assignment):
            return None
        name = condition.left.name
        if not isinstance(step.target, ast.Name) or step.target.name != name:
            return None
        if name in self._assigned.outside_own_step or all(d.name != name for d in loop.initial.declarators):
            return None
        stride: Value = Constant(INT64, 1)
        if isinstance(step, ast.Assignment):
            stride = self._expressions.value(step.value)
        if not isinstance(stride, Constant) or not _is_integer(stride.type) or stride.value <= 0:
            return None
        operator = step.operator[:1]
        if (operator, condition.operator[0]) not in (("+", "<"), ("-", ">")):
            return None
        return name, operator == "+", int(stride.value)


def _is_floating(kind: CType) -> bool:
    return isinstance(kind, Scalar) and kind.floating


def _is_integer(kind: CType) -> bool:
    return isinstance(kind, Scalar) and not kind.floating


def _stored(value: Constant, kind: Scalar) -> int | float:
    """A constant as struct.pack wants it: uint64_t as a non-negative number, floats of fewer bits as those."""
    if kind in NARROW_FLOATS:
        return encode(float(value.value), kind.dtype)
    if kind.floating:
        return value.value
    return int(value.value) & ((1 << 64) - 1) if not kind.signed else int(value.value)
