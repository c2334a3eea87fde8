"""The scores of predictions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocomp.report import RunView
from autocomp.report.runs.predictions import Prediction, calibrations, predictions, rank_correlation

VALUES = st.lists(st.integers(1, 50), min_size=3, max_size=12)


def candidate(parent: int | None, value: int | None, gain: list[float] | None = None) -> dict[str, object]:
    plan = {"author": "m", **({"gain": gain} if gain else {})} if parent is not None else None
    return {"parent": parent, "value": value, "plan": plan}


def test_only_kernels_that_run_and_plans_that_predict_are_scored() -> None:
    events = {
        0: candidate(None, 1000),
        1: candidate(0, 500, [1.5, 3]),
        2: candidate(1, 400, [2, 3]),
        3: candidate(1, None, [2, 3]),
        4: candidate(0, 900),
    }
    found = predictions(RunView(events))
    assert [(p.actual, p.inside) for p in found] == [(2.0, True), (1.25, False)]
    (calibration,) = calibrations(found)
    assert (calibration.predictions, calibration.inside, calibration.correlation) == (2, 0.5, None)


def test_authors_are_scored_apart() -> None:
    found = [Prediction("b", 1, 2, 1.5), Prediction("a", 1, 2, 3.0)]
    assert [(c.author, c.inside) for c in calibrations(found)] == [("a", 0.0), ("b", 1.0)]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ([1, 2, 3], [10, 20, 90], 1.0),
        ([1, 2, 3], [3, 2, 1], -1.0),
        ([1, 1, 1], [1, 2, 3], None),
        ([1, 2], [1, 2], None),
    ],
)
def test_rank_correlation(left: list[float], right: list[float], expected: float | None) -> None:
    assert rank_correlation(left, right) == expected


@given(VALUES, st.data())
def test_correlation_knows_only_the_order(left: list[int], data: st.DataObject) -> None:
    right = data.draw(st.lists(st.integers(1, 50), min_size=len(left), max_size=len(left)))
    found = rank_correlation(left, right)
    assert found == rank_correlation(left, [value**3 for value in right])
    assert found is None or -1.0 - 1e-9 <= found <= 1.0 + 1e-9
