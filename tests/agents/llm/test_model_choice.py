"""The ablation: a search whose choices a model makes, beside one that draws them at random from the same offers."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.model_choice import Outcome, drawn_at_random, search, table


@pytest.fixture(autouse=True)
def _fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOCOMP_CACHE", str(tmp_path / "cache"))


@pytest.mark.long
def test_choices_drawn_at_random_are_counted_and_carried_out() -> None:
    with drawn_at_random(1) as chance:
        outcome = search([chance], "tiny_gemm", evaluations=3, seed=1)
    assert set(outcome.authors) == {chance.model}
    assert outcome.evaluations <= 3
    assert outcome.requests >= outcome.authors[chance.model] > 0
    assert outcome.best <= outcome.naive


def test_the_table_gives_medians_and_spread() -> None:
    runs = [Outcome(seed, 900, best, 5, 7, 1.0, {"m": 5}) for seed, best in enumerate((300, 100, 800))]
    assert "| m | 900 | 300 | 100 to 800 | 15 | 21 |" in table({"m": runs})
