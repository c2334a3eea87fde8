"""Kernel text to syntax tree: a lark LALR parser whose reductions build the nodes of ast.py."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from lark import Transformer

from autocomp.errors import KernelError, Place
from autocomp.grammar import parser_of
from autocomp.lalr import LalrParser, UnexpectedToken
from autocomp.targets.simulator.kernel.syntax import ast, several_steps
from autocomp.targets.simulator.kernel.syntax.comments import attach_comments
from autocomp.targets.simulator.kernel.syntax.function_pointers import POINTER, numbered
from autocomp.targets.simulator.kernel.syntax.globals import at_their_uses
from autocomp.targets.simulator.kernel.syntax.lexer import (
    MAX_DEPTH,
    UNSUPPORTED,
    KernelLexer,
    Token,
    at,
    line_text,
    unescaped,
)
from autocomp.targets.simulator.kernel.syntax.literals import float_literal, integer_literal
from autocomp.targets.simulator.kernel.syntax.preprocessor import preprocess
from autocomp.targets.simulator.kernel.syntax.structures import dissolved
from autocomp.targets.simulator.kernel.syntax.switches import Case, lowered
from autocomp.targets.simulator.kernel.syntax.variable_extents import flattened
from autocomp.targets.simulator.kernel.syntax.walk import depth_exceeds

MAX_SOURCE = 1 << 18  # characters: a second or two to read and check

_STRUCTURES = re.compile(r"\bstruct\b|->|\.[A-Za-z_]")  # a text may have some
_POINTERS_TO_FUNCTIONS = re.compile(r"\(\s*\*")

PRECEDENCE = {
    operator: level
    for level, operators in enumerate(
        (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"),
         ("*", "/", "%")),
        start=1,
    )
    for operator in operators
}  # fmt: skip


def parse(text: str, source_name: str = "<kernel>", names: Mapping[str, int | float] | None = None) -> ast.Kernel:
    """The syntax tree of a kernel, after the preprocessor. `names` are constants from outside, for its conditions.

    Raises KernelError with the place of the first mistake.
    """
    if len(text) > MAX_SOURCE:
        line = text.count("\n", 0, MAX_SOURCE) + 1
        place = Place(source_name, line, MAX_SOURCE - text.rfind("\n", 0, MAX_SOURCE), line_text(text, line))
        message = f"a kernel may have at most {MAX_SOURCE} characters; this one has {len(text)} and goes on here"
        raise KernelError(message, place=place, hint="write what repeats as a loop or a helper function")
    text, includes = preprocess(text, source_name, names or {})
    lexer, parser = _parser()
    try:
        items, text = _items(text, parser, lexer, macros_end=bool(includes))
        kernel = _kernel(items, text, source_name)
    except UnexpectedToken as error:
        raise _unexpected(error, text, source_name) from None
    except KernelError as error:
        raise _named(error, text, source_name) from None
    kernel = replace(kernel, includes=includes)
    deep = depth_exceeds(kernel, MAX_DEPTH)
    if deep is not None:
        place = Place(source_name, max(deep, 1), 1, line_text(text, deep))
        raise KernelError(f"the kernel is nested more than {MAX_DEPTH} levels deep", place=place)
    return attach_comments(kernel)


def _items(text: str, parser: LalrParser, lexer: KernelLexer, *, macros_end: bool) -> tuple[list[Any], str]:
    """The functions and declarations of a text. Where `macros_end`, a header's macros bring the semicolon that the text
    leaves out after them; the text that is returned has it."""
    while True:
        try:
            return parser.parse(lexer.lex(text)), text
        except UnexpectedToken as error:
            token = error.token
            before = len(text if token is None else text[: token.start].rstrip())
            ends_call = text[:before].endswith(")") and "SEMICOLON" in error.expected
            if not macros_end or token is None or not ends_call or "\n" not in text[before : token.start]:
                raise
            text = f"{text[:before]};{text[before:]}"


def _kernel(items: Sequence[Any], text: str, source_name: str) -> ast.Kernel:
    """A file of functions and declarations; `main`, wherever it stands, is the entry."""
    functions: Sequence[ast.Function] = [item for item in items if isinstance(item, ast.Function)]
    outside: Sequence[ast.Declaration] = [item for item in items if isinstance(item, ast.Declaration)]
    if _STRUCTURES.search(text):
        functions, outside = dissolved(functions, outside)
    if _POINTERS_TO_FUNCTIONS.search(text):
        functions, outside = numbered(functions, outside)
    functions = [flattened(function) for function in functions]
    if not functions:
        raise KernelError("the file defines no function", place=Place(source_name, 1, 1, line_text(text, 1)))
    functions.sort(key=lambda function: function.name == "main")
    return ast.Kernel(*at_their_uses(functions, outside), source=text, source_name=source_name)


@lru_cache(maxsize=1)
def _parser() -> tuple[KernelLexer, LalrParser]:
    lark = parser_of("autocomp.targets.simulator.kernel.syntax", lexer=KernelLexer, transformer=_Builder())
    return KernelLexer(lark.lexer_conf), LalrParser(lark)


# --- errors ------------------------------------------------------------------------------------------------------


def _named(error: KernelError, text: str, source_name: str) -> KernelError:
    place = error.place
    if place is not None:
        place = replace(place, source=source_name, text=line_text(text, place.line))
    return KernelError(error.message, place=place, hint=error.hint)


def _unexpected(error: UnexpectedToken, text: str, source_name: str) -> KernelError:
    token: Token | None = error.token
    names = error.expected
    if token is None:
        lines = text.split("\n")
        place = Place(source_name, len(lines), len(lines[-1]) + 1, lines[-1])
        return KernelError(f"the text ends too early; expected {_expected(names)}", place=place)
    shown = token.value
    place = Place(source_name, token.line, token.column, line_text(text, token.line), len(shown))
    if shown in UNSUPPORTED:
        return KernelError(f"{shown!r} is not part of the kernel dialect", place=place)
    if shown == ",":
        hint = "the comma operator exists in the head of a for alone: write several statements"
    elif token.type == "TYPE" and shown.endswith("_t"):
        hint = "a word that ends in _t is a type"
    else:
        hint = None
    before = text[: token.start].rstrip()
    if "SEMICOLON" in names and token.type != "SEMICOLON" and before.count("\n") + 1 < token.line:
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        if "//" not in line_text(text, line):
            place = Place(source_name, line, column, line_text(text, line))
            return KernelError(f"expected ';' before {shown!r}", place=place, hint=hint)
    return KernelError(f"unexpected {shown!r}; expected {_expected(names)}", place=place, hint=hint)


_SHOWN = {
    "SEMICOLON": "';'", "COMMA": "','", "LPAR": "'('", "RPAR": "')'", "LSQB": "'['", "RSQB": "']'", "LBRACE": "'{'",
    "RBRACE": "'}'", "EQUAL": "'='", "COLON": "':'", "NAME": "a name", "TYPE": "a type", "WHILE": "'while'",
}  # fmt: skip


def _expected(names: Any) -> str:
    names = set(names)
    if {"INTEGER", "FLOAT", "NAME"} <= names:
        shown = ["a statement" if "FOR" in names else "an expression"]
        shown += sorted(_SHOWN[name] for name in names & {"RBRACE", "SEMICOLON", "RPAR"})
    else:
        shown = sorted(_SHOWN[name] for name in names if name in _SHOWN)
        if "OPERATOR" in names:
            shown.append("an operator")
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown) or "something else"


# --- reductions --------------------------------------------------------------------------------------------------


class _Label(NamedTuple):
    value: ast.Expression | None  # None: default


class _Builder(Transformer[Any, Any]):
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
        if extents and extents[0] is None and name is not None and (len(extents) == 1 or stars):
            extents, stars = extents[1:], stars + 1
        if None in extents:
            assert name is not None
            raise at(name, f"parameter {name.value!r} needs every extent written out, as in int8_t A[16][16]")
        line, column = (name.line, name.column) if name is not None else (0, 0)
        kind = _of(base, stars, tuple(extents))
        return ast.KernelParameter(name.value if name is not None else "", kind, const, line, column)

    def function_parameter(self, c: list[Any]) -> ast.KernelParameter:
        one = self.function_pointer([*c[1:], None])
        return ast.KernelParameter(one.name, one.type, False, one.line, one.column)

    def specifiers(self, c: list[Any]) -> tuple[ast.Type, bool, bool]:
        kinds = [child for child in c if isinstance(child, ast.Type)]
        tokens = [child for child in c if isinstance(child, Token)]
        words = [token.value for token in tokens if token.type == "TYPE"]
        if not words and not kinds:
            raise at(c[0], f"{c[0].value!r} is not followed by a type")
        base = kinds[0] if kinds else ast.Type(" ".join(words))
        return base, any(t.value == "const" for t in tokens), any(t.type == "STATIC" for t in tokens)

    def structure(self, c: list[Any]) -> ast.Type:
        token, name = c[0], c[1]
        tag = name.value if name is not None else f"of line {token.line}, {token.column}"
        return ast.Type(f"struct {tag}", fields=c[2] if len(c) > 2 else ())

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
        declarators = tuple(
            d if d.type.name else replace(d, type=_of(base, d.type.pointer, d.type.extents)) for d in c[1:]
        )
        return ast.Declaration(declarators, const, static, declarators[0].line)

    def declarator(self, c: list[Any]) -> ast.Declarator:
        name = next(child for child in c if isinstance(child, Token) and child.type == "NAME")
        stars = sum(1 for child in c if isinstance(child, Token) and child.type == "STAR")
        extents = [child[0] for child in c if isinstance(child, list)]
        initializer = c[-1]
        if extents and extents[0] is None and isinstance(initializer, ast.InitializerList):
            extents[0] = ast.IntLiteral(len(initializer.values))
        if None in extents:
            raise at(name, f"array {name.value!r} needs an extent")
        kind = ast.Type("", stars, tuple(extents))
        return ast.Declarator(name.value, kind, initializer, name.line, name.column)

    def function_pointer(self, c: list[Any]) -> ast.Declarator:
        name = next((child for child in c if isinstance(child, Token) and child.type == "NAME"), None)
        extents = tuple(child[0] for child in c if isinstance(child, list))
        count = sum(isinstance(child, ast.KernelParameter) and child.type.name != "void" for child in c)
        kind = ast.Type(f"{POINTER}{count}", extents=extents)
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
    setattr(_Builder, _keyword, getattr(_Builder, _keyword + "_"))


def _of(base: ast.Type, pointer: int, extents: tuple[ast.Expression, ...] = ()) -> ast.Type:
    """The type that a declarator makes of the one in front of it."""
    return ast.Type(base.name, pointer, extents, base.fields)


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
