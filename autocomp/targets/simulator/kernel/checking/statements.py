"""Checks the statements of one function and emits them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from autocomp.targets.simulator.kernel.checking.calls import Calls, Forms
from autocomp.targets.simulator.kernel.checking.counting import narrow_variable
from autocomp.targets.simulator.kernel.checking.expressions import Expressions
from autocomp.targets.simulator.kernel.checking.initial_values import (
    Element,
    elements,
    packed,
    packed_array,
    single,
    stores,
)
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
from autocomp.targets.simulator.kernel.code.arithmetic import load
from autocomp.targets.simulator.kernel.code.bytecode import POINTER_SHIFT, Code, Service
from autocomp.targets.simulator.kernel.code.emitter import Emitter, FunctionCode
from autocomp.targets.simulator.kernel.code.typed import (
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
    is_integer,
)
from autocomp.targets.simulator.kernel.syntax import ast

MAX_TENSOR_BYTES = 256 << 20  # arrays of a kernel, together
MAX_TENSORS = 30_000


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
        if value is not None and name not in self._assigned.anywhere and is_integer(kind):
            low, high = bounds(value)
        variable = Variable(kind, self._emitter.new_slot(), low, high)
        if value is not None and is_integer(kind):
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
        initial = self._expressions.value(single(declarator.initializer))
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
            initial = self._expressions.value(single(declarator.initializer))
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

    def _static(self, declaration: ast.Declaration, declarator: ast.Declarator, kind: CType) -> None:
        """Initialised once a run: a register of the entry, which is entered once; memory in a helper."""
        value: Value = Constant(kind, 0.0 if _is_floating(kind) else 0)
        if declarator.initializer is not None:
            initial = self._expressions.value(single(declarator.initializer))
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
            self._add_tensor(declarator.name, kind, packed(value, kind), declarator)
        else:
            self._unit.fail(declarator, "a static pointer in a helper is not supported", "declare it in the entry")

    def _array(self, declaration: ast.Declaration, declarator: ast.Declarator, kind: Array) -> None:
        initializer = declarator.initializer
        values: list[Element] = []
        if initializer is not None:
            values += elements(self._unit, self._expressions, initializer, kind)
        constant = all(isinstance(value, Constant) for _, value, _ in values)
        once = declaration.static or (self._signature is None and not self._loops)
        if declaration.static and not constant:
            self._unit.fail(declarator, f"static {declarator.name!r} must be initialised with constants")
        initial = None
        if constant and once and any(value.value != 0 for _, value, _ in values):  # type: ignore[union-attr]
            initial = packed_array(self._unit, kind, values, declarator)
        index = self._add_tensor(declarator.name, kind, initial, declarator)
        if initializer is None and not declaration.static:
            self._emitter.emit(Code.Undefine, imm=index)
        if initializer is not None and not (constant and once):
            for store in stores(self._unit, kind, index, values, declarator):
                self._emitter.effect(store)

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
        narrow_variable(loop, self._scope, self._expressions, self._assigned, self._start)
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


def _is_floating(kind: CType) -> bool:
    return isinstance(kind, Scalar) and kind.floating
