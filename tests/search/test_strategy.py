"""Which candidates beam search expands."""

from __future__ import annotations

from dataclasses import replace

import pytest
from toy_search import ToyEvaluator

from autocomp.search import BeamSearch, Candidate, Expand, History, Options, Stop
from autocomp.search.candidate import Step


def candidate(number: int, cycles: int | None, step: int = 1, parent: int = 0) -> Candidate:
    """A correct candidate, or a duplicate if `cycles` is None."""
    if cycles is None:
        return Candidate(number, step, parent, None, "", "", "duplicate")
    evaluation = replace(ToyEvaluator().evaluate("naive"), cycles=cycles)
    return Candidate(number, step, parent, None, f"k{number}", f"h{number}", "correct", evaluation=evaluation)


NAIVE = replace(candidate(0, 1000, step=0), parent=None)
NO_LIMITS = Options(beam=2, patience=100, max_steps=100, target=2.0)


def parents(options: Options, *steps: Step) -> list[int]:
    decision = BeamSearch(options).decide(History(NAIVE, steps))
    assert isinstance(decision, Expand)
    return [parent.id for parent in decision.parents]


def test_it_starts_from_the_naive_kernel() -> None:
    assert parents(NO_LIMITS) == [0]


def test_the_fastest_are_expanded_and_ties_go_to_the_older() -> None:
    step = Step(1, (0,), (candidate(1, 500), candidate(2, 300), candidate(3, 500)))
    assert parents(NO_LIMITS, step) == [2, 1]


def test_parents_compete_with_their_children() -> None:
    step = Step(1, (0,), (candidate(1, 2000), candidate(2, 3000)))
    assert parents(NO_LIMITS, step) == [0, 1]
    assert parents(replace(NO_LIMITS, keep_parents=False), step) == [1, 2]


def test_without_children_the_last_generation_stays() -> None:
    options = replace(NO_LIMITS, keep_parents=False)
    first = Step(1, (0,), (candidate(1, 500),))
    assert parents(options, first, Step(2, (1,), (candidate(2, None, 2, 1),))) == [1]


def test_a_parent_that_bears_nothing_new_twice_gives_its_place_away() -> None:
    options = replace(NO_LIMITS, beam=1)
    first = Step(1, (0,), (candidate(1, 500), candidate(2, 600)))
    barren = [Step(n, (1,), (candidate(n + 10, None, n, 1),)) for n in (2, 3)]
    assert parents(options, first, barren[0]) == [1]
    assert parents(options, first, *barren) == [2]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (replace(NO_LIMITS, max_steps=1), "all steps taken"),
        (replace(NO_LIMITS, patience=1), "no better kernel in 1 steps"),
        (replace(NO_LIMITS, target=0.1), "target ratio reached"),
    ],
)
def test_reasons_to_stop(options: Options, reason: str) -> None:
    step = Step(1, (0,), (candidate(1, None),))
    assert BeamSearch(options).decide(History(NAIVE, (step,))) == Stop(reason)
