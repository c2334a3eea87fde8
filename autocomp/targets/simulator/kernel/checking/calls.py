"""Checks calls: instructions and aliases of the accelerator, helpers of the file, host builtins."""

from __future__ import annotations

import difflib
from collections import Counter
from functools import cached_property
from typing import Any, NoReturn

from autocomp.targets.simulator.isa import tree
from autocomp.targets.simulator.isa.model import Accelerator, Alias, Instruction, Parameter, Procedure
from autocomp.targets.simulator.isa.show import show
from autocomp.targets.simulator.kernel.checking.expressions import Expressions
from autocomp.targets.simulator.kernel.checking.scope import FunctionSignature, Unit, describe
from autocomp.targets.simulator.kernel.checking.system import SYSTEM, System
from autocomp.targets.simulator.kernel.code.arithmetic import (
    binary,
    convert,
    negated_truth,
    retype,
    select,
    to_float32,
    truth,
    unary,
)
from autocomp.targets.simulator.kernel.code.typed import (
    Assign,
    Constant,
    FunctionCall,
    HostCall,
    Issue,
    Logical,
    Select,
    Sequence,
    Value,
    Variable,
    is_null,
    is_pure,
)
from autocomp.targets.simulator.kernel.code.types import (
    FLOAT,
    INT,
    INT64,
    UINT,
    VOID,
    Pointer,
    Scalar,
    Void,
    element_of,
)
from autocomp.targets.simulator.kernel.syntax import ast

Forms = dict[str, dict[int, Instruction | Alias]]

# Host builtins in the interpreter's order: (name, tensors, counts).
BUILTINS = (("add_matrix", ("A", "B", "out"), ("rows", "cols")), ("negate_matrix", ("in", "out"), ("rows", "cols")))
ABSENT = frozenset(["fprintf", "scanf", "malloc", "calloc"]) | {
    "free", "memcpy", "memset", "memmove", "rand", "time", "fopen", "getenv", "system",
}  # fmt: skip
NO_LIBRARY = "a kernel has no I/O, no heap and no C library"
MAX_EXPANSION = 16  # aliases defined over aliases


def call_forms(accelerator: Accelerator) -> Forms:
    """All calls that there are: name -> number of arguments -> the instruction or alias."""
    forms: Forms = {}
    for instruction in accelerator.instructions:
        if not instruction.sent:
            forms.setdefault(instruction.name, {})[len(instruction.parameters)] = instruction
    for alias in accelerator.aliases:
        if not alias.trace:
            forms.setdefault(alias.name, {})[len(alias.parameters)] = alias
    return forms


def spelled(form: Instruction | Alias) -> str:
    """`name(parameter, …)`."""
    names = (p if isinstance(p, str) else p.name for p in form.parameters)
    return f"{form.name}({', '.join(names)})"


class Calls:
    """The calls of one function."""

    def __init__(self, unit: Unit, expressions: Expressions, forms: Forms) -> None:
        self._unit = unit
        self._expressions = expressions
        self._forms = forms
        self._system = System(unit, expressions)
        self._index = {instruction.name: i for i, instruction in enumerate(unit.accelerator.instructions)}

    def check(self, node: ast.Call) -> Value:
        """The typed form of a call."""
        helper = self._unit.functions.get(node.function) or self._unit.procedures.get(node.function)
        if helper is not None:
            if node.function in self._unit.program_only and not self._system_is_there:
                self._unit.fail(node, f"only a program with main() may call {node.function!r}")
            return self._helper(node, helper)
        if node.function in self._forms:
            return self._machine(node, self._forms[node.function])
        for number, (name, tensors, counts) in enumerate(BUILTINS):
            if node.function == name:
                return self._host(node, number, tensors, counts)
        if node.function in SYSTEM:
            if not self._system_is_there:
                self._unit.fail(
                    node, f"{node.function!r} does not exist here: {NO_LIBRARY}", "a program with main() may"
                )
            return self._system.call(node)
        return self._unknown(node)

    @property
    def _system_is_there(self) -> bool:
        """True of a program, and of a procedure, which a program may call."""
        return self._unit.kernel.is_program or self._unit.kernel.entry.name in self._procedure_names

    @cached_property
    def _procedure_names(self) -> frozenset[str]:
        return frozenset(procedure.name for procedure in self._unit.accelerator.all_procedures)

    def _unknown(self, node: ast.Call) -> NoReturn:
        name = node.function
        if name in ABSENT:
            self._unit.fail(node, f"{name!r} does not exist here: {NO_LIBRARY}")
        if any(function.name == name for function in self._unit.kernel.functions):
            self._unit.fail(node, f"{name!r} is called before its definition", "helpers come first; no recursion")
        condition = self._unit.accelerator.absent.get(name)
        if condition is not None:
            machine = self._unit.accelerator.full_name
            self._unit.fail(
                node,
                f"{machine} has no {name!r}: that needs {condition}",
                "`autocomp isa list` shows the configurations",
            )
        procedures = (procedure.name for procedure in self._unit.accelerator.procedures)
        known = [*self._forms, *procedures, *self._unit.functions, *(builtin[0] for builtin in BUILTINS)]
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        quoted = " or ".join(repr(word) for word in near)
        self._unit.fail(node, f"unknown function {name!r}", quoted and f"did you mean {quoted}?")

    def _arity(self, node: ast.Call, expected: str) -> NoReturn:
        given = len(node.arguments)
        self._unit.fail(node, f"wrong number of arguments of {node.function!r}: {given} given", expected)

    # --- helpers and host builtins ---

    def _helper(self, node: ast.Call, function: FunctionSignature) -> Value:
        if len(node.arguments) != len(function.parameters):
            self._arity(node, f"it is {function.name}({', '.join(name for name, _ in function.parameters)})")
        values = tuple(
            self._expressions.assigned(self._expressions.value(argument), kind, argument)
            for argument, (_, kind) in zip(node.arguments, function.parameters, strict=True)
        )
        call = FunctionCall(function.result, function.index, values)
        if node.function in self._unit.procedures and node.function not in self._unit.functions:
            return self._required(node, call, dict(zip((name for name, _ in function.parameters), values, strict=True)))
        return call

    def _required(self, node: ast.Call, call: FunctionCall, bound: dict[str, Value]) -> Value:
        """The call of a procedure whose arguments must meet its requirements; where they do not, that of the one which
        the library names for this."""
        accelerator = self._unit.accelerator
        procedure = next(p for p in accelerator.all_procedures if p.name == node.function)
        instead = accelerator.library.otherwise.get(procedure.name) if self._system_is_there else None
        if instead is not None:
            other = self._unit.procedures[instead.procedure]
            goes = truth(self._translate(instead.condition, bound, procedure, node))
            elsewhere = FunctionCall(other.result, other.index, call.arguments)
            if not isinstance(goes, Constant):
                return Select(VOID, goes, elsewhere, call)
            if goes.value:
                self._meets(node, accelerator.procedure(instead.procedure), bound)
                return elsewhere
        self._meets(node, procedure, bound)
        return call

    def _meets(self, node: ast.Call, procedure: Procedure, bound: dict[str, Value]) -> None:
        for requirement in procedure.requirements:
            holds = self._translate(requirement.condition, bound, procedure, node)
            if not isinstance(holds, Constant):
                what = show(requirement.condition)
                self._unit.fail(node, f"{node.function!r} must be called with constants in {what}", requirement.message)
            if not holds.value:
                self._unit.fail(node, f"{node.function!r}: {requirement.message}")

    def _host(self, node: ast.Call, number: int, tensors: tuple[str, ...], counts: tuple[str, ...]) -> Value:
        names = (*tensors, *counts)
        if len(node.arguments) != len(names):
            self._arity(node, f"it is {node.function}({', '.join(names)})")
        values = []
        for name, argument in zip(names, node.arguments, strict=True):
            value = self._expressions.value(argument)
            if name in counts:
                values.append(self._integer(value, name, argument, node))
            else:
                value = self._pointer(value, name, argument, node)
                target = value.type.target if isinstance(value.type, Pointer) else VOID
                if element_of(target) not in (FLOAT, VOID):
                    self._unit.fail(argument, f"{node.function!r} works on float, not {element_of(target)}")
                values.append(value)
        return HostCall(VOID, number, tuple(values), node.line)

    # --- the accelerator ---

    def _machine(self, node: ast.Call, forms: dict[int, Instruction | Alias]) -> Value:
        form = forms.get(len(node.arguments))
        if form is None:
            self._arity(node, "it is " + " or ".join(spelled(forms[count]) for count in sorted(forms)))
        values = tuple(self._expressions.value(argument) for argument in node.arguments)
        for value, argument in zip(values, node.arguments, strict=True):
            if isinstance(value.type, Void):
                self._unit.fail(argument, "a call without a result cannot be an argument")
        if isinstance(form, Instruction):
            return self._issue(form, values, node, node.arguments)
        effects: list[Value] = []
        self._expand(form, values, node, effects, 0)
        return effects[0] if len(effects) == 1 else Sequence(VOID, tuple(effects), Constant(VOID, 0))

    def _issue(self, form: Instruction, values: tuple[Value, ...], node: ast.Call, places: Any = None) -> Value:
        places = places or [node] * len(values)
        arguments = tuple(
            self._operand(parameter, value, place, node)
            for parameter, value, place in zip(form.parameters, values, places, strict=True)
        )
        return Issue(VOID, self._index[form.name], arguments, node.line)

    def _operand(self, parameter: Parameter, value: Value, place: Any, node: ast.Call) -> Value:
        if parameter.kind == "pointer":
            return self._pointer(value, parameter.name, place, node)
        if isinstance(value.type, Pointer) and not is_null(value):
            what = "a local address" if parameter.kind == "address" else "a number"
            self._refuse(node, parameter.name, f"{what}, not the address of a tensor", place)
        if isinstance(value.type, Pointer):
            value = Constant(INT, 0)
        assert isinstance(value.type, Scalar)
        if parameter.kind == "float":
            return convert(value, FLOAT)
        if parameter.kind == "address":
            if value.type.floating:
                self._refuse(node, parameter.name, f"a local address, not {value.type}", place)
            return convert(value, UINT)
        result = self._integer(value, parameter.name, place, node)
        low, high = parameter.low, parameter.high
        if isinstance(result, Constant):
            number = int(result.value)
            if (low is not None and number < low) or (high is not None and number > high):
                end = f"at most {high}" if low is None else f"at least {low}" if high is None else f"{low} to {high}"
                elsewhere = self._unit.accelerator.elsewhere(parameter)
                self._refuse(node, parameter.name, f"{end}, not {number}{elsewhere}", place)
        return result

    def _refuse(self, node: ast.Call, parameter: str, rest: str, place: Any) -> NoReturn:
        at = place if getattr(place, "line", 0) else node
        self._unit.fail(at, f"argument {parameter!r} of {node.function!r} must be {rest}")

    def _integer(self, value: Value, name: str, place: Any, node: ast.Call) -> Value:
        if not isinstance(value.type, Scalar):
            self._refuse(node, name, f"a number, not {describe(value.type)}", place)
        return convert(value, INT64)

    def _pointer(self, value: Value, name: str, place: Any, node: ast.Call) -> Value:
        if isinstance(value.type, Pointer) or is_null(value):
            return value
        if isinstance(value.type, Scalar) and value.type.bits == 64 and not value.type.floating:
            return value
        expected = f"the address of a tensor, as in &A[i][j], or 0, not {describe(value.type)}"
        return self._refuse(node, name, expected, place)

    # --- aliases ---

    def _expand(self, alias: Alias, values: tuple[Value, ...], node: ast.Call, out: list[Value], depth: int) -> None:
        if depth > MAX_EXPANSION:
            self._unit.fail(node, f"alias {alias.name!r} expands into itself")
        uses = Counter(name for _, arguments in alias.expansion for e in arguments for name in _names(e))
        bound: dict[str, Value] = {}
        for name, value in zip(alias.parameters, values, strict=True):
            simple = isinstance(value, Constant | Variable) or (uses[name] == 1 and is_pure(value))
            if not simple:
                variable = self._expressions.temporary(value, node)
                out.append(Assign(value.type, variable, value))
                value = variable
            bound[name] = value
        for callee, arguments in alias.expansion:
            form = self._forms.get(callee, {}).get(len(arguments))
            if form is None:
                self._unit.fail(node, f"alias {alias.name!r} expands to {callee!r}, which does not exist")
            operands = tuple(self._translate(argument, bound, alias, node) for argument in arguments)
            if isinstance(form, Instruction):
                places = [self._written(argument, alias, node) for argument in arguments]
                out.append(self._issue(form, operands, node, places))
            else:
                self._expand(form, operands, node, out, depth + 1)

    @staticmethod
    def _written(argument: tree.Expression, alias: Alias, node: ast.Call) -> Any:
        """Where the kernel wrote what an expansion passes on, or the call."""
        if isinstance(argument, tree.Name) and argument.name in alias.parameters:
            position = alias.parameters.index(argument.name)
            if position < len(node.arguments) and len(alias.parameters) == len(node.arguments):
                return node.arguments[position]
        return node

    def _translate(self, e: tree.Expression, bound: dict[str, Value], form: Alias | Procedure, node: ast.Call) -> Value:
        """An argument expression of an alias: 64-bit integers, or binary32."""
        if isinstance(e, tree.Number):
            return Constant(FLOAT, to_float32(e.value)) if isinstance(e.value, float) else Constant(INT64, e.value)
        if isinstance(e, tree.Name):
            if e.name in bound:
                return bound[e.name]
            constant = self._unit.accelerator.constants.get(e.name)
            if constant is not None:
                return self._translate(tree.Number(constant), bound, form, node)
        operands = [self._wide(self._translate(part, bound, form, node)) for part in _parts(e)]
        if isinstance(e, tree.Unary):
            return negated_truth(operands[0]) if e.operator == "!" else unary(e.operator, operands[0])
        if isinstance(e, tree.Binary):
            if e.operator in ("&&", "||"):
                left, right, conjunction = truth(operands[0]), truth(operands[1]), e.operator == "&&"
                if isinstance(left, Constant):
                    return right if bool(left.value) is conjunction else left
                return Logical(INT, conjunction, left, right)
            return self._expressions.arithmetic(e.operator, operands[0], operands[1], node)
        if isinstance(e, tree.Conditional):
            kind = FLOAT if FLOAT in (operands[1].type, operands[2].type) else INT64
            return select(truth(operands[0]), convert(operands[1], kind), convert(operands[2], kind), kind)
        if isinstance(e, tree.Call):
            return self._function(e, operands, form, node)
        return self._unit.fail(node, f"{form.name!r} uses what a call form cannot: {e}")

    def _wide(self, value: Value) -> Value:
        if isinstance(value.type, Pointer):
            return retype(value, INT64)
        assert isinstance(value.type, Scalar)
        return convert(value, FLOAT if value.type.floating else INT64)

    def _function(self, e: tree.Call, operands: list[Value], form: Alias | Procedure, node: ast.Call) -> Value:
        kind = FLOAT if any(o.type == FLOAT for o in operands) else INT64
        if e.function in ("min", "max"):
            left, right = (convert(operand, kind) for operand in operands)
            test = binary("<" if e.function == "min" else ">", left, right)
            return select(test, left, right, kind)
        if e.function == "ceil_div":
            less_one = binary("-", operands[1], Constant(INT64, 1))
            return binary("/", binary("+", operands[0], less_one), operands[1])
        if e.function in ("float", "int"):
            return convert(operands[0], FLOAT if e.function == "float" else INT64)
        return self._unit.fail(node, f"{form.name!r} uses {e.function}(), which a call form cannot")


def _parts(e: tree.Expression) -> tuple[tree.Expression, ...]:
    if isinstance(e, tree.Unary):
        return (e.operand,)
    if isinstance(e, tree.Binary):
        return e.left, e.right
    if isinstance(e, tree.Conditional):
        return e.condition, e.then, e.otherwise
    return e.arguments if isinstance(e, tree.Call) else ()


def _names(e: tree.Expression) -> list[str]:
    if isinstance(e, tree.Name):
        return [e.name]
    return [name for part in _parts(e) for name in _names(part)]
