"""Sweeps over machines: the grid of points, and which of them are on the Pareto front."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autocomp.search.explore import Point, grid, nearest_first, pareto_front

figures = st.integers(1, 12)
points_of_any_kind = st.lists(
    st.builds(
        lambda area, cycles, energy, reason: Point({"A": area}, area, {"w": cycles}, {"w": energy}, reason=reason),
        figures,
        figures,
        figures,
        st.sampled_from([None, None, "refused"]),
    ),
    max_size=12,
)


def better(a: Point, b: Point) -> bool:
    """True if a is at most as large and as slow as b, needs at most its energy, and differs."""
    first, second = figures_of(a), figures_of(b)
    return first != second and all(x <= y for x, y in zip(first, second, strict=True))


def figures_of(point: Point) -> tuple[float, float, float]:
    assert point.area is not None
    assert point.total is not None
    return point.area, point.total, point.total_energy or 0.0


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


def test_energy_counts_where_it_is_known_of_all_points() -> None:
    frugal, fast = Point({}, 5, {"w": 9}, {"w": 1.0}), Point({}, 5, {"w": 8}, {"w": 2.0})
    assert pareto_front([frugal, fast]) == (fast, frugal)
    assert pareto_front([frugal, Point({}, 5, {"w": 8})]) == (Point({}, 5, {"w": 8}),)


def test_the_nearest_point_is_the_one_of_the_smallest_ratios() -> None:
    points = [Point({"A": 2, "B": 8}), Point({"A": 4, "B": 2}), Point({"A": 4, "B": 16})]
    assert nearest_first(points, {"A": 4, "B": 8}) == [points[0], points[2], points[1]]


def test_a_point_that_cannot_run_has_no_total() -> None:
    assert Point({}, 5, {"first": 10}, reason="second: refused").total is None
