"""From text to a syntax tree, with every failure turned into a located IsaError."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import cast

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from autocomp import lalr
from autocomp.data import closest
from autocomp.errors import IsaError, Place
from autocomp.grammar import parser_of
from autocomp.lalr import LalrParser

SyntaxTree = Tree[Token]

MAX_SOURCE_BYTES = 1 << 18  # some seconds to read and check
MAX_DEPTH = 150  # nesting of the syntax tree; bounds the recursion of all that walks it
MAX_ERRORS = 50  # that are reported at once
_SKIPPED = r"```[\s\S]*?```|\"(?:\\.|[^\"\\\n])*\"|//[^\n]*|#[^\n]*|/\*[\s\S]*?\*/"
_STRUCTURE = re.compile(rf"(?P<skipped>{_SKIPPED})|(?P<mark>[{{}};])")
_DECLARED = re.compile(
    r"\b(?:const|param|memory|register|address|state|unit|function|instruction|alias|type|let)\s+(\w+)"
)

_SPELLED = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a text in quotes",
    "TEMPLATE": "a text between ```",
    "ELEMENT": "an element type (i4, i8, i16, i32, i64, u4, u8, u16, u32, u64, f8e4m3, f8e5m2, f16, bf16, f32, f64)",
    "SIGN": "'+' or '-'",
    "NOT": "'!' or '~'",
    "EQUALITY": "'==' or '!='",
    "COMPARISON": "'<', '<=', '>' or '>='",
    "SHIFT": "'<<' or '>>'",
    "STAR": "'*'",
    "DIVIDE": "'/' or '%'",
    "TYPED": "'saturate<…>', 'wrap<…>' or 'convert<…>'",
    "$END": "the end of the file",
}
_OPERATORS = {"SIGN", "EQUALITY", "COMPARISON", "SHIFT", "STAR", "DIVIDE"}
_SYMBOLS = {"&&", "||", "|", "&", "^", "?"}


@lru_cache(maxsize=1)
def _parser() -> Lark:
    return parser_of("autocomp.targets.simulator.isa.language", propagate_positions=True, maybe_placeholders=False)


@lru_cache(maxsize=1)
def _fast_parser() -> LalrParser:
    return LalrParser(_parser())


class FollowUpError(IsaError):
    """An error that another one causes: a name whose declaration failed."""


class RequirementError(IsaError):
    """Parameters that a description refuses. Other errors of the same text follow from them."""


class Source:
    """A text and its name: makes places for messages, and keeps the errors that were found in it."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.expansions = 0  # of functions so far; bounds the work that a small text can cause
        self.errors: list[IsaError] = []
        self._missing: set[str] = set()  # names whose declaration has an error
        self._lines = text.splitlines() or [""]

    @contextmanager
    def collect(self, *names: str) -> Iterator[None]:
        """Record the errors of a part of the text, which declares `names`, and continue after it."""
        try:
            yield
        except IsaError as error:
            self.note(error, *names)

    def note(self, error: IsaError, *names: str) -> None:
        """Keep an error of what declares some names; what only follows from another error is left out."""
        self._missing.update(names)
        known = any((error.place, error.message) == (other.place, other.message) for other in self.errors)
        if not isinstance(error, FollowUpError) and not known and len(self.errors) < MAX_ERRORS:
            self.errors.append(error)

    def lose(self, name: str) -> None:
        """Mark a name of which a part has an error: what is said of the whole only follows from that."""
        self._missing.add(name)

    def is_missing(self, name: str) -> bool:
        """True if the declaration of a name has an error."""
        return name in self._missing

    def fail(self) -> None:
        """Raise an IsaError with all errors so far, in the order of the text; return if no error was found."""
        errors = [error for error in self.errors if isinstance(error, RequirementError)] or self.errors
        if errors:
            first, *others = sorted(errors, key=lambda e: (e.place.line, e.place.column) if e.place else (0, 0))
            raise IsaError(first.message, place=first.place, hint=first.hint, others=tuple(others))

    def place(self, line: int, column: int, width: int = 1) -> Place:
        """The place of `width` characters at a line and column that count from 1."""
        text = self._lines[line - 1] if 0 < line <= len(self._lines) else ""
        return Place(self.name, max(line, 1), max(column, 1), text, width)

    def text_of(self, node: SyntaxTree) -> str:
        """The source text of a node of the tree."""
        return "" if node.meta.empty else self.text[node.meta.start_pos : node.meta.end_pos]

    def of(self, node: SyntaxTree | Token) -> Place:
        """The place of a node of the tree, up to the end of its first line."""
        if isinstance(node, Token):
            return self.place(node.line or 1, node.column or 1, len(node))
        meta = node.meta
        if meta.empty:
            return self.place(1, 1)
        width = meta.end_column - meta.column if meta.end_line == meta.line else 1
        return self.place(meta.line, meta.column, width)


def parse_syntax(source: Source) -> SyntaxTree:
    """The syntax tree of a description.

    A declaration that does not follow the grammar is noted as an error of the source and left out. Raises IsaError for
    text whose declarations cannot be told from each other, is nested deeper than MAX_DEPTH or is too large.
    """
    if len(source.text.encode("utf-8", "replace")) > MAX_SOURCE_BYTES:
        raise IsaError(
            f"{source.name}: the description is larger than {MAX_SOURCE_BYTES:,} bytes",
            hint="a description holds declarations only; keep data elsewhere",
        )
    text = source.text
    while True:
        try:
            tree = _tree(text)
            break
        except UnexpectedInput as error:
            span = _declaration_around(text, error.pos_in_stream)
            declared = [] if span is None else _DECLARED.findall(text[slice(*span)])
            source.note(_syntax_error(source, error), *declared)
            if span is None or len(source.errors) == MAX_ERRORS:
                source.fail()
            assert span is not None
            text = text[: span[0]] + re.sub(r"[^\n]", " ", text[slice(*span)]) + text[span[1] :]
    _check_depth(source, tree)
    return tree


def _declaration_around(text: str, position: int | None) -> tuple[int, int] | None:
    """Where the declaration at a position begins and ends; None outside of all, or if braces do not match."""
    depth, start, bounds = 0, 0, None
    for match in _STRUCTURE.finditer(text):
        mark = match["mark"]
        if mark == "{":
            depth += 1
            start = match.end() if depth == 1 else start
        elif mark == "}":
            depth -= 1
        if (mark == ";" and depth == 1) or (mark == "}" and depth == 1):
            if position is not None and start <= position < match.end():
                bounds = start, match.end()
            start = match.end()
    return bounds if depth == 0 else None


@lru_cache(maxsize=4)
def _tree(text: str) -> SyntaxTree:
    """The tree of a text, which nobody changes: one description is often read with several parameter sets."""
    try:
        return cast(SyntaxTree, _fast_parser().parse_text(text))
    except (lalr.UnexpectedToken, UnexpectedInput):
        return _parser().parse(text)  # which says more of what is wrong


def _check_depth(source: Source, tree: SyntaxTree) -> None:
    pending: list[tuple[SyntaxTree, int]] = [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise IsaError(
                f"nested more than {MAX_DEPTH} levels deep",
                place=source.of(node),
                hint="name parts of the expression with `let`, or of the statement with a function",
            )
        pending.extend((child, depth + 1) for child in node.children if isinstance(child, Tree))


def _syntax_error(source: Source, error: UnexpectedInput) -> IsaError:
    if isinstance(error, UnexpectedCharacters):
        place = source.place(error.line, error.column)
        character = source.text[error.pos_in_stream] if error.pos_in_stream is not None else ""
        if character == '"':
            return IsaError("this text has no closing quote on its line", place=place)
        return IsaError(f"{character!r} does not belong here; {_expectation(error.allowed or set())}", place=place)
    if isinstance(error, UnexpectedToken):
        expected = set(error.accepts or error.expected or ())
        if error.token.type == "$END":
            return _early_end(source, expected)
        message = f"{str(error.token)[:40]!r} does not belong here; {_expectation(expected)}"
        return IsaError(message, place=source.of(error.token), hint=_syntax_hint(error, expected))
    return IsaError(str(error).splitlines()[0], place=source.place(1, 1))


def _early_end(source: Source, expected: set[str]) -> IsaError:
    lines = source.text.splitlines() or [""]
    hint = "is a closing '}' missing?" if "RBRACE" in expected else None
    message = "the file ends too early" if hint else f"the file ends too early; {_expectation(expected)}"
    return IsaError(message, place=source.place(len(lines), len(lines[-1]) + 1), hint=hint)


def _syntax_hint(error: UnexpectedToken, expected: set[str]) -> str | None:
    before = error.token_history[-1] if error.token_history else None
    if before is not None and "SEMICOLON" in expected and before.end_line != error.token.line:
        return f"is a ';' missing after {str(before)[:40]!r} on line {before.end_line}?"
    if error.token.type == "COMMA" and {"COLON", "SHIFT"} <= expected:  # after a choice a colon alone may follow
        return "a sum has one variable: `sum(k < 4 * n: …)` with the digits `k / n` and `k % n` goes over two"
    known = [word for word in keywords() if word in {_keyword(terminal) for terminal in expected}]
    guess = closest(str(error.token), known)
    if guess is None and expected == {"LBRACE"} and before is not None:  # a misspelt keyword reads as a section
        guess = closest(str(before), keywords())
    return f"did you mean {guess!r}?" if guess is not None and guess != str(error.token) else None


def keywords() -> list[str]:
    """The words of the language itself."""
    return [word for word in (_keyword(terminal.name) for terminal in _parser().terminals) if word.isalpha()]


def _keyword(terminal: str) -> str:
    definition = next((t for t in _parser().terminals if t.name == terminal), None)
    return definition.pattern.value if definition is not None and definition.pattern.type == "str" else ""


def _expectation(expected: set[str]) -> str:
    operators = {t for t in expected if t in _OPERATORS or _keyword(t) in _SYMBOLS}
    rest = expected - operators if len(operators) >= 3 else expected
    spelled = sorted(_SPELLED.get(t) or repr(_keyword(t) or t) for t in rest)
    if len(operators) >= 3:
        spelled.append("an operator")
    if not spelled:
        return "nothing may follow"
    return "expected " + (spelled[0] if len(spelled) == 1 else ", ".join(spelled[:-1]) + " or " + spelled[-1])
