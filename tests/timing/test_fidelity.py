"""Replays a sample of the measured cases; `make fidelity` replays all of them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from autocomp.errors import ConfigError
from autocomp.fidelity import Case, by_group, measure

from .machines import RTL

BOUNDS = {"a": 0.002, "b": 0.001, "c": 0.001, "d": 0.001, "e": 0.01, "f": 0.001, "g": 0.001, "h": 0.002, "k": 0.002}


def sample(group: str) -> list[str]:
    with (RTL / "cycles.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["group"] == group and int(row["command_count"]) < 1700]
    return [row["case_id"] for row in rows[:: max(1, len(rows) // 8)]]


@pytest.mark.parametrize("group", BOUNDS)
def test_the_mean_error_of_a_group_stays_small(group: str) -> None:
    cases = [case for case in measure(RTL, "gemmini", sample(group)) if case.predicted is not None]
    assert cases
    [result, _] = by_group(cases)
    assert result.mean <= BOUNDS[group], result


@pytest.mark.long
def test_all_measured_cases_stay_within_their_bounds() -> None:
    for result in by_group(list(measure(RTL, "gemmini"))):
        if result.group in BOUNDS:
            assert result.mean <= BOUNDS[result.group], result


def test_errors_are_stated_by_group_and_over_all() -> None:
    cases = [Case("x", "a", 100, 110), Case("y", "a", 100, 100), Case("z", "b", 100, None, "has no loop")]
    first, second, total = by_group(cases)
    assert (first.group, first.count, first.worst) == ("a", 2, "x")
    assert first.mean == pytest.approx(0.05)
    assert (second.count, second.unsupported) == (0, 1)
    assert (total.group, total.count, total.unsupported) == ("all", 2, 1)


def test_a_folder_without_cases_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cycles\.csv"):
        list(measure(tmp_path, "gemmini"))
