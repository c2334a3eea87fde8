"""Grammars of the languages, whose parsing tables are kept in the user's cache folder: to make them takes longer than
to read most texts."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from lark import Lark
from platformdirs import user_cache_path


def parser_of(package: str, **options: Any) -> Lark:
    """The LALR parser of a package's `grammar.lark`, with lark's options.

    lark makes the tables anew when the grammar, an option or a version has changed, or when they cannot be read. They
    lie in the user's own folder alone, never in a shared one, because lark trusts what it finds.
    """
    grammar = files(package).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", cache=_tables(package), **options)


def _tables(package: str) -> str | bool:
    folder: Path = user_cache_path("autocomp") / "grammars"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return False  # no home, or none to write to: nothing is kept
    return str(folder / package)
