"""The nodes of ast.py that the rules of the grammar build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from lark import Transformer

from autocomp.errors import KernelError, Place
from autocomp.targets.simulator.kernel.syntax import ast, several_steps
from autocomp.targets.simulator.kernel.syntax.function_pointers import type_of
from autocomp.targets.simulator.kernel.syntax.lexer import (
    Token,
    at,
    unescaped,
)
from autocomp.targets.simulator.kernel.syntax.literals import float_literal, integer_literal
from autocomp.targets.simulator.kernel.syntax.switches import Case, lowered

PRECEDENCE = {
    operator: level
    for level, operators in enumerate(
        (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"),
         ("*", "/", "%")),
        start=1,
    )
    for operator in operators
}  # fmt: skip


class _Label(NamedTuple):
    value: ast.Expression | None  # None: default


class Reductions(Transformer[Any, Any]):
    """One method a rule of grammar.lark; each gets the children that the rule keeps."""

    def start(self, c: list[Any]) -> list[Any]:
        return c

    def global_(self, c: list[Any]) -> ast.Declaration | None:
        declaration: ast.Declaration | None = c[0]
        return declaration

    def prototype(self, c: list[Any]) -> None:
        return None

    def function(self, c: list[Any]) -> ast.Function:
        name = next(i for i, child in enumerate(c) if isinstance(child, Token) and child.type == "NAME")
        base, _, _ = c[0]
        token = c[name]
        parameters = [p for p in c[name + 1 : -1] if p is not None]
        if len(parameters) == 1 and parameters[0].name == "" and parameters[0].type == ast.Type("void"):
            parameters = []
        for parameter in parameters:
            if not parameter.name:
                raise at(token, f"a parameter of {token.value!r} has no name")
        return ast.Function(token.value, _of(base, name - 1), tuple(parameters), c[-1], token.line, token.column)

    def parameter(self, c: list[Any]) -> ast.KernelParameter:
        base, const, _ = c[0]
        stars = sum(1 for child in c[1:] if isinstance(child, Token) and child.type == "STAR")
        name = next((child for child in c[1:] if isinstance(child, Token) and child.type == "NAME"), None)
        extents = [child[0] for child in c[1:] if isinstance(child, list)]
        if stars and base.extents:  # a pointer to rows
            extents, stars = [None, *extents], stars - 1
        if extents and extents[0] is None and name is not None and (len(extents) == 1 or stars):
            extents, stars = extents[1:], stars + 1
        if name is not None and extents[:1] == [None] and len(extents) + len(base.extents) > 1:
            extents[0] = ast.ANY_ROWS
        if None in extents:
            assert name is not None
            raise at(name, f"parameter {name.value!r} needs every extent written out, as in int8_t A[16][16]")
        line, column = (name.line, name.column) if name is not None else (0, 0)
        kind = _of(base, stars, tuple(extents))
        return ast.KernelParameter(name.value if name is not None else "", kind, const, line, column)

    def rows_parameter(self, c: list[Any]) -> ast.KernelParameter:
        """`T (*x)[n]`, which is `T x[][n]`."""
        stars = [child for child in c[1:] if isinstance(child, Token) and child.type == "STAR"]
        extents = [child for child in c if isinstance(child, list)]
        return self.parameter([c[0], *stars[1:], next(t for t in c[1:] if t.type == "NAME"), [None], *extents])

    def function_parameter(self, c: list[Any]) -> ast.KernelParameter:
        one = self.function_pointer([*c[1:], None])
        return ast.KernelParameter(one.name, one.type, False, one.line, one.column)

    def specifiers(self, c: list[Any]) -> tuple[ast.Type, bool, bool]:
        kinds = [child for child in c if isinstance(child, ast.Type)]
        tokens = [child for child in c if isinstance(child, Token)]
        words = [token.value for token in tokens if token.type == "TYPE"]
        if not words and not kinds:
            raise at(c[0], f"{c[0].value!r} is not followed by a type")
        named = [kind for kind in kinds if kind.name]
        base = named[0] if named else ast.Type(" ".join(words))
        base = replace(base, extents=tuple(extent for kind in kinds for extent in kind.extents))
        return base, any(t.value == "const" for t in tokens), any(t.type == "STATIC" for t in tokens)

    def structure(self, c: list[Any]) -> ast.Type:
        tag = c[1].value if isinstance(c[1], Token) else f"of line {c[0].line}, {c[0].column}"
        return ast.Type(f"struct {tag}", fields=() if isinstance(c[-1], Token) else c[-1])

    def array_type(self, c: list[Any]) -> ast.Type:
        """The array that `typedef T name[n]` makes of T, without the type of its elements."""
        return ast.Type("", extents=tuple(child[0] for child in c if isinstance(child, list)))

    def fields(self, c: list[Any]) -> tuple[ast.Declaration, ...]:
        return tuple(child for child in c[1:-1] if child is not None)

    def extent(self, c: list[Any]) -> list[Any]:
        return c

    # statements

    def block(self, c: list[Any]) -> ast.Block:
        return ast.Block(tuple(s for s in c[1:-1] if s is not None), c[0].line, c[-1].line)

    def region(self, c: list[Any]) -> ast.Block:
        title: Token = c[0]
        block: ast.Block = c[1]
        return replace(block, line=title.line, region=title.value.split('"')[1])

    def declaration(self, c: list[Any]) -> ast.Declaration | None:
        base, const, static = c[0]
        if len(c) == 1:
            return ast.Declaration((ast.Declarator("", base),)) if base.fields else None
        declarators = tuple(d if d.type.name else replace(d, type=_declared(base, d)) for d in c[1:])
        return ast.Declaration(declarators, const, static, declarators[0].line)

    def declarator(self, c: list[Any]) -> ast.Declarator:
        name = next(child for child in c if isinstance(child, Token) and child.type == "NAME")
        stars = sum(1 for child in c if isinstance(child, Token) and child.type == "STAR")
        kind = ast.Type("", stars, _extents(c, name))
        return ast.Declarator(name.value, kind, c[-1], name.line, name.column)

    def function_pointer(self, c: list[Any]) -> ast.Declarator:
        name = next((child for child in c if isinstance(child, Token) and child.type == "NAME"), None)
        extents = () if name is None else _extents(c, name)
        count = sum(isinstance(child, ast.KernelParameter) and child.type.name != "void" for child in c)
        kind = ast.Type(type_of(count), extents=extents)
        line, column = (name.line, name.column) if name is not None else (0, 0)
        return ast.Declarator(name.value if name is not None else "", kind, c[-1], line, column)

    def alignment(self, c: list[Any]) -> str:
        return "alignment"

    def list_(self, c: list[Any]) -> ast.InitializerList:
        return ast.InitializerList(tuple(v for v in c[1:-1] if v is not None), c[0].line, c[0].column)

    def designated(self, c: list[Any]) -> ast.Designated:
        return ast.Designated(c[1].value, c[2], c[1].line, c[1].column)

    def expression_statement(self, c: list[Any]) -> ast.ExpressionStatement:
        return ast.ExpressionStatement(c[0], c[0].line)

    def empty(self, c: list[Any]) -> None:
        return None

    def expressions(self, c: list[Any]) -> list[ast.Expression]:
        return [expression for expression in c if expression is not None]

    def if_(self, c: list[Any]) -> ast.If:
        otherwise = c[3] if len(c) > 3 else None
        return ast.If(c[1], _block(c[2]), otherwise and _block(otherwise), c[0].line)

    def for_(self, c: list[Any]) -> ast.Statement:
        return several_steps.lowered(c[1], c[2], c[3], _block(c[4]), c[0].line)

    def while_(self, c: list[Any]) -> ast.While:
        return ast.While(c[1], _block(c[2]), c[0].line)

    def do(self, c: list[Any]) -> ast.DoWhile:
        return ast.DoWhile(_block(c[1]), c[2], c[0].line)

    def return_(self, c: list[Any]) -> ast.Return:
        return ast.Return(c[1], c[0].line, c[0].column)

    def switch_(self, c: list[Any]) -> ast.Block:
        cases: list[Case] = []
        labels: list[ast.Expression | None] = []
        for child in c[3:-1]:
            if isinstance(child, _Label):
                labels.append(child.value)
            elif child is not None and not cases and not labels:
                raise at(c[0], "a switch begins with a case")
            elif child is not None:
                if labels:
                    cases.append(Case(tuple(labels), ()))
                    labels = []
                cases[-1] = Case(cases[-1].labels, (*cases[-1].statements, child))
        if labels:
            cases.append(Case(tuple(labels), ()))
        try:
            return lowered(c[1], cases, c[0].line)
        except ValueError as error:
            raise at(c[0], str(error)) from None

    def case(self, c: list[Any]) -> _Label:
        return _Label(c[1] if len(c) > 1 else None)

    def break_(self, c: list[Any]) -> ast.Break:
        return ast.Break(c[0].line, c[0].column)

    def continue_(self, c: list[Any]) -> ast.Continue:
        return ast.Continue(c[0].line, c[0].column)

    # expressions

    def assignment(self, c: list[Any]) -> ast.Assignment:
        operator = c[1].value[:-1] if len(c) == 3 else ""
        return ast.Assignment(c[0], c[-1], operator, c[0].line, c[0].column)

    def choice(self, c: list[Any]) -> ast.Conditional:
        return ast.Conditional(c[0], c[2], c[3], c[1].line, c[1].column)

    def binary(self, c: list[Any]) -> ast.Expression:
        if len(c) == 3:
            return ast.Binary(c[1].value, c[0], c[2], c[1].line, c[1].column)
        return _precedence(c)

    def prefix(self, c: list[Any]) -> ast.Unary:
        return ast.Unary(c[0].value, c[1], c[0].line, c[0].column)

    def step(self, c: list[Any]) -> ast.Increment:
        return ast.Increment(c[1], c[0].value, True, c[0].line, c[0].column)

    def post_step(self, c: list[Any]) -> ast.Increment:
        return ast.Increment(c[0], c[1].value, False, c[1].line, c[1].column)

    def cast(self, c: list[Any]) -> ast.Cast:
        return ast.Cast(c[1], c[2], c[0].line, c[0].column)

    def type_(self, c: list[Any]) -> ast.Type:
        return _of(c[0][0], sum(1 for child in c[1:] if child.type == "STAR"))

    def compound(self, c: list[Any]) -> ast.Cast:
        return ast.Cast(c[1], c[2], c[0].line, c[0].column)

    def sizeof(self, c: list[Any]) -> ast.SizeOf:
        return ast.SizeOf(c[1], c[0].line, c[0].column)

    def index(self, c: list[Any]) -> ast.Index:
        return ast.Index(c[0], c[2], c[1].line, c[1].column)

    def member(self, c: list[Any]) -> ast.Member:
        base = c[0] if c[1].value == "." else ast.Unary("*", c[0], c[1].line, c[1].column)
        return ast.Member(base, c[2].value, c[2].line, c[2].column)

    def call(self, c: list[Any]) -> ast.Call:
        return ast.Call(c[0].value, tuple(a for a in c[1:] if a is not None), c[0].line, c[0].column)

    def call_through(self, c: list[Any]) -> ast.CallThrough:
        target = c[0].operand if isinstance(c[0], ast.Unary) and c[0].operator == "*" else c[0]
        return ast.CallThrough(target, tuple(a for a in c[1:] if a is not None), target.line, target.column)

    def name(self, c: list[Token]) -> ast.Name:
        return ast.Name(c[0].value, c[0].line, c[0].column)

    def string(self, c: list[Token]) -> ast.StringLiteral:
        return ast.StringLiteral("".join(unescaped(token.value) for token in c), c[0].line, c[0].column)

    def integer(self, c: list[Token]) -> ast.IntLiteral:
        return integer_literal(c[0])

    def floating(self, c: list[Token]) -> ast.FloatLiteral:
        return float_literal(c[0])


for _keyword in ("if", "for", "while", "return", "break", "continue", "list", "type", "global", "switch"):
    setattr(Reductions, _keyword, getattr(Reductions, _keyword + "_"))


def _of(base: ast.Type, pointer: int, extents: tuple[ast.Expression, ...] = ()) -> ast.Type:
    """The type that a declarator makes of the one in front of it."""
    return ast.Type(base.name, pointer, (*extents, *base.extents), base.fields)


def _extents(c: list[Any], name: Token) -> tuple[ast.Expression, ...]:
    """The extents of what is declared, the first by its list of values where it is left out."""
    extents = [child[0] for child in c if isinstance(child, list)]
    if extents and extents[0] is None and isinstance(c[-1], ast.InitializerList):
        extents[0] = ast.IntLiteral(len(c[-1].values))
    if None in extents:
        raise at(name, f"array {name.value!r} needs an extent")
    return tuple(extents)


def _declared(base: ast.Type, one: ast.Declarator) -> ast.Type:
    """The type of a variable. Raises KernelError for a pointer to an array, which only parameters are."""
    if base.extents and one.type.pointer:
        place = Place("", one.line, max(one.column, 1))
        hint = f"point at its numbers, with {base.name}*"
        raise KernelError(f"{one.name!r} is a pointer to an array", place=place, hint=hint)
    return _of(base, one.type.pointer, one.type.extents)


def _block(statement: Any) -> ast.Block:
    """The body of a control statement as a block."""
    if isinstance(statement, ast.Block) and not statement.region:
        return statement
    return ast.Block(() if statement is None else (statement,))


def _precedence(chain: Sequence[Any]) -> ast.Expression:
    """A flat chain `operand operator operand …` as a tree; all binary operators associate to the left."""
    operands: list[Any] = [chain[0]]
    operators: list[Token] = []

    def reduce() -> None:
        operator = operators.pop()
        right = operands.pop()
        operands[-1] = ast.Binary(operator.value, operands[-1], right, operator.line, operator.column)

    for position in range(1, len(chain), 2):
        operator = chain[position]
        while operators and PRECEDENCE[operators[-1].value] >= PRECEDENCE[operator.value]:
            reduce()
        operators.append(operator)
        operands.append(chain[position + 1])
    while operators:
        reduce()
    result: ast.Expression = operands[0]
    return result
