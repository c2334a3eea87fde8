"""Searching for a model's kernels under one budget: the order, the shares, and the end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autocomp.models import Forecast, Operation, Prediction
from autocomp.models.search import Found, improve


def prediction(size: int, count: int, best: int, bound: int = 100) -> Prediction:
    return Prediction(Operation("gemm", (("I", size),), ()), count, best, best, bound, "naive")


LARGE, MIDDLE, SMALL = prediction(1, 10, 1100), prediction(2, 10, 300), prediction(3, 1, 110)


def test_the_operation_with_most_to_gain_comes_first_and_gets_its_share() -> None:
    asked: list[tuple[int, int]] = []

    def search(chosen: Prediction, evaluations: int) -> Found:
        asked.append((chosen.operation.dims[0][1], evaluations))
        return Found(chosen.bound, "found.yaml", evaluations // 2)

    done = improve(Forecast((SMALL, MIDDLE, LARGE), host=0), 60, 0.01, search)
    assert asked == [(1, 50), (2, 35)]  # 10,000 of 12,000 cycles to gain; then all of what is left
    assert done.reason == "the rest cannot matter"
    assert done.evaluations == 25 + 17
    assert (done.before.after, done.after.after) == (14110, 2110)


def test_a_search_gets_enough_to_find_something_as_long_as_there_is_so_much() -> None:
    asked: list[int] = []

    def search(chosen: Prediction, evaluations: int) -> Found:
        asked.append(evaluations)
        return Found(chosen.best, "naive", evaluations)

    equal = tuple(prediction(n, 1, 1000) for n in range(5))
    done = improve(Forecast(equal, host=0), 20, 0.01, search)
    assert asked == [6, 6, 6, 2]
    assert done.reason == "the evaluations are used up"


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(100, 5000)), min_size=1, max_size=6),
    st.integers(1, 50),
    st.floats(0, 0.5),
)
def test_no_more_is_spent_than_given_and_nothing_gets_slower(
    sizes: list[tuple[int, int]], budget: int, negligible: float
) -> None:
    searched: list[Operation] = []

    def search(chosen: Prediction, evaluations: int) -> Found:
        searched.append(chosen.operation)
        return Found(chosen.best + (50 if len(searched) % 2 else -1), "s", evaluations)

    costs = Forecast(tuple(prediction(n, count, best) for n, (count, best) in enumerate(sizes)), host=10)
    done = improve(costs, budget, negligible, search)
    assert done.evaluations <= budget
    assert len(set(searched)) == len(searched)
    assert done.after.after <= done.before.after
    assert done.after.before == done.before.before
