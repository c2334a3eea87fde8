"""The parsing loop gives what lark's own gives, and expects what it expects."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedToken as LarkUnexpectedToken
from packaging.requirements import Requirement

from autocomp.data import data_dir
from autocomp.grammar import parser_of
from autocomp.lalr import LalrParser, UnexpectedToken

GRAMMAR = """
start: statement+
?statement: expression ";" | block
block: "{" statement* "}"
?expression: product | expression "+" product -> add
?product: atom | product "*" atom
?atom: NAME -> name | "(" expression ")" | call
call: NAME "(" _arguments? ")" | NAME "(" ";" names ")"
names: (NAME ("," NAME)*)?
_arguments: expression ("," expression)*
NAME: /[a-z]/
"""


LARK = Lark(GRAMMAR, parser="lalr", lexer="basic")
PARSER = LalrParser(LARK)


@given(st.text("ab+*(),;{}", max_size=12))
def test_as_lark_parses(text: str) -> None:
    try:
        expected = LARK.parse(text)
    except LarkUnexpectedToken as error:
        accepted = error.accepts
        with pytest.raises(UnexpectedToken) as caught:
            PARSER.parse(LARK.lex(text))
        assert caught.value.expected == accepted
    else:
        assert PARSER.parse(LARK.lex(text)) == expected


def test_a_text_is_cut_and_placed_as_by_lark() -> None:
    lark = parser_of("autocomp.targets.simulator.isa.language", propagate_positions=True, maybe_placeholders=False)
    text = max((path.read_text() for path in data_dir("isa").glob("*.isa")), key=len)
    expected = lark.parse(text)
    given = LalrParser(lark).parse_text(text)
    assert given == expected
    assert [_place(tree) for tree in given.iter_subtrees()] == [_place(tree) for tree in expected.iter_subtrees()]


def _place(tree: Tree[Token]) -> tuple[int, ...]:
    meta = tree.meta
    return () if meta.empty else (meta.line, meta.column, meta.start_pos, meta.end_line, meta.end_column, meta.end_pos)


def test_the_installed_lark_is_one_whose_tables_are_known() -> None:
    """The parts of lark that the loop reads have no stable interface: these tests admit versions one by one."""
    (stated,) = re.findall(r'"(lark[^"]*)"', (Path(__file__).parents[1] / "pyproject.toml").read_text())
    asked = Requirement(stated).specifier
    assert metadata.version("lark") in asked
    assert any(specifier.operator == "<" for specifier in asked), "the tables of later versions are unknown"
