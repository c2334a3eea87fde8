"""The names that `typedef` gives to types, as macros for the types."""

from __future__ import annotations

from collections.abc import Sequence

from autocomp.targets.simulator.kernel.syntax.function_pointers import named_pointer
from autocomp.targets.simulator.kernel.syntax.pieces import Macro, Piece, spaced


def named_type(words: Sequence[Piece], line: int) -> tuple[str, Macro] | None:
    """The name and the words of the type, from the words after `typedef`; None where they name nothing that a kernel
    may declare. An array is its elements' type and `typedef([n][m])`, which belongs to the type in the grammar."""
    pointer = named_pointer(words)
    if pointer is not None:
        return pointer[0], Macro((Piece("WORD", pointer[1], line),))
    first = next((n for n, word in enumerate(words) if word.text == "["), len(words))
    *kind, name = words[:first] or [Piece("MARK", "", line)]
    extents = words[first:]
    if not kind or name.kind != "WORD":
        return None
    if not extents:
        return name.text, Macro(tuple(spaced(kind)))
    if extents[-1].text != "]" or any(word.text == "*" for word in kind):
        return None
    before, after = (Piece("WORD", "typedef", line), Piece("MARK", "(", line)), Piece("MARK", ")", line)
    return name.text, Macro((*spaced([*kind, *before]), *extents, after))


def named_structure(words: Sequence[Piece], line: int) -> tuple[str, Macro, str, list[Piece]]:
    """Of the words `struct … name`: the name, the words of the type, the structure's tag, and its fields in their
    braces, none where it is defined elsewhere."""
    opening = next((n for n, p in enumerate(words) if p.text == "{"), len(words))
    tag = words[1] if opening > 1 else words[-1]
    closing = next((n for n in reversed(range(len(words))) if words[n].text == "}"), 1)
    body = spaced(words[opening : closing + 1])
    type_words = (*spaced([Piece("WORD", "struct", line), tag]), *words[closing + 1 : -1])
    return words[-1].text, Macro(type_words), tag.text, body
