"""The linter of prose finds long sentences and phrases to avoid in pages, docstrings and messages."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "prose.py"


@pytest.fixture(scope="module")
def prose() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("prose", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["prose"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["prose"]


def of_docstring(prose: ModuleType, text: str) -> list[str]:
    found = prose.source_sentences("module.py", f'"""{text}"""\n')
    return [mistake for sentence in found for mistake in prose.mistakes(sentence, docstring=True)]


@pytest.mark.parametrize("word", ["What", "Whether", "How", "Why", "Which"])
def test_no_sentence_of_a_docstring_begins_with_a_question(prose: ModuleType, word: str) -> None:
    assert of_docstring(prose, f"A loop. {word} it holds is kept.") == [
        f"a sentence of a docstring begins with {word!r}: name the thing"
    ]


def test_a_phrase_of_the_list_is_found_with_a_better_one(prose: ModuleType) -> None:
    assert of_docstring(prose, "The row behind the last.") == ["'behind': write 'after'"]


def test_there_is_no_and_is_no_longer_are_plain_english(prose: ModuleType) -> None:
    assert of_docstring(prose, "There is no loop. The row is no longer than a block.") == []


def test_a_sentence_has_at_most_35_words(prose: ModuleType) -> None:
    assert of_docstring(prose, "word " * 35 + ".") == []
    assert of_docstring(prose, "word " * 36 + ".")[0].startswith("36 words in a sentence, at most 35")


def test_indented_commands_of_a_docstring_are_not_prose(prose: ModuleType) -> None:
    usage = "    python -m benchmarks.ablation " + "NAME " * 40
    assert of_docstring(prose, f"The cost of an option.\n\n{usage}\n\nPrints Markdown.\n") == []


def test_tables_headings_and_code_of_a_page_are_not_prose(prose: ModuleType) -> None:
    page = "# A heading behind\n\n| behind | 1 |\n\n```\nbehind\n```\n\nA sentence behind\nanother.\n"
    assert [(found.line, found.text) for found in prose.page_sentences("page.md", page)] == [
        (9, "A sentence behind another.")
    ]


def test_messages_are_the_strings_of_several_words_outside_of_docstrings(prose: ModuleType) -> None:
    module = '"""A docstring of a module."""\nraise ValueError("the loop is behind another", "name")\n'
    assert [found.text for found in prose.messages("module.py", module)] == ["the loop is behind another"]
