"""Search/replace blocks: parts of a kernel to be found as they stand, and what to put in their place."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from autocomp.agents.llm.feedback import unnumbered

SEARCH, DIVIDER, REPLACE = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"


@dataclass(frozen=True)
class Edit:
    """One replacement of whole lines, without their last line break. An empty `replace` deletes the lines."""

    search: str
    replace: str


class EditError(Exception):
    """Blocks that cannot be read, or do not fit the text; the message tells a model what to mend."""


def parse_edits(answer: str) -> tuple[Edit, ...]:
    """The blocks of an answer, in its order; none where it has none. Raises EditError for one that is incomplete."""
    edits: list[Edit] = []
    part, search, replace = "", [], []  # type: tuple[str, list[str], list[str]]
    for number, line in enumerate(answer.splitlines(), start=1):
        mark = line.strip()
        if mark == SEARCH:
            if part:
                raise EditError(f"block {len(edits) + 1} is not closed by '{REPLACE}' before the next one starts")
            part, search, replace = SEARCH, [], []
        elif part == SEARCH and mark == DIVIDER:
            part = DIVIDER
        elif part == DIVIDER and mark == REPLACE:
            edits.append(Edit(_text(search), _text(replace)))
            part = ""
        elif re.fullmatch(r"<{7}.*|>{7}.*", mark):
            raise EditError(f"line {number} of the answer, {mark!r}, is out of place: each block is {_FORM}")
        elif part:
            (search if part == SEARCH else replace).append(line)
    if part:
        raise EditError(f"block {len(edits) + 1} is not closed by '{REPLACE}': each block is {_FORM}")
    return tuple(edits)


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """The text with all blocks replaced. Each has to match whole lines of the text as it was, in exactly one place,
    and none may overlap another; line ends and trailing blanks are not compared. Raises EditError."""
    lines = text.splitlines()
    spots = sorted((_find(lines, edit, number), number, edit) for number, edit in enumerate(edits, start=1))
    result: list[str] = []
    position = 0
    for (start, end), number, edit in spots:
        if start < position:
            raise EditError(f"block {number} overlaps another block at line {start + 1} of the kernel")
        result += lines[position:start] + (edit.replace.split("\n") if edit.replace else [])
        position = end
    return "\n".join([*result, *lines[position:]]) + "\n"


def _text(lines: Sequence[str]) -> str:
    """The lines of a block; without the numbers that they bore in the question, where they were copied."""
    text = "\n".join(lines)
    return text if unnumbered(text) == text else unnumbered(text).removesuffix("\n")


_FORM = f"'{SEARCH}', lines, '{DIVIDER}', lines, '{REPLACE}'"


def _find(lines: Sequence[str], edit: Edit, number: int) -> tuple[int, int]:
    """First line of the only match and the line after its last, counted from 0."""
    wanted = [line.rstrip() for line in edit.search.split("\n")]
    if not any(wanted):
        raise EditError(f"block {number} searches for nothing: give the lines that it is to replace")
    stripped = [line.rstrip() for line in lines]
    places = [at for at in range(len(lines) - len(wanted) + 1) if stripped[at : at + len(wanted)] == wanted]
    if len(places) == 1:
        return places[0], places[0] + len(wanted)
    if places:
        shown = ", ".join(str(place + 1) for place in places[:5])
        raise EditError(f"block {number} matches at {len(places)} places (lines {shown}): add lines around it")
    raise EditError(f"block {number} matches nowhere: {_nearest(stripped, wanted)}")


def _nearest(lines: Sequence[str], wanted: Sequence[str]) -> str:
    """The lines of the kernel that resemble the block most."""
    first = next(line for line in wanted if line.strip())
    for line in wanted:
        if line not in lines:
            near = difflib.get_close_matches(line, lines, n=1, cutoff=0.4)
            hint = f"; the nearest line is {lines.index(near[0]) + 1}: {near[0]!r}" if near else ""
            return f"the kernel has no line {line!r}{hint}"
    return f"its lines, from {first!r} on, do not follow each other in the kernel"
