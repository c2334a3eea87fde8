"""The sources that a description cites for its facts: `from "manual.pdf p. 12: words of the manual"`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from lark import Token

from autocomp.targets.simulator.isa.language.expressions import is_tree
from autocomp.targets.simulator.isa.language.statements import text_of
from autocomp.targets.simulator.isa.language.syntax import Source, SyntaxTree, parse_syntax

FACTS = ("param", "memory", "unit", "instruction")  # declarations that state facts of a machine


@dataclass(frozen=True)
class Cited:
    """A declaration that states facts, the line that it begins at, and the sources that it cites, with their lines."""

    kind: str
    name: str
    line: int
    sources: tuple[tuple[int, str], ...]
    unknown: bool = False  # its author states a range instead of a fact


def citations(text: str, name: str = "<text>") -> tuple[Cited, ...]:
    """The facts of a description with their sources, in the order of its text. Raises IsaError if it does not parse."""
    tree = parse_syntax(Source(text, name))
    citing = (_cited(node) for node in tree.find_pred(lambda node: node.data in FACTS))
    return tuple(sorted(citing, key=lambda fact: fact.line))


def _cited(node: SyntaxTree) -> Cited:
    token = cast(Token, node.children[0])
    unknown = any(is_tree(child, "unknown") for child in node.children)
    return Cited(str(node.data), str(token), token.line or 0, tuple(_sources(node)), unknown)


def _sources(node: SyntaxTree) -> Iterator[tuple[int, str]]:
    for citation in node.find_data("citation"):
        text = cast(SyntaxTree, citation.children[0])
        yield cast(Token, text.children[0]).line or 0, text_of(text)
