"""The parsing tables that are kept between starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp import grammar

TEXT = "accelerator a { const SIZE = 4 + 3 * 2; }"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(grammar, "user_cache_path", lambda name: tmp_path / name)
    return tmp_path / "autocomp" / "grammars" / "autocomp.targets.simulator.isa.language"


def read() -> object:
    return grammar.parser_of("autocomp.targets.simulator.isa.language", maybe_placeholders=False).parse(TEXT)


def test_kept_tables_give_the_same_tree(kept: Path) -> None:
    made = read()
    written = kept.read_bytes()
    assert read() == made
    assert kept.read_bytes() == written


def test_damaged_tables_are_made_anew(kept: Path) -> None:
    made = read()
    whole = kept.read_bytes()
    for left in (b"no tables", whole.splitlines(keepends=True)[0], whole[: len(whole) // 2]):
        kept.write_bytes(left)
        assert read() == made
        assert kept.read_bytes() != left


def test_without_a_folder_to_write_to_nothing_is_kept(kept: Path) -> None:
    kept.parent.parent.write_text("a file where the folder should be")
    assert read() is not None
    assert not kept.exists()


def test_tables_of_other_options_are_not_taken(kept: Path) -> None:
    read()
    before = kept.read_bytes()
    assert (
        grammar.parser_of("autocomp.targets.simulator.isa.language", propagate_positions=True).parse(TEXT) is not None
    )
    assert kept.read_bytes() != before
