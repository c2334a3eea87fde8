"""Executes what a kernel's host code does without data: loops, helpers and scalars go, commands with constants stay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod

from autocomp.isa.model import Accelerator
from autocomp.kernel import ast
from autocomp.transforms.affine import literal
from autocomp.transforms.protocol import NotApplicable
from autocomp.transforms.rewrite import all_names, fresh
from autocomp.transforms.straight.places import (
    DependsOnData,
    Number,
    Place,
    Value,
    constant,
    converted,
    element_of,
    element_size,
)

MAX_STATEMENTS = 4_000  # of a kernel that is written out
_MAX_ITERATIONS = 50_000

_OPERATORS: Mapping[str, Callable[[Number, Number], Number]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
}
_BITWISE: Mapping[str, Callable[[int, int], int]] = {
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "/": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "%": lambda a, b: a - b * (abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)),
}


class _Return(Exception):
    """Control leaves a function."""


class _Leave(Exception):
    """Control leaves an iteration, or (`loop`) the loop."""

    def __init__(self, loop: bool) -> None:
        super().__init__()
        self.loop = loop


@dataclass
class _Variable:
    type: ast.Type
    value: Value | None


def written_out(
    kernel: ast.Kernel, accelerator: Accelerator, constants: Mapping[str, int | float]
) -> tuple[ast.Statement, ...]:
    """The statements that a kernel executes: local arrays, then calls and host arithmetic on elements of tensors with
    constant operands. Raises NotApplicable where control depends on data, or there are more than MAX_STATEMENTS."""
    run = _Execution(kernel, accelerator, constants)
    run.function(kernel.entry)
    return (*run.arrays, *run.statements)


class _Execution:
    def __init__(self, kernel: ast.Kernel, accelerator: Accelerator, constants: Mapping[str, int | float]) -> None:
        self._helpers = {function.name: function for function in kernel.functions[:-1]}
        self._accelerator = accelerator
        self._constants = {"true": 1, "false": 0, "NULL": 0, **constants}
        self._scopes: list[dict[str, _Variable]] = []
        self._taken = set(all_names(kernel))
        self._static: dict[int, str] = {}  # arrays by the identity of their declarators
        self._iterations = 0
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.arrays: list[ast.Statement] = []
        self.statements: list[ast.Statement] = []

    # --- functions and statements

    def function(self, function: ast.Function) -> None:
        """Executes the entry function, whose parameters are tensors."""
        scope: dict[str, _Variable] = {}
        for parameter in function.parameters:
            shape = self._shape(parameter.type)
            self.shapes[parameter.name] = shape
            scope[parameter.name] = _Variable(parameter.type, Place(parameter.name, 0, shape))
        self._body(function, scope)

    def _body(self, function: ast.Function, scope: dict[str, _Variable]) -> None:
        outside, self._scopes = self._scopes, [scope]
        try:
            self._block(function.body)
        except _Return:
            pass
        finally:
            self._scopes = outside

    def _block(self, block: ast.Block) -> None:
        self._scopes.append({})
        try:
            for statement in block.statements:
                self._statement(statement)
        finally:
            self._scopes.pop()

    def _statement(self, statement: ast.Statement) -> None:
        try:
            self._execute(statement)
        except DependsOnData as error:
            line = getattr(statement, "line", 0)
            raise NotApplicable(f"the statement in line {line} needs {error}, which depends on data") from None

    def _execute(self, statement: ast.Statement) -> None:
        if isinstance(statement, ast.Declaration):
            self._declare(statement)
        elif isinstance(statement, ast.ExpressionStatement):
            self._expression(statement.expression)
        elif isinstance(statement, ast.Block):
            self._block(statement)
        elif isinstance(statement, ast.If):
            chosen = statement.then if self._truth(statement.condition) else statement.otherwise
            if chosen is not None:
                self._block(chosen)
        elif isinstance(statement, ast.For | ast.While | ast.DoWhile):
            self._loop(statement)
        elif isinstance(statement, ast.Break | ast.Continue):
            raise _Leave(isinstance(statement, ast.Break))
        elif isinstance(statement, ast.Return):
            if statement.value is not None:
                raise DependsOnData("the value of a function")
            raise _Return

    def _loop(self, statement: ast.For | ast.While | ast.DoWhile) -> None:
        self._scopes.append({})
        try:
            if isinstance(statement, ast.For) and statement.initial is not None:
                self._statement(statement.initial)
            first = isinstance(statement, ast.DoWhile)
            while first or statement.condition is None or self._truth(statement.condition):
                first = False
                self._iterations += 1
                if self._iterations > _MAX_ITERATIONS:
                    raise NotApplicable(f"the kernel's loops take more than {_MAX_ITERATIONS} iterations")
                try:
                    self._block(statement.body)
                except _Leave as leave:
                    if leave.loop:
                        break
                if isinstance(statement, ast.For) and statement.step is not None:
                    self._expression(statement.step)
        finally:
            self._scopes.pop()

    def _declare(self, statement: ast.Declaration) -> None:
        for declarator in statement.declarators:
            if declarator.type.extents:
                name = self._array(statement, declarator)
                self._scopes[-1][declarator.name] = _Variable(declarator.type, Place(name, 0, self.shapes[name]))
                continue
            if statement.static:
                raise DependsOnData(f"the static variable {declarator.name!r}")
            given = declarator.initializer
            value = None if given is None else converted(declarator.type, self._value(given))
            self._scopes[-1][declarator.name] = _Variable(declarator.type, value)

    def _array(self, statement: ast.Declaration, declarator: ast.Declarator) -> str:
        """The name of a local array, which is declared once, in front."""
        if id(declarator) not in self._static:
            if declarator.initializer is not None and not statement.static:
                raise DependsOnData(f"the initialised array {declarator.name!r}")
            taken = {*self.shapes, *(self._taken if declarator.name in self.shapes else ())}
            name = self._static[id(declarator)] = fresh(declarator.name, taken)
            self.shapes[name] = self._shape(declarator.type)
            extents = tuple(literal(extent) for extent in self.shapes[name])
            kept = replace(declarator, name=name, type=replace(declarator.type, extents=extents))
            self.arrays.append(replace(statement, declarators=(kept,)))
        return self._static[id(declarator)]

    def _shape(self, kind: ast.Type) -> tuple[int, ...]:
        return tuple(self._integer(extent) for extent in kind.extents)

    # --- effects

    def _expression(self, node: ast.Expression) -> None:
        if isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Assignment | ast.Step):
            self._assign(node)
        else:
            self._value(node)

    def _assign(self, node: ast.Assignment | ast.Step) -> None:
        if isinstance(node.target, ast.Name):
            variable = self._lookup(node.target.name)
            if variable is None:
                raise DependsOnData(f"the unknown variable {node.target.name!r}")
            if isinstance(node, ast.Step):
                value = self._binary(node.operator[0], self._value(node.target), 1)
            else:
                value = self._value(node.value)
                value = self._binary(node.operator, self._value(node.target), value) if node.operator else value
            variable.value = converted(variable.type, value)
            return
        if isinstance(node, ast.Step):
            self._emit(replace(node, target=self._residue(node.target)))
        else:
            self._emit(replace(node, target=self._residue(node.target), value=self._residue(node.value)))

    def _call(self, node: ast.Call) -> None:
        helper = self._helpers.get(node.function)
        if helper is None:
            self._emit(replace(node, arguments=tuple(self._argument(argument) for argument in node.arguments)))
            return
        scope = {
            parameter.name: _Variable(parameter.type, converted(parameter.type, self._value(argument)))
            for parameter, argument in zip(helper.parameters, node.arguments, strict=True)
        }
        self._body(helper, scope)

    def _emit(self, expression: ast.Expression) -> None:
        if len(self.statements) >= MAX_STATEMENTS:
            raise NotApplicable(f"the kernel has more than {MAX_STATEMENTS} statements when it is written out")
        self.statements.append(ast.ExpressionStatement(expression))

    def _argument(self, node: ast.Expression) -> ast.Expression:
        """An operand as a constant; a constant's name that stands alone is kept for the reader."""
        if isinstance(node, ast.Name) and self._lookup(node.name) is None:
            return node
        value = self._value(node)
        if isinstance(value, Place):
            return ast.Unary("&", self._element(value))
        return constant(value)

    def _element(self, place: Place) -> ast.Expression:
        return element_of(place.tensor, place.offset, self.shapes[place.tensor])

    def _residue(self, node: ast.Expression) -> ast.Expression:
        """What is left of a computation on data."""
        try:
            value = self._value(node)
        except DependsOnData:
            pass
        else:
            return self._element(value) if isinstance(value, Place) else constant(value)
        if isinstance(node, ast.Index):
            place = self._place(node)
            if place.extents:
                raise DependsOnData(f"a part of {place.tensor!r}")
            return self._element(place)
        if isinstance(node, ast.Unary | ast.Cast):
            return replace(node, operand=self._residue(node.operand))
        if isinstance(node, ast.Binary):
            return replace(node, left=self._residue(node.left), right=self._residue(node.right))
        if isinstance(node, ast.Conditional):
            condition = self._residue(node.condition)
            return ast.Conditional(condition, self._residue(node.then), self._residue(node.otherwise))
        raise DependsOnData("a value")

    # --- values

    def _lookup(self, name: str) -> _Variable | None:
        return next((scope[name] for scope in reversed(self._scopes) if name in scope), None)

    def _truth(self, node: ast.Expression) -> bool:
        value = self._value(node)
        return isinstance(value, Place) or value != 0

    def _integer(self, node: ast.Expression) -> int:
        value = self._value(node)
        if not isinstance(value, int):
            raise DependsOnData("a whole number")
        return value

    def _place(self, node: ast.Expression) -> Place:
        if isinstance(node, ast.Index):
            base = self._place(node.base)
            index = self._integer(node.index)
            return base.at(index) if base.extents else Place(base.tensor, base.offset + index)
        value = self._value(node)
        if not isinstance(value, Place):
            raise DependsOnData("an address")
        return value

    def _value(self, node: ast.Expression) -> Value:
        if isinstance(node, ast.IntLiteral | ast.FloatLiteral):
            return node.value
        if isinstance(node, ast.Name):
            variable = self._lookup(node.name)
            value = variable.value if variable is not None else self._constants.get(node.name)
            if value is None:
                raise DependsOnData(f"{node.name!r}")
            return value
        if isinstance(node, ast.Index):
            place = self._place(node)
            if not place.extents:
                raise DependsOnData(f"an element of {place.tensor!r}")
            return place
        if isinstance(node, ast.Unary):
            return self._unary(node)
        if isinstance(node, ast.Binary):
            return self._of_binary(node)
        if isinstance(node, ast.Conditional):
            return self._value(node.then if self._truth(node.condition) else node.otherwise)
        if isinstance(node, ast.Cast):
            return converted(node.type, self._value(node.operand))
        if isinstance(node, ast.SizeOf):
            return self._size(node.operand)
        raise DependsOnData("a value")

    def _unary(self, node: ast.Unary) -> Value:
        if node.operator == "&":
            place = self._place(node.operand)
            return Place(place.tensor, place.offset, (1, *place.extents))
        if node.operator == "*":
            raise DependsOnData("an element")
        if node.operator == "!":
            return int(not self._truth(node.operand))
        value = self._value(node.operand)
        if isinstance(value, Place):
            raise DependsOnData("an address")
        if node.operator == "~":
            return ~int(value)
        return -value if node.operator == "-" else value

    def _of_binary(self, node: ast.Binary) -> Value:
        if node.operator in ("&&", "||"):
            left = self._truth(node.left)
            decided = left if node.operator == "||" else not left
            return int(left) if decided else int(self._truth(node.right))
        return self._binary(node.operator, self._value(node.left), self._value(node.right))

    @staticmethod
    def _binary(operator: str, left: Value, right: Value) -> Value:
        if isinstance(right, Place) and operator == "+":
            left, right = right, left
        if isinstance(left, Place) and isinstance(right, int) and operator in ("+", "-"):
            step = prod(left.extents[1:])
            return replace(left, offset=left.offset + (right if operator == "+" else -right) * step)
        if isinstance(left, Place) or isinstance(right, Place):
            raise DependsOnData("arithmetic on addresses")
        if operator in _OPERATORS:
            return _OPERATORS[operator](left, right)
        if isinstance(left, int) and isinstance(right, int) and operator in _BITWISE:
            if operator in "/%" and right == 0:
                raise NotApplicable("the kernel divides by zero")
            return _BITWISE[operator](left, right)
        if operator == "/" and right != 0:
            return left / right
        raise DependsOnData(f"a value of {operator!r}")

    def _size(self, operand: ast.Type | ast.Expression) -> int:
        if not isinstance(operand, ast.Type):
            raise DependsOnData("the size of an expression")
        return element_size(self._accelerator, operand)
