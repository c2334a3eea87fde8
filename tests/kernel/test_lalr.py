"""The parsing loop gives what lark's own gives, and expects what it expects."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark
from lark.exceptions import UnexpectedToken as LarkUnexpectedToken
from packaging.requirements import Requirement

from autocomp.targets.simulator.kernel.syntax.lalr import LalrParser, UnexpectedToken

GRAMMAR = """
start: statement+
?statement: expression ";" | block
block: "{" statement* "}"
?expression: product | expression "+" product -> add
?product: atom | product "*" atom
?atom: NAME -> name | "(" expression ")" | call
call: NAME "(" _arguments? ")"
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


def test_the_installed_lark_is_one_whose_tables_are_known() -> None:
    """The parts of lark that the loop reads have no stable interface: these tests admit versions one by one."""
    (stated,) = re.findall(r'"(lark[^"]*)"', (Path(__file__).parents[2] / "pyproject.toml").read_text())
    asked = Requirement(stated).specifier
    assert metadata.version("lark") in asked
    assert any(specifier.operator == "<" for specifier in asked), "the tables of later versions are unknown"
