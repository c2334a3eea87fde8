"""Tables of results in the pages are consistent, and `make check-long` repeats what needs no search."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from autocomp import load_target, load_workload

ROOT = Path(__file__).resolve().parents[2]
RESULTS = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)` \| (.*) \|$", re.MULTILINE)
Cells = list[str]


def rows(page: str, columns: int) -> list[tuple[str, Cells]]:
    """The rows of a page's tables with this number of cells after the workload's name."""
    cells = [(name, [cell.strip() for cell in rest.split("|")]) for name, rest in ROW.findall(page)]
    return [(name, row) for name, row in cells if len(row) == columns]


def number(cell: str) -> float:
    return float(cell.replace(",", "").rstrip("%"))


TABLE = rows(RESULTS, 11)
NAMES = [name for name, _ in TABLE]


@pytest.mark.parametrize(("name", "cells"), TABLE, ids=NAMES)
def test_a_row_of_the_results_has_the_ratios_of_its_cycles(name: str, cells: Cells) -> None:
    bound, naive, loops, measured_loops, found, measured, _error, share, against, *_ = cells
    assert number(bound) <= number(found) < number(naive)
    ours, theirs = (found, loops) if measured == "–" else (measured, measured_loops)
    assert share == f"{number(bound) / number(ours):.1%}"
    assert (theirs == against == "–") or against == f"{number(theirs) / number(ours):.3f}"


def test_the_rows_of_the_readme_are_rows_of_the_results() -> None:
    results = {name: (cells[1], cells[2], cells[4], cells[7], cells[9]) for name, cells in TABLE}
    shown = rows(README, 5)
    assert shown
    assert all(tuple(cells) == results[name] for name, cells in shown)


@pytest.mark.long
@pytest.mark.parametrize(("name", "cells"), TABLE, ids=NAMES)
def test_a_row_of_the_results_has_the_bound_of_its_workload(name: str, cells: Cells) -> None:
    workload = load_workload(name)
    assert number(cells[0]) == load_target(workload).bound(workload).value


@pytest.mark.long
def test_the_table_of_the_published_model_has_the_cycles_that_its_command_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its own dependencies are not installed, so that it cannot be imported.
    if importlib.util.find_spec("rapidocr_onnxruntime") is None:
        pytest.skip("make check-long installs the model")
    from benchmarks import published_model

    monkeypatch.setattr(sys, "argv", ["published_model"])
    published_model.main()
    printed = re.findall(r"^\|.*\| ([\d,]+) \| (.*) \|$", capsys.readouterr().out, re.MULTILINE)
    page = (ROOT / "docs" / "how-to" / "whole-models.md").read_text(encoding="utf-8")
    assert len(printed) == 2
    assert all(f"| {cycles} | {results} |" in page for cycles, results in printed)


@pytest.mark.long
def test_the_tables_of_machines_have_the_figures_that_need_no_search(capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks import machines, published_energy

    machines.main(["--by-hand"])
    published_energy.main()
    printed = [[cell.strip() for cell in line.split("│")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    page = (ROOT / "docs" / "explanation" / "machines.md").read_text(encoding="utf-8")
    shown = {tuple(re.split(r" *\| *", line.strip("| "))) for line in page.replace("`", "").splitlines()}
    rows = [tuple(cell.replace("%", " %") for cell in cells) for cells in printed if cells]
    assert rows
    assert [row for row in rows if not any(row == other[: len(row)] for other in shown)] == []
