"""Tokens of the kernel dialect: one regular expression, words classified by tables, located errors.

A comment that begins with `//` and ends in a backslash goes on in the next line, as in C. A word that ends in `_t` is a
type, as C programmers write them, unless the text declares a variable of that name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from lark.lexer import Lexer, PatternStr

from autocomp.errors import KernelError, Place

MAX_DEPTH = 128  # of brackets, and of the syntax tree: the passes behind the parser recurse
QUALIFIERS = frozenset({"const", "volatile", "restrict", "register", "inline"})
TYPE_WORDS = frozenset(["void", "int", "long", "short", "unsigned", "signed", "float", "double", "size_t"]) | {
    "bool",
    "_Bool",
    "char",
}
UNSUPPORTED = frozenset(["goto", "union", "extern", "auto"])

TOKEN = re.compile(
    r"""[ \t]*(?:(?P<REGION>region[ \t]*\([ \t]*"[^"\n]+"[ \t]*\))
    |(?P<WORD>[A-Za-z_]\w*)
    |(?P<BRACKET>[()\[\]{}])
    |(?P<MARK>[;,?:]|=(?!=)|\*(?!=(?!=)))
    |(?P<NEWLINE>\s+|\Z)
    |(?P<COMMENT>//(?:\\[^\S\n]*\n|[^\n])*|/\*(?s:.*?)\*/)
    |(?P<MEMBER>->|\.(?=[A-Za-z_]))
    |(?P<FLOAT>(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFlL]?(?!\w)|[0-9]+[eE][+-]?[0-9]+[fFlL]?(?!\w))
    |(?P<INTEGER>(?:0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)[uUlL]{0,3}(?![\w.]))
    |(?P<UNCLOSED>/\*)
    |(?P<STEP>\+\+|--)
    |(?P<ASSIGN>(?:<<|>>|[-+*/%&|^])=(?!=))
    |(?P<OPERATOR><<|>>|<=|>=|==|!=|&&|\|\||[/%|^<>])
    |(?P<SIGN>[-+&])
    |(?P<PREFIX>[!~])
    |(?P<NUMBER>[\d.][\w.]*)
    |(?P<STRING>"(?:[^"\\\n]|\\.)*")
    |(?P<CHARACTER>'(?:[^'\\\n]|\\.)*')
    |(?P<QUOTE>["'])
    |(?P<DIRECTIVE>\#[^\n]*)
    |(?P<BAD>(?s:.)))""",
    re.VERBOSE,
)
DECLARED = re.compile(r"\b[A-Za-z_]\w*[\s*]+(\w+_t)\s*(?:=|;|,|\[|\)|\((?!\s*\*))")


class Token(NamedTuple):
    """A terminal's name, the text, and where it stands; `line` and `column` count from 1, `start` from 0."""

    type: str
    value: str
    start: int
    line: int
    column: int


def at(token: Token, message: str, hint: str | None = None) -> KernelError:
    """An error at a token; who knows the text adds its line."""
    place = Place("", token.line, token.column, "", min(len(token.value), 80))
    return KernelError(message, place=place, hint=hint)


class KernelLexer(Lexer):
    """Splits a text into tokens; built by lark from the grammar's terminals."""

    def __init__(self, conf: Any) -> None:
        literals = {t.pattern.value: t.name for t in conf.terminals if isinstance(t.pattern, PatternStr)}
        self.marks = {text: name for text, name in literals.items() if not text[0].isalpha()}
        self.words = {text: name for text, name in literals.items() if text[0].isalpha()}
        self.words.update(dict.fromkeys(QUALIFIERS, "QUALIFIER"))
        self.words.update(dict.fromkeys(TYPE_WORDS, "TYPE"))
        self.words.update(dict.fromkeys(UNSUPPORTED, "UNSUPPORTED"))

    def lex(self, text: str) -> Iterator[Token]:  # type: ignore[override]
        marks = self.marks
        words = dict(self.words)
        variables = set(DECLARED.findall(text))
        line, before, depth = 1, -1, 0  # `before` is the position in front of the line's first character
        for match in TOKEN.finditer(text):
            kind = match.lastgroup or "BAD"
            value = match[kind]
            start = match.end() - len(value)
            if kind == "WORD":
                known = words.get(value)
                if known is None:
                    known = words[value] = _kind_of_word(value, variables)
                kind = known
            elif kind == "MARK":
                kind = marks[value]
            elif kind == "BRACKET":
                kind = marks[value]
                depth += 1 if value in "([{" else -1
                if depth > MAX_DEPTH:
                    raise _error(text, line, start - before, 1, f"brackets are nested more than {MAX_DEPTH} deep")
            elif kind == "NEWLINE" or kind == "COMMENT":
                newlines = value.count("\n")
                if newlines:
                    line += newlines
                    before = start + value.rindex("\n")
                continue
            elif kind == "CHARACTER":
                kind, value = "INTEGER", _character(text, line, start - before, value)
            elif kind in PROBLEMS:
                raise _error(text, line, start - before, len(value), PROBLEMS[kind](value))
            yield Token(kind, value, start, line, start - before)


def _kind_of_word(word: str, variables: set[str]) -> str:
    if word.endswith("_t") and word not in variables:
        return "TYPE"
    return "ALIGN" if word.startswith(("row_align", "align")) else "NAME"


ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def unescaped(quoted: str) -> str:
    """The characters of a literal in its quotes."""
    return re.sub(r"\\(x[0-9a-fA-F]{1,2}|.)", lambda match: _escape(match.group(1)), quoted[1:-1])


def _escape(code: str) -> str:
    return chr(int(code[1:], 16)) if len(code) > 1 else ESCAPES.get(code, code)


def _character(text: str, line: int, column: int, value: str) -> str:
    """A character as the integer that it is in C."""
    character = unescaped(value)
    if len(character) != 1 or ord(character) > 127:
        raise _error(text, line, column, len(value), f"{value} is not one character of ASCII")
    return str(ord(character))


def _number(value: str) -> str:
    return f"{value!r} is not a number of the dialect; integers are written 12, 0x1F, 7u, floats 1.0, 1e-3, 0.5f"


PROBLEMS: Mapping[str, Callable[[str], str]] = {
    "UNCLOSED": lambda _value: "this comment is never closed",
    "NUMBER": _number,
    "QUOTE": lambda _: "this string or character has no end on its line",
    "DIRECTIVE": lambda _: "a directive of the preprocessor must begin its line",
    "BAD": lambda value: f"{value!r} does not belong in a kernel",
}


def line_text(text: str, line: int) -> str:
    """Line `line` of a text, counted from 1; empty beyond the text. Lines end at a newline only."""
    lines = text.split("\n")
    return lines[line - 1].rstrip("\r") if 0 < line <= len(lines) else ""


def _error(text: str, line: int, column: int, width: int, message: str) -> KernelError:
    return KernelError(message, place=Place("", line, column, line_text(text, line), min(width, 80)))
