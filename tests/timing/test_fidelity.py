"""Replays a sample of the measured cases; `make fidelity` replays all of them."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest

from autocomp.errors import ConfigError
from autocomp.targets.simulator.fidelity import Case, by_group, measure, not_replayed, rank_correlation

from .machines import RTL

BOUNDS = {
    "a": 0.002,
    "b": 0.001,
    "c": 0.001,
    "d": 0.001,
    "e": 0.01,
    "f": 0.001,
    "g": 0.001,
    "h": 0.002,
    "i": 0.002,
    "k": 0.002,
    "t": 0.002,
}


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
    cases = [Case("x", "a", 100, 0, 110), Case("y", "a", 100, 0, 100), Case("z", "b", 100, 0, reason="has no loop")]
    first, second, total = by_group(cases)
    assert (first.group, first.count, first.worst) == ("a", 2, "x")
    assert first.mean == pytest.approx(0.05)
    assert (second.count, second.unsupported) == (0, 1)
    assert (total.group, total.count, total.unsupported) == ("all", 2, 1)


def test_a_folder_without_cases_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cycles\.csv"):
        list(measure(tmp_path, "gemmini"))


def folder_of(path: Path, rows: str, **traces: str) -> Path:
    """A folder of measured cases."""
    (path / "traces").mkdir()
    (path / "cycles.csv").write_text("case_id,group,description,command_count,mem_latency,cycles\n" + rows)
    for name, text in traces.items():
        (path / "traces" / f"{name}.txt.gz").write_bytes(gzip.compress(text.encode()))
    return path


def test_cases_that_cannot_be_replayed_are_counted_with_the_reason(tmp_path: Path) -> None:
    rows = "good,f,,1,40,5\nmissing,f,,1,40,5\nunknown,f,,1,40,5\nbroken,f,,1,40,5\n"
    folder = folder_of(tmp_path, rows, good="flush skip=0\n", unknown="dance steps=3\n", broken="flush skip=x\n")
    cases = list(measure(folder, "gemmini"))
    assert [case.predicted for case in cases] == [5, None, None, None]
    reasons = not_replayed(cases)
    assert reasons["its trace is missing"] == 1
    assert reasons["unknown commands: dance"] == 1
    assert sum(reasons.values()) == 3


@pytest.mark.parametrize("row", ["x,a,,1,40,many", "x,a,,1,,5", "x,a,,1,40,0"])
def test_a_row_without_numbers_is_an_error_that_names_it(tmp_path: Path, row: str) -> None:
    with pytest.raises(ConfigError, match=r"row 2: (cycles|mem_latency) is '.*'; expected a whole number"):
        list(measure(folder_of(tmp_path, row + "\n"), "gemmini"))


def test_the_rank_correlation_is_that_of_the_gemm_schedules() -> None:
    def schedules(*predicted: int) -> list[Case]:
        return [Case(str(i), "h", 10 * i + 10, 0, value) for i, value in enumerate(predicted)]

    assert rank_correlation(schedules(1, 2, 3, 4)) == pytest.approx(1.0)
    assert rank_correlation(schedules(4, 3, 2, 1)) == pytest.approx(-1.0)
    assert rank_correlation(schedules(1, 3, 2, 4)) == pytest.approx(0.8)
    assert rank_correlation([*schedules(1, 2), Case("x", "a", 1, 0, 9)]) == pytest.approx(1.0)
    assert rank_correlation(schedules(1)) is None
