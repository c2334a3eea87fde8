"""The better one of two measurements, the difference, and whether it is more than noise."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from autocomp.targets.evaluation import Bound, Evaluation, Measurement, Objective, StageVerdict

CYCLES = Objective("cycles")
THROUGHPUT = Objective("GB/s", "higher")
values = st.floats(min_value=1e-3, max_value=1e9)


def test_fewer_cycles_are_better_and_more_throughput_is() -> None:
    assert CYCLES.better(Measurement(99), Measurement(100))
    assert not CYCLES.better(Measurement(100), Measurement(100))
    assert THROUGHPUT.better(Measurement(101.0), Measurement(100.0))


def test_a_difference_within_the_noise_of_both_is_no_improvement() -> None:
    assert not CYCLES.better(Measurement(96, spread=3), Measurement(100, spread=4))
    assert CYCLES.better(Measurement(94, spread=3), Measurement(100, spread=4))


@pytest.mark.parametrize(("objective", "best"), [(CYCLES, 1), (THROUGHPUT, 3)])
def test_the_best_value_ranks_first(objective: Objective, best: int) -> None:
    assert min([2, 3, 1], key=objective.rank) == best


@given(values, values)
def test_a_gain_above_one_is_an_improvement(before: float, after: float) -> None:
    assume(before != after)
    for objective in (CYCLES, THROUGHPUT):
        improved = objective.better(Measurement(after), Measurement(before))
        assert (objective.gain(before, after) > 1) == improved or objective.gain(before, after) == 1


@given(values)
def test_the_bound_itself_is_reached_in_full(value: float) -> None:
    assert CYCLES.ratio(value, value) == THROUGHPUT.ratio(value, value) == 1.0


def test_an_evaluation_reaches_a_share_of_its_bound() -> None:
    passed = (StageVerdict("smoke", "passed"),)
    measured = Evaluation(passed, CYCLES, Measurement(200), Bound(150))
    assert measured.ratio == 0.75
    assert Evaluation(passed, THROUGHPUT, Measurement(150.0), Bound(200.0)).ratio == 0.75
    assert Evaluation(passed, CYCLES, None, Bound(150)).ratio is None
    assert Evaluation(passed, CYCLES, Measurement(200)).ratio is None
