"""Kernel text to syntax tree, and the errors of a text that does not follow the grammar."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from autocomp.errors import KernelError, Place
from autocomp.grammar import parser_of
from autocomp.lalr import LalrParser, UnexpectedToken
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.comments import attach_comments
from autocomp.targets.simulator.kernel.syntax.function_pointers import has_pointers, numbered
from autocomp.targets.simulator.kernel.syntax.globals import at_their_uses
from autocomp.targets.simulator.kernel.syntax.lexer import (
    MAX_DEPTH,
    UNSUPPORTED,
    KernelLexer,
    Token,
    line_text,
)
from autocomp.targets.simulator.kernel.syntax.pointer_arrays import separated
from autocomp.targets.simulator.kernel.syntax.preprocessor import preprocess
from autocomp.targets.simulator.kernel.syntax.reductions import Reductions
from autocomp.targets.simulator.kernel.syntax.structure_results import by_field
from autocomp.targets.simulator.kernel.syntax.structure_values import read_by_value
from autocomp.targets.simulator.kernel.syntax.structures import dissolved
from autocomp.targets.simulator.kernel.syntax.variable_extents import flattened
from autocomp.targets.simulator.kernel.syntax.walk import depth_exceeds

MAX_SOURCE = 1 << 18  # characters: a second or two to read and check

_STRUCTURES = re.compile(r"\bstruct\b|->|\.[A-Za-z_]")  # a text may have some


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
        kernel = _kernel(items, text, source_name, names or {})
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


def _kernel(items: Sequence[Any], text: str, source_name: str, names: Mapping[str, int | float]) -> ast.Kernel:
    """A file of functions and declarations; `main`, wherever it stands, is the entry."""
    functions: Sequence[ast.Function] = [item for item in items if isinstance(item, ast.Function)]
    outside: Sequence[ast.Declaration] = [item for item in items if isinstance(item, ast.Declaration)]
    if _STRUCTURES.search(text):
        functions = read_by_value(by_field(functions, outside), outside)
        functions, outside = dissolved(functions, outside)
    if has_pointers(text):
        functions, outside = numbered(functions, outside)
    functions, outside = separated(functions, outside, names)
    functions = [flattened(function) for function in functions]
    if not functions:
        raise KernelError("the file defines no function", place=Place(source_name, 1, 1, line_text(text, 1)))
    functions.sort(key=lambda function: function.name == "main")
    return ast.Kernel(*at_their_uses(functions, outside), source=text, source_name=source_name)


@lru_cache(maxsize=1)
def _parser() -> tuple[KernelLexer, LalrParser]:
    lark = parser_of("autocomp.targets.simulator.kernel.syntax", lexer=KernelLexer, transformer=Reductions())
    return KernelLexer(lark.lexer_conf), LalrParser(lark)


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
