"""Fenced blocks in what a model wrote."""

from __future__ import annotations

import re

_OPEN = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([^\s`]*)[^\n`]*$")


def fenced_blocks(text: str) -> list[str]:
    """The contents of all ``` and ~~~ blocks; one that is left open runs to the end."""
    blocks: list[str] = []
    fence, lines = "", []  # type: tuple[str, list[str]]
    for line in text.splitlines():
        opening = _OPEN.match(line)
        if not fence and opening:
            fence, lines = opening.group(1), []
        elif fence and re.fullmatch(rf"\s*{re.escape(fence[0])}{{{len(fence)},}}\s*", line):
            blocks.append("\n".join(lines))
            fence = ""
        elif fence:
            lines.append(line)
    return [*blocks, "\n".join(lines)] if fence else blocks


def without_thoughts(text: str) -> str:
    """The answer proper, where a model shows its reasoning in front of it."""
    return re.split(r"</think(?:ing)?>", text)[-1]


def blocks_defining(answer: str, entry: str) -> list[str]:
    """The fenced blocks of an answer in which a function of that name is defined or called, each with one line break at
    its end."""
    named = re.compile(rf"\b{re.escape(entry)}\s*\(")
    return [block.strip() + "\n" for block in fenced_blocks(without_thoughts(answer)) if named.search(block)]
