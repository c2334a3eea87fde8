"""Sweeps over machines: the grid of points, and which of them are on the Pareto front."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autocomp.search.explore import Point, grid, nearest_first, pareto_front

figures = st.integers(1, 12)
points_of_any_kind = st.lists(
    st.builds(
        lambda area, cycles, reason: Point({"A": area}, area, {"w": cycles}, reason=reason),
        figures,
        figures,
        st.sampled_from([None, None, "refused"]),
    ),
    max_size=12,
)


def better(a: Point, b: Point) -> bool:
    """Whether a is no larger and no slower than b, and not the same."""
    assert a.area is not None
    assert b.area is not None
    assert a.total is not None
    assert b.total is not None
    return a.area <= b.area and a.total <= b.total and (a.area, a.total) != (b.area, b.total)


def test_the_grid_has_all_combinations() -> None:
    assert grid({"A": (1, 2), "B": (3, 4)}) == ({"A": 1, "B": 3}, {"A": 1, "B": 4}, {"A": 2, "B": 3}, {"A": 2, "B": 4})


@given(points_of_any_kind)
def test_a_point_is_on_the_front_exactly_if_none_that_ran_is_better(points: list[Point]) -> None:
    ran = [point for point in points if point.reason is None]
    front = pareto_front(points)
    for point in ran:
        assert (point in front) == (not any(better(other, point) for other in ran))
    assert all(point.reason is None for point in front)
    assert [point.area for point in front] == sorted(point.area or 0 for point in front)


def test_the_nearest_point_is_the_one_of_the_smallest_ratios() -> None:
    points = [Point({"A": 2, "B": 8}), Point({"A": 4, "B": 2}), Point({"A": 4, "B": 16})]
    assert nearest_first(points, {"A": 4, "B": 8}) == [points[0], points[2], points[1]]


def test_a_point_that_cannot_run_has_no_total() -> None:
    assert Point({}, 5, {"first": 10}, reason="second: refused").total is None
