"""Help for editors of descriptions: mistakes, the meaning of a word, the words that may come next.

Lines and columns count from 0 here, as the Language Server Protocol has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from autocomp.errors import AutocompError
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.language.syntax import keywords
from autocomp.targets.simulator.isa.timing import KINDS, ROLES, reference_table

WORD = re.compile(r"[A-Za-z_]\w*")
COMMENT = re.compile(r"//[^\n]*|\"[^\"\n]*\"?")
OPENING = re.compile(r"(\w+)[^{};]*$")  # the first word of the statement that a brace ends
NAMES_ITS_MACHINE = re.compile(r"\bon\s+\w*$|\bmemory\s+\w*$")


@dataclass(frozen=True)
class Mistake:
    """A message at a place of one line."""

    line: int
    column: int
    width: int
    message: str


@dataclass(frozen=True)
class Word:
    """A word that may be written at a place, with its kind (keyword, key, value or name) and its meaning."""

    text: str
    kind: str
    meaning: str = ""


class Description:
    """One open file. Names are known from the last text that had no mistake."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = ""
        self._names: dict[str, str] = {}

    def update(self, text: str) -> list[Mistake]:
        """Take the text, and say what is wrong with it: all mistakes that one reading finds."""
        self.text = text
        try:
            machine = isa.parse(text, self.name)
            isa.lower(machine)
        except AutocompError as error:
            return [_mistake(one) for one in error.all]
        self._names = dict(_names(machine))
        return []

    def hover(self, line: int, column: int) -> str | None:
        """The documentation of the word at a place, or None."""
        text = self._line(line)
        for match in WORD.finditer(text):
            if match.start() <= column <= match.end():
                word = match.group()
                block = self._block(line, match.start())
                own = {where: _said(key, where, *rest) for where, key, *rest in _keys() if key == word}
                named = [self._names.get(word), KINDS.get(word), ROLES.get(word)]
                return next(filter(None, [own.get(block), *named, *own.values()]), None)
        return None

    def completion(self, line: int, column: int) -> list[Word]:
        """The words that fit at a place: keys of the block and values of `kind` and `role` there, else keywords and
        the names that the file declares."""
        before = self._line(line)[:column]
        block = self._block(line, column)
        names = [Word(name, "name", meaning) for name, meaning in self._names.items()]
        value = re.search(r"\b(kind|role)\s*:\s*\w*$", before)
        if value:
            return [Word(text, "value", meaning) for text, meaning in (KINDS if value[1] == "kind" else ROLES).items()]
        if NAMES_ITS_MACHINE.search(before) or re.search(r"[:=(,]\s*[^;{}]*$", before):
            return names
        keys = [
            Word(key, "key", f"{meaning}. Default: {default}")
            for where, key, meaning, default in _keys()
            if where == block
        ]
        return keys or [*(Word(word, "keyword") for word in keywords()), *names]

    def _line(self, line: int) -> str:
        lines = self.text.splitlines()
        return lines[line] if 0 <= line < len(lines) else ""

    def _block(self, line: int, column: int) -> str:
        """The first word of the statement whose braces enclose a place; "" outside of all."""
        lines = self.text.splitlines()[:line]
        before = COMMENT.sub("", "\n".join([*lines, self._line(line)[:column]]))
        openings: list[str] = []
        start = 0
        for match in re.finditer(r"[{};]", before):
            if match.group() == "{":
                words = WORD.findall(before[start : match.start()])
                openings.append(words[0] if words else "")
            elif match.group() == "}" and openings:
                openings.pop()
            start = match.end()
        return openings[-1] if openings else ""


def _said(key: str, where: str, meaning: str, default: str) -> str:
    return f"`{key}` in `{where}`: {meaning}. Default: {default}"


def _mistake(error: AutocompError) -> Mistake:
    message = error.message + (f" ({error.hint})" if error.hint else "")
    if error.place is None:
        return Mistake(0, 0, 1, message)
    return Mistake(error.place.line - 1, error.place.column - 1, max(1, error.place.width), message)


def _names(machine: isa.Accelerator) -> Iterator[tuple[str, str]]:
    """Everything that a description declares, with its documentation."""
    for name, value in {**machine.constants, **machine.parameters}.items():
        note = machine.notes.get(name, "")
        yield name, f"`{name} = {value}`" + (f": {note}" if note else "")
    for memory in machine.memories:
        size = f": {memory.rows} rows of {memory.cols} {memory.element}" if memory.rows else ""
        yield memory.name, f"memory `{memory.name}`{size}. {memory.doc}".strip()
    for unit in machine.units:
        yield unit.name, f"unit `{unit.name}`. {unit.doc}".strip()
    for instruction in machine.instructions:
        operands = ", ".join(operand.name for operand in instruction.parameters)
        yield instruction.name, f"`{instruction.name}({operands})` on `{instruction.unit}`. {instruction.doc}".strip()


@cache
def _keys() -> tuple[tuple[str, str, str, str], ...]:
    """(block, key, meaning, default) of every setting."""
    return tuple(reference_table())
