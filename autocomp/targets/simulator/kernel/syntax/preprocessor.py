"""C's preprocessor for kernels and programs: macros, conditions and includes, and the names of `typedef` and `enum`.

The result has as many lines as the text, so that places stay true. Files are never read: an include says that names of
a header are wanted, and the machine's description is where they come from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

from autocomp.errors import KernelError, Place
from autocomp.targets.simulator.kernel.syntax.conditions import Unknown, value_of
from autocomp.targets.simulator.kernel.syntax.pieces import (
    Macro,
    Piece,
    closed,
    joined,
    pieces_of,
    placed,
    split,
    stripped,
)
from autocomp.targets.simulator.kernel.syntax.typedefs import named_structure, named_type

MAX_RESULT = 1 << 20  # characters
MAX_PIECES = 1 << 17  # of one expansion
MAX_NESTING = 64  # of macros in macros, and of conditions
REST = "__VA_ARGS__"  # what the parameter `...` of a macro is called
# Headers of the C library and of its system: what a program needs of them is built in.
SYSTEM_HEADERS = frozenset(
    f"{name}.h"
    for name in (
        "assert", "float", "inttypes", "limits", "math", "stdbool", "stddef", "stdint", "stdio", "stdlib", "string",
        "sys/mman", "sys/time", "time", "unistd",
    )
)  # fmt: skip

_LOWERED = re.compile(r"^[^\S\n]*#|\b(?:typedef|enum|__attribute__)\b", re.MULTILINE)


class Preprocessed(NamedTuple):
    """`includes` are the quoted headers with their lines; those of the system are not listed."""

    text: str
    includes: tuple[tuple[str, int], ...] = ()


def preprocess(text: str, source_name: str, names: Mapping[str, int | float]) -> Preprocessed:
    """The text with macros expanded and lines that do not count left empty. `names` are constants from outside: defined
    for `#ifdef`, values in `#if`. Raises KernelError with the place of the first mistake."""
    if not _LOWERED.search(text):
        return Preprocessed(text)
    return _Preprocessor(text, source_name, names).run()


class _Preprocessor:
    def __init__(self, text: str, source_name: str, names: Mapping[str, int | float]) -> None:
        self._text = text
        self._source_name = source_name
        self._names = names
        self._macros: dict[str, Macro] = {}
        self._includes: list[tuple[str, int]] = []
        # Of each open condition: its lines count, one of its groups did already, the lines around it count.
        self._open: list[tuple[bool, bool, bool, int]] = []
        self._out: list[str] = []
        self._size = 0

    def run(self) -> Preprocessed:
        pieces = list(pieces_of(self._text))
        position, start = 0, True  # `start`: nothing but blanks and comments before on this line
        while position < len(pieces):
            piece = pieces[position]
            if start and piece.text == "#":
                end = self._line_end(pieces, position)
                self._directive(pieces[position + 1 : end], piece.line)
                self._put("\n" * sum(p.text.count("\n") for p in pieces[position:end]))
                position = end
            elif not self._counts():
                self._put("\n" * piece.text.count("\n"))
                position += 1
            else:
                position = self._ordinary(pieces, position)
            start = piece.kind == "NEWLINE" or (start and piece.kind in ("BLANK", "COMMENT"))
        if self._open:
            self._fail(self._open[-1][3], "this condition has no #endif")
        return Preprocessed("".join(self._out), tuple(self._includes))

    # --- text ---

    def _put(self, text: str) -> None:
        self._size += len(text)
        if self._size > MAX_RESULT:
            line = 1 + sum(part.count("\n") for part in self._out)
            self._fail(line, f"the text has more than {MAX_RESULT} characters after its macros are expanded")
        self._out.append(text)

    def _ordinary(self, pieces: Sequence[Piece], position: int) -> int:
        """Emits the piece at a position, or its expansion. Returns the position after it."""
        piece = pieces[position]
        if piece.kind != "WORD":
            self._put(piece.text)
            return position + 1
        if piece.text in ("typedef", "enum"):
            ends = (n for n in range(position, len(pieces)) if pieces[n].text == ";" and closed(pieces, position, n))
            end = next(ends, None)
            if piece.text == "enum" and not any(p.text == "{" for p in pieces[position : end or position]):
                end = None  # `enum tag x`
            if end is None and piece.text == "typedef":
                self._fail(piece.line, "this typedef has no end")
            if end is not None:
                self._put(self._declared(pieces[position:end], piece.line))
                self._put("\n" * sum(p.text.count("\n") for p in pieces[position:end]))
                return end + 1
            tag = self._next(pieces, position + 1)
            self._put("int")
            return tag + 1
        expanded, end = self._expansion(pieces, position, frozenset())
        if expanded is None:
            self._put(piece.text)
            return position + 1
        self._put("".join(p.text.replace("\n", " ") for p in expanded))
        self._put("\n" * sum(p.text.count("\n") for p in pieces[position:end]))
        return end

    def _declared(self, pieces: Sequence[Piece], line: int) -> str:
        """Takes the names of a `typedef` or an `enum` with its list; returns what is left to declare."""
        words = [p for p in pieces if p.kind not in ("BLANK", "NEWLINE", "COMMENT")]
        is_typedef = words[0].text == "typedef"
        words = words[1:] if is_typedef else words
        if words and words[0].text == "union":
            self._fail(line, "'union' is not part of the kernel dialect")
        if is_typedef and words and words[0].text == "struct" and words[-1].kind == "WORD":
            return self._structure(words, line)
        if words and words[0].text == "enum":
            opening = next((n for n, p in enumerate(words) if p.text == "{"), None)
            if opening is not None:
                closing = next(n for n, p in enumerate(words) if p.text == "}")
                self._enumerators(words[opening + 1 : closing], line)
                words = [Piece("WORD", "int", line), *words[closing + 1 :]]
            else:
                words = [Piece("WORD", "int", line), *words[2:]]
        if not is_typedef:
            return "".join(f"{p.text} " for p in words) + ";" if len(words) > 1 else ""
        named = named_type(words, line)
        if named is None:
            hint = "a number, a pointer, a pointer to a function, an array of numbers or a structure"
            self._fail(line, "what this typedef names is not a type of the dialect", hint)
        name, self._macros[name] = named
        return ""

    def _structure(self, words: Sequence[Piece], line: int) -> str:
        """Takes the name of `typedef struct`; returns the definition of the structure, which then has a tag."""
        name, macro, tag, body = named_structure(words, line)
        defined = "".join(p.text for p in self._expanded(body, frozenset()))
        self._macros[name] = macro
        return f"struct {tag} {defined};" if body else ""

    def _enumerators(self, words: Sequence[Piece], line: int) -> None:
        value = -1
        for part in split(words):
            if not part:
                continue
            if len(part) > 1 and part[1].text != "=":
                self._fail(part[1].line, f"expected '=' or ',' in an enum, not {part[1].text!r}")
            value = self._value(part[2:], part[0].line) if len(part) > 1 else value + 1
            self._macros[part[0].text] = Macro((Piece("NUMBER", str(value) if value >= 0 else f"({value})", line),))

    # --- macros ---

    def _expansion(
        self, pieces: Sequence[Piece], position: int, hidden: frozenset[str]
    ) -> tuple[list[Piece] | None, int]:
        """The expansion of the macro at a position and the position after its use; None if no macro is used there."""
        word = pieces[position]
        macro = self._macros.get(word.text)
        if word.text == "__LINE__":
            return [Piece("NUMBER", str(word.line), word.line)], position + 1
        if word.text == "__FILE__":
            return [Piece("STRING", f'"{self._source_name}"', word.line)], position + 1
        if word.text == "__attribute__":
            _, end = self._arguments(pieces, self._next(pieces, position + 1), word)
            return [], end
        if macro is None or word.text in hidden:
            return None, position + 1
        if len(hidden) > MAX_NESTING:
            self._fail(word.line, f"macros are nested more than {MAX_NESTING} deep")
        inner = hidden | {word.text}
        if macro.parameters is None:
            return self._expanded(placed(macro.body, word.line), inner), position + 1
        opening = self._next(pieces, position + 1)
        if opening >= len(pieces) or pieces[opening].text != "(":
            return None, position + 1
        arguments, end = self._arguments(pieces, opening, word)
        if macro.parameters[-1:] == (REST,):
            rest = slice(len(macro.parameters) - 1, None)
            arguments[rest] = [joined(arguments[rest])]
        if len(arguments) != len(macro.parameters):
            expected = f"{word.text}({', '.join(macro.parameters)})"
            self._fail(word.line, f"macro {word.text!r} has {len(arguments)} arguments; it is {expected}")
        bound = dict(zip(macro.parameters, arguments, strict=True))
        return self._expanded(self._substituted(macro, bound, word.line, hidden), inner), end

    def _expanded(self, pieces: Sequence[Piece], hidden: frozenset[str]) -> list[Piece]:
        result: list[Piece] = []
        position = 0
        while position < len(pieces):
            piece = pieces[position]
            expanded, end = None, position + 1
            if piece.kind == "WORD":
                expanded, end = self._expansion(pieces, position, hidden)
            result.extend([piece] if expanded is None else expanded)
            if len(result) > MAX_PIECES:
                self._fail(piece.line, "macros expand to too much text")
            position = end
        return result

    def _substituted(
        self, macro: Macro, bound: Mapping[str, Sequence[Piece]], line: int, hidden: frozenset[str]
    ) -> list[Piece]:
        """A macro's body with its arguments put in, those beside `#` and `##` as they were written."""
        body = [p for p in macro.body if p.kind != "COMMENT"]
        result: list[Piece] = []
        paste = False
        for position, piece in enumerate(body):
            after = next((p for p in body[position + 1 :] if p.kind != "BLANK"), None)
            if piece.text == "##":
                while result and result[-1].kind == "BLANK":
                    result.pop()
                paste = True
                continue
            if piece.kind == "BLANK" and paste:
                continue
            if piece.text == "#" and after is not None and after.text in bound:
                continue
            before = next((p for p in reversed(body[:position]) if p.kind != "BLANK"), None)
            if piece.kind == "WORD" and piece.text in bound:
                given = list(bound[piece.text])
                if before is not None and before.text == "#":
                    words = "".join(p.text for p in given).replace("\\", "\\\\").replace('"', '\\"')
                    given = [Piece("STRING", f'"{words}"', line)]
                elif not paste and (after is None or after.text != "##"):
                    given = self._expanded(given, hidden)
            else:
                given = [piece]
            if paste and result and given:
                pasted = result.pop().text + given[0].text
                given = [*placed(tuple(pieces_of(pasted)), line), *given[1:]]
            elif paste and piece.text == REST and result and result[-1].text == ",":
                result.pop()  # GNU's `, ##__VA_ARGS__`
            paste = False
            result.extend(given)
        return placed(tuple(result), line)

    def _arguments(self, pieces: Sequence[Piece], opening: int, word: Piece) -> tuple[list[list[Piece]], int]:
        """The arguments in the parentheses that open at a position, and the position after these."""
        depth, position = 0, opening
        while position < len(pieces):
            depth += {"(": 1, ")": -1}.get(pieces[position].text, 0)
            if depth <= 0:
                break
            position += 1
        else:
            self._fail(word.line, f"the arguments of macro {word.text!r} have no end")
        inner = [p for p in pieces[opening + 1 : position] if p.kind != "COMMENT"]
        spaced = [Piece("BLANK", " ", p.line) if p.kind == "NEWLINE" else p for p in inner]
        parts = [stripped(part) for part in split(spaced)]
        return ([] if parts == [[]] else parts), position + 1

    @staticmethod
    def _next(pieces: Sequence[Piece], position: int) -> int:
        while position < len(pieces) and pieces[position].kind in ("BLANK", "NEWLINE", "COMMENT"):
            position += 1
        return position

    # --- directives ---

    def _counts(self) -> bool:
        return not self._open or self._open[-1][0]

    @staticmethod
    def _line_end(pieces: Sequence[Piece], position: int) -> int:
        """The position of the newline that ends a directive: one after a backslash continues it."""
        while position < len(pieces):
            if pieces[position].kind == "NEWLINE" and "\\" not in pieces[position - 1].text:
                return position
            position += 1
        return position

    def _directive(self, pieces: Sequence[Piece], line: int) -> None:
        words = [Piece("BLANK", " ", p.line) if p.kind in ("BLANK", "NEWLINE", "COMMENT") else p for p in pieces]
        words = stripped(words)
        if not words:
            return
        name, rest = words[0].text, stripped(words[1:])
        if name in ("if", "ifdef", "ifndef", "elif", "else", "endif"):
            self._condition(name, rest, line)
        elif not self._counts():
            return
        elif name == "define":
            self._define(rest, line)
        elif name == "undef" and len(rest) == 1:
            self._macros.pop(rest[0].text, None)
        elif name == "include":
            self._include("".join(p.text for p in rest), line)
        elif name == "error":
            self._fail(line, "#error " + "".join(p.text for p in rest))
        elif name not in ("pragma", "line"):
            self._fail(line, f"unknown directive #{name}")

    def _define(self, rest: Sequence[Piece], line: int) -> None:
        if not rest or rest[0].kind != "WORD":
            self._fail(line, "expected a name after #define")
        name, after = rest[0].text, list(rest[1:])
        if not after or after[0].text != "(":
            self._macros[name] = Macro(tuple(stripped(after)))
            return
        closing = next((n for n, p in enumerate(after) if p.text == ")"), None)
        if closing is None:
            self._fail(line, f"the parameters of macro {name!r} have no end")
        parts = [stripped(part) for part in split(after[1:closing])]
        parameters = [[Piece("WORD", REST, line)] if [p.text for p in part] == [*"..."] else part for part in parts]
        parameters = [] if parameters == [[]] else parameters
        if any(len(part) != 1 or part[0].kind != "WORD" for part in parameters):
            self._fail(line, f"the parameters of macro {name!r} must be names")
        self._macros[name] = Macro(tuple(stripped(after[closing + 1 :])), tuple(part[0].text for part in parameters))

    def _include(self, what: str, line: int) -> None:
        name = what[1:-1]
        if not name or what[0] + what[-1] not in ('""', "<>"):
            self._fail(line, '#include needs "file.h" or <file.h>')
        if name in SYSTEM_HEADERS:
            return
        if what[0] == "<" and "/" not in name:
            self._fail(line, f"unknown system header {what}", f"known: {', '.join(sorted(SYSTEM_HEADERS))}")
        self._includes.append((name, line))

    def _condition(self, name: str, rest: Sequence[Piece], line: int) -> None:
        if name in ("if", "ifdef", "ifndef"):
            if len(self._open) >= MAX_NESTING:
                self._fail(line, f"conditions are nested more than {MAX_NESTING} deep")
            around = self._counts()
            holds = around and self._holds(name, rest, line)
            self._open.append((holds, holds, around, line))
            return
        if not self._open:
            self._fail(line, f"#{name} without an #if")
        _, done, around, opened = self._open.pop()
        if name == "elif":
            holds = around and not done and self._holds("if", rest, line)
            self._open.append((holds, done or holds, around, opened))
        elif name == "else":
            self._open.append((around and not done, True, around, opened))

    def _holds(self, name: str, rest: Sequence[Piece], line: int) -> bool:
        if name == "if":
            return bool(self._value(rest, line))
        if len(rest) != 1 or rest[0].kind != "WORD":
            self._fail(line, f"#{name} needs one name")
        return self._defined(rest[0].text) is (name == "ifdef")

    def _defined(self, name: str) -> bool:
        return name in self._macros or name in self._names

    def _value(self, pieces: Sequence[Piece], line: int) -> int:
        """The value of an integer constant expression of macros and names from outside."""
        words = self._expanded(self._without_defined(pieces), frozenset())
        try:
            return value_of([p.text for p in words if p.kind not in ("BLANK", "COMMENT")], self._names)
        except Unknown as error:
            self._fail(line, error.args[0], error.args[1] if len(error.args) > 1 else None)

    def _without_defined(self, pieces: Sequence[Piece]) -> list[Piece]:
        words = [p for p in pieces if p.kind not in ("BLANK", "COMMENT")]
        result: list[Piece] = []
        position = 0
        while position < len(words):
            piece = words[position]
            bracket = position + 1 < len(words) and words[position + 1].text == "("
            name = position + (2 if bracket else 1)
            if piece.text == "defined" and name < len(words):
                result.append(Piece("NUMBER", str(int(self._defined(words[name].text))), piece.line))
                position = name + (2 if bracket else 1)
            else:
                result.append(piece)
                position += 1
        return result

    def _fail(self, line: int, message: str, hint: str | None = None) -> NoReturn:
        lines = self._text.split("\n")
        text = lines[line - 1] if line <= len(lines) else ""
        column = len(text) - len(text.lstrip()) + 1
        raise KernelError(message, place=Place(self._source_name, line, column, text), hint=hint)
