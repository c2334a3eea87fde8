"""Budgets of tokens and money: what answers cost is taken from the log, and ends the search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_search import Toy, ToyPlanner, summary

from autocomp.search import Problem, SearchResult
from autocomp.search.budget import Budget
from autocomp.targets.planning import Context, Planning, Usage

FREE = Usage()


@dataclass(frozen=True)
class PayingPlanner(ToyPlanner):
    price: Usage = FREE

    def plan(self, context: Context, count: int) -> Planning:
        return replace(super().plan(context, count), usage=self.price)


@dataclass(frozen=True)
class PayingToy(Toy):
    price: Usage = FREE

    def problem(self) -> Problem:
        problem = super().problem()
        return replace(problem, agents=replace(problem.agents, planner=PayingPlanner(price=self.price)))


def run(folder: Path, price: Usage, **options: Any) -> SearchResult:
    return PayingToy(folder, price=price).with_options(**options).run()


@pytest.mark.parametrize(
    ("price", "budget", "reason"),
    [
        (Usage(60, 40, requests=1), {"tokens": 250}, "budget of tokens spent"),
        (Usage(money=0.5, requests=1), {"money": 1.0}, "budget of money spent"),
        (Usage(unsent=1), {"tokens": 1000}, "budget of tokens spent"),
    ],
)
def test_a_search_ends_when_its_budget_is_spent(
    tmp_path: Path, price: Usage, budget: dict[str, float], reason: str
) -> None:
    result = run(tmp_path / "run", price, **budget)
    assert result.reason == reason
    assert result.history.usage.tokens >= budget.get("tokens", 0) or result.history.usage.unsent


def test_a_search_that_ended_on_its_budget_is_the_same_when_it_is_replayed(tmp_path: Path) -> None:
    price = Usage(60, 40, requests=1)
    first = run(tmp_path / "run", price, tokens=250)
    assert summary(run(tmp_path / "run", price, tokens=250)) == summary(first)


def test_an_ample_budget_changes_nothing(tmp_path: Path) -> None:
    price = Usage(60, 40, requests=1)
    assert summary(run(tmp_path / "a", price)) == summary(run(tmp_path / "b", price, tokens=10**9, money=1.0))


@given(
    st.integers(1, 7),
    st.integers(7, 500),
    st.none() | st.integers(0, 10**6),
    st.none() | st.floats(0, 1e6, allow_nan=False),
)
def test_shares_are_fair_and_add_up(parts: int, evaluations: int, tokens: int | None, money: float | None) -> None:
    whole = Budget(evaluations, None, tokens, money)
    shares = whole.shared(parts)
    together = sum(shares[1:], shares[0])
    assert (together.evaluations, together.seconds, together.tokens) == (evaluations, None, tokens)
    assert together.money == (None if money is None else pytest.approx(money))
    counts = [share.evaluations or 0 for share in shares]
    assert max(counts) - min(counts) <= 1


def test_what_is_left_is_never_less_than_nothing_and_no_bound_stays_none() -> None:
    assert Budget(10, 5.0).left(Budget(7, 9.0, 100, 1.0)) == Budget(3, 0)
