"""Tokens of the kernel dialect: one regular expression, words told apart by tables, located errors.

A word that ends in `_t` is a type, as C programmers write them, unless the text declares a variable of that name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lark import Token
from lark.lexer import Lexer, PatternStr

from autocomp.errors import KernelError, Place

MAX_DEPTH = 128  # of brackets, and of the syntax tree: the passes behind the parser recurse
QUALIFIERS = frozenset({"const", "volatile", "restrict", "register", "inline"})
TYPE_WORDS = frozenset(["void", "int", "long", "short", "unsigned", "signed", "float", "double", "size_t"]) | {
    "bool",
    "_Bool",
    "char",
}
UNSUPPORTED = frozenset(["goto", "switch", "case", "default", "struct", "union", "enum", "typedef", "extern", "auto"])

TOKEN = re.compile(
    r"""(?P<WORD>[A-Za-z_]\w*)
    |(?P<SPACE>[ \t]+)
    |(?P<NEWLINE>\s+)
    |(?P<COMMENT>//[^\n]*|/\*(?s:.*?)\*/)
    |(?P<FLOAT>(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?[fFlL]?(?!\w)|\d+[eE][+-]?\d+[fFlL]?(?!\w))
    |(?P<INTEGER>(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)[uUlL]{0,3}(?![\w.]))
    |(?P<UNCLOSED>/\*)
    |(?P<STEP>\+\+|--)
    |(?P<ASSIGN>(?:<<|>>|[-+*/%&|^])=(?!=))
    |(?P<OPERATOR><<|>>|<=|>=|==|!=|&&|\|\||[/%|^<>])
    |(?P<SIGN>[-+&])
    |(?P<PREFIX>[!~])
    |(?P<MARK>[()\[\]{};,?:=*])
    |(?P<NUMBER>[\d.][\w.]*)
    |(?P<STRING>["'][^"'\n]*["']?)
    |(?P<DIRECTIVE>\#[^\n]*)
    |(?P<BAD>(?s:.))""",
    re.VERBOSE,
)
DECLARED = re.compile(r"\b[A-Za-z_]\w*[\s*]+(\w+_t)\s*(?:=|;|,|\[|\))")


class KernelLexer(Lexer):
    """Splits a text into lark tokens; built by lark from the grammar's terminals."""

    def __init__(self, conf: Any) -> None:
        literals = {t.pattern.value: t.name for t in conf.terminals if isinstance(t.pattern, PatternStr)}
        self.marks = {text: name for text, name in literals.items() if not text[0].isalpha()}
        self.words = {text: name for text, name in literals.items() if text[0].isalpha()}
        self.words.update(dict.fromkeys(QUALIFIERS, "QUALIFIER"))
        self.words.update(dict.fromkeys(TYPE_WORDS, "TYPE"))

    def lex(self, text: str) -> Iterator[Token]:  # type: ignore[override]
        words = self.words
        variables = set(DECLARED.findall(text))
        line, line_start, depth = 1, 0, 0
        for match in TOKEN.finditer(text):
            kind = match.lastgroup
            if kind == "SPACE":
                continue
            start, value = match.start(), match.group()
            if kind == "NEWLINE" or kind == "COMMENT":
                newlines = value.count("\n")
                if newlines:
                    line += newlines
                    line_start = start + value.rindex("\n") + 1
                continue
            column = start - line_start + 1
            if kind == "WORD":
                kind = words.get(value) or self._kind_of_word(value, variables)
            elif kind == "MARK":
                kind = self.marks[value]
                if value in "([{":
                    depth += 1
                    if depth > MAX_DEPTH:
                        raise _error(text, line, column, 1, f"brackets are nested more than {MAX_DEPTH} deep")
                elif value in ")]}":
                    depth -= 1
            elif kind is not None and kind in PROBLEMS:
                raise _error(text, line, column, len(value), PROBLEMS[kind](value))
            yield Token(kind, value, start, line, column)  # type: ignore[arg-type]

    @staticmethod
    def _kind_of_word(word: str, variables: set[str]) -> str:
        if word.endswith("_t") and word not in variables:
            return "TYPE"
        if word.startswith(("row_align", "align")):
            return "ALIGN"
        if word in UNSUPPORTED:
            return "UNSUPPORTED"
        return "NAME"


def _number(value: str) -> str:
    return f"{value!r} is not a number of the dialect; integers are written 12, 0x1F, 7u, floats 1.0, 1e-3, 0.5f"


PROBLEMS: Mapping[str, Callable[[str], str]] = {
    "UNCLOSED": lambda _value: "this comment is never closed",
    "NUMBER": _number,
    "STRING": lambda _: "a kernel has no strings or characters, and no I/O: printf and the like do not exist here",
    "DIRECTIVE": lambda _: "a kernel has no preprocessor: leave out #include, and write a #define as a const variable",
    "BAD": lambda value: f"{value!r} does not belong in a kernel",
}


def line_text(text: str, line: int) -> str:
    """Line `line` of a text, counted from 1; empty where there is none. Lines end at a newline only."""
    lines = text.split("\n")
    return lines[line - 1].rstrip("\r") if 0 < line <= len(lines) else ""


def _error(text: str, line: int, column: int, width: int, message: str) -> KernelError:
    return KernelError(message, place=Place("", line, column, line_text(text, line), min(width, 80)))
