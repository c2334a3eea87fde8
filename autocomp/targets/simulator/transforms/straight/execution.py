"""Executes what a kernel's host code does without data: loops, helpers and scalars go, commands with constants stay."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from autocomp.targets.simulator.kernel.checking.scope import Scope
from autocomp.targets.simulator.kernel.code.typed import Constant, Load
from autocomp.targets.simulator.kernel.code.types import DOUBLE, INT64, UINT, UINT64, Array, CType, Pointer, shape_of
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.straight.folding import Folding, is_address, number
from autocomp.targets.simulator.transforms.straight.places import element_at, float_literal
from autocomp.targets.simulator.transforms.straight.single import MAX_STATEMENTS, single_commands
from autocomp.targets.simulator.transforms.syntax.affine import literal
from autocomp.targets.simulator.transforms.syntax.rewrite import all_names, assigned, fresh, shared, walk

_MAX_ITERATIONS = 50_000
_SUFFIXES: Mapping[CType, str] = {UINT: "u", INT64: "l", UINT64: "ul"}
_ONE = literal(1)


class _Return(Exception):
    """Control leaves a function."""


class _Leave(Exception):
    """Control leaves an iteration, or (`loop`) the loop."""

    def __init__(self, loop: bool) -> None:
        super().__init__()
        self.loop = loop


def written_out(facts: Facts) -> tuple[ast.Statement, ...]:
    """The statements that a kernel executes: local arrays, then calls and host arithmetic on elements of tensors with
    constant operands. Raises NotApplicable where control depends on data, a hardware loop cannot be written out, or
    there are more than MAX_STATEMENTS."""
    run = _Execution(facts)
    run.function(facts.given.entry)
    return single_commands(facts, (*run.arrays, *run.statements), run.kinds)


class _Execution:
    def __init__(self, facts: Facts) -> None:
        self._helpers = {function.name: function for function in facts.given.functions[:-1]}
        self._folding = Folding(facts)
        self._taken = set(all_names(facts.given))
        bodies = [function.body for function in facts.given.functions]
        self._changing = frozenset[str]().union(*map(assigned, bodies), *map(shared, bodies))
        self._static: dict[int, str] = {}  # arrays by the identity of their declarators
        self._iterations = 0
        self.kinds: dict[str, Array] = {}
        self.arrays: list[ast.Statement] = []
        self.statements: list[ast.Statement] = []

    # --- functions and statements

    def function(self, function: ast.Function) -> None:
        """Executes the entry function, whose parameters are tensors."""
        for parameter in function.parameters:
            kind = self._folding.type_of(parameter.type, parameter)
            if not isinstance(kind, Array):
                raise NotApplicable(f"{parameter.name!r} is not an array")
            self.kinds[parameter.name] = kind
            self._folding.declare_array(parameter.name, kind, parameter.name)
        self._body(function)

    def _body(self, function: ast.Function) -> None:
        with suppress(_Return):
            self._block(function.body)

    def _block(self, block: ast.Block) -> None:
        scope = self._folding.scope
        scope.open()
        try:
            for statement in block.statements:
                self._statement(statement)
        finally:
            scope.close()

    def _statement(self, statement: ast.Statement) -> None:
        if isinstance(statement, ast.Declaration):
            self._declare(statement)
        elif isinstance(statement, ast.ExpressionStatement):
            self._expression(statement.expression)
        elif isinstance(statement, ast.Block):
            self._block(statement)
        elif isinstance(statement, ast.If):
            chosen = statement.then if self._folding.truth(statement.condition) else statement.otherwise
            if chosen is not None:
                self._block(chosen)
        elif isinstance(statement, ast.For | ast.While | ast.DoWhile):
            self._loop(statement)
        elif isinstance(statement, ast.Break | ast.Continue):
            raise _Leave(isinstance(statement, ast.Break))
        elif isinstance(statement, ast.Return):
            if statement.value is not None:
                self._expression(statement.value)
            raise _Return

    def _loop(self, statement: ast.For | ast.While | ast.DoWhile) -> None:
        scope = self._folding.scope
        scope.open()
        try:
            if isinstance(statement, ast.For) and statement.initial is not None:
                self._statement(statement.initial)
            first = isinstance(statement, ast.DoWhile)
            while first or statement.condition is None or self._folding.truth(statement.condition):
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
            scope.close()

    def _declare(self, statement: ast.Declaration) -> None:
        for declarator in statement.declarators:
            kind = self._folding.type_of(declarator.type, declarator)
            if isinstance(kind, Array):
                tensor = self._array(statement, declarator, kind)
                self._folding.declare_array(declarator.name, kind, tensor)
                continue
            given = declarator.initializer
            if statement.static:
                if declarator.name in self._changing:
                    raise NotApplicable(f"the static variable {declarator.name!r} changes")
                given = given or literal(0)
            self._folding.declare(
                declarator.name, kind, None if given is None else self._folding.converted(given, kind)
            )

    def _array(self, statement: ast.Declaration, declarator: ast.Declarator, kind: Array) -> str:
        """The name of a local array, which is declared once, in front."""
        if id(declarator) not in self._static:
            if declarator.initializer is not None and not statement.static:
                raise NotApplicable(f"the array {declarator.name!r} is initialised each time")
            taken = {*self.kinds, *(self._taken if declarator.name in self.kinds else ())}
            name = self._static[id(declarator)] = fresh(declarator.name, taken)
            self.kinds[name] = kind
            extents = tuple(literal(extent) for extent in shape_of(kind))
            kept = replace(declarator, name=name, type=replace(declarator.type, extents=extents))
            self.arrays.append(replace(statement, declarators=(kept,)))
        return self._static[id(declarator)]

    # --- effects

    def _expression(self, node: ast.Expression) -> None:
        if isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Assignment | ast.Increment):
            self._assign(node)
        elif any(isinstance(part, ast.Call | ast.Assignment | ast.Increment) for part in walk(node)):
            raise NotApplicable("an effect inside an expression cannot be followed")

    def _assign(self, node: ast.Assignment | ast.Increment) -> None:
        if isinstance(node.target, ast.Name):
            operator, value = (
                (node.operator[0], _ONE) if isinstance(node, ast.Increment) else (node.operator, node.value)
            )
            self._folding.assign(node.target, ast.Binary(operator, node.target, value) if operator else value)
        elif isinstance(node, ast.Increment):
            self._emit(replace(node, target=self._residue(node.target)))
        else:
            self._emit(replace(node, target=self._residue(node.target), value=self._residue(node.value)))

    def _call(self, node: ast.Call) -> None:
        helper = self._helpers.get(node.function)
        if helper is None:
            self._emit(replace(node, arguments=tuple(self._argument(argument) for argument in node.arguments)))
            return
        kinds = [self._folding.type_of(parameter.type, parameter) for parameter in helper.parameters]
        decayed = [Pointer(kind.element) if isinstance(kind, Array) else kind for kind in kinds]
        values = [self._folding.converted(*pair) for pair in zip(node.arguments, decayed, strict=True)]
        outside, self._folding.scope = self._folding.scope, Scope()
        try:
            for parameter, kind, value in zip(helper.parameters, decayed, values, strict=True):
                self._folding.declare(parameter.name, kind, value)
            self._body(helper)
        finally:
            self._folding.scope = outside

    def _emit(self, expression: ast.Expression) -> None:
        if len(self.statements) >= MAX_STATEMENTS:
            raise NotApplicable(f"the kernel has more than {MAX_STATEMENTS} statements when it is written out")
        self.statements.append(ast.ExpressionStatement(expression))

    def _argument(self, node: ast.Expression) -> ast.Expression:
        """An operand as a constant; a constant's name that stands alone is kept for the reader."""
        if isinstance(node, ast.Name) and self._folding.scope.find(node.name) is None:
            return node
        value = self._folding.constant(node)
        if not is_address(value):
            return _literal(value)
        place = self._folding.place(value)
        return ast.Name("NULL") if place is None else ast.Unary("&", element_at(place, self.kinds[place.tensor]))

    def _residue(self, node: ast.Expression) -> ast.Expression:
        """The remaining expression of a computation on data, with its constants folded."""
        value = self._folding.value(node)
        if isinstance(value, Constant) and not is_address(value):
            return _typed_literal(value)
        if isinstance(value, Load):
            place, _ = self._folding.element(node)
            return element_at(place, self.kinds[place.tensor])
        if isinstance(node, ast.Unary | ast.Cast):
            return replace(node, operand=self._residue(node.operand))
        if isinstance(node, ast.Binary):
            return replace(node, left=self._residue(node.left), right=self._residue(node.right))
        if isinstance(node, ast.Conditional):
            condition = self._residue(node.condition)
            return ast.Conditional(condition, self._residue(node.then), self._residue(node.otherwise))
        raise NotApplicable(f"what the host computes in line {node.line} cannot be followed")


def _literal(value: Constant) -> ast.Expression:
    """A number, of any type that holds it."""
    given = number(value)
    return literal(given) if isinstance(given, int) else float_literal(given, single=value.type != DOUBLE)


def _typed_literal(value: Constant) -> ast.Expression:
    """A number of the same type, as what is computed with it may depend on that."""
    literal = _literal(value)
    size = literal.operand if isinstance(literal, ast.Unary) else literal
    if not isinstance(size, ast.IntLiteral) or value.type not in _SUFFIXES:
        return literal
    size = replace(size, suffix=_SUFFIXES[value.type])
    return replace(literal, operand=size) if isinstance(literal, ast.Unary) else size
