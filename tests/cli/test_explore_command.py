"""`autocomp explore`, as a user meets it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from autocomp.targets.evaluation import Evaluation
from autocomp.targets.simulator.evaluate import SimulatorEvaluator

Command = Callable[..., Result]
SWEEP = ("explore", "tiny_gemm_edges", "--evaluations", 2, "--workers", 1, "--folder", "sizes", "--no-cache")


@pytest.fixture
def explore(autocomp: Command) -> Callable[..., dict[str, Any]]:
    def explored(*arguments: object) -> dict[str, Any]:
        result = autocomp(*SWEEP, *arguments, "--json")
        assert result.exit_code == 0, result.output
        document: dict[str, Any] = json.loads(result.stdout)
        return document

    return explored


def test_points_are_searched_weighed_and_continued(explore: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    first = explore("--sweep", "DIM=4,65", "--plot", "front.svg")
    four, refused = first["points"]
    assert four["total_cycles"] == four["cycles"]["tiny_gemm_edges"] > 0
    assert four["area"] > 0
    assert four["pareto"]
    assert (refused["reason"], refused["total_cycles"], refused["pareto"]) == ("DIM is 2 to 64", None, False)

    picture = ElementTree.parse(tmp_path / "front.svg").getroot()
    assert len(picture.findall(".//{http://www.w3.org/2000/svg}circle")) == 1
    assert "1 that cannot run left out" in (tmp_path / "front.svg").read_text()

    events = tmp_path / "sizes" / "DIM=4" / "tiny_gemm_edges" / "events.jsonl"
    log = events.read_bytes()
    again = explore("--sweep", "DIM=4,5")
    assert again["points"][0] == four
    assert again["points"][1]["area"] > four["area"]
    assert events.read_bytes() == log  # nothing was repeated


def test_each_objective_is_a_point_and_energy_is_weighed(autocomp: Command) -> None:
    Path("small.yaml").write_text("operation: gemm\naccelerator: rvv\ndtype: float32\ndims: {I: 4, J: 16, K: 4}\n")
    arguments = ("--sweep", "LMUL=8", "--objective", "cycles", "--objective", "energy", "--evaluations", 2)
    result = autocomp("explore", "small.yaml", *arguments, "--workers", 1, "--folder", "three", "--json")
    assert result.exit_code == 0, result.output
    points = json.loads(result.stdout)["points"]
    assert [point["objective"] for point in points] == ["cycles", "energy"]
    assert all(point["total_energy_nJ"] == point["energy_nJ"]["small"] > 0 for point in points)
    assert any(point["pareto"] for point in points)
    assert Path("three/LMUL=8,energy/small/config.json").exists()


def test_a_folder_of_another_exploration_is_refused(autocomp: Command) -> None:
    assert autocomp(*SWEEP, "--sweep", "DIM=4").exit_code == 0
    result = autocomp(*SWEEP, "--sweep", "DIM=4", "--seed", 1)
    assert result.exit_code == 7
    assert "holds a search with other options" in result.stderr


def test_an_interrupted_exploration_continues_to_the_same_result(
    autocomp: Command, explore: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate = SimulatorEvaluator.evaluate

    def interrupted(self: SimulatorEvaluator, kernel: str, *rest: Any) -> Evaluation:
        if self.accelerator.parameters["DIM"] == 8:
            raise KeyboardInterrupt
        return evaluate(self, kernel, *rest)

    whole = explore("--sweep", "DIM=4,8", "--folder", "whole")
    with monkeypatch.context() as patched:
        patched.setattr(SimulatorEvaluator, "evaluate", interrupted)
        result = autocomp(*SWEEP, "--sweep", "DIM=4,8", "--json")
    assert result.exit_code == 130
    assert "the same command continues in sizes" in result.stderr
    assert json.loads(result.stdout) == {"interrupted": True, "folder": "sizes", "exit_code": 130}
    done = Path("sizes/DIM=4/tiny_gemm_edges/events.jsonl").read_bytes()
    assert explore("--sweep", "DIM=4,8") == whole
    assert Path("sizes/DIM=4/tiny_gemm_edges/events.jsonl").read_bytes() == done


@pytest.mark.long
def test_a_point_begins_with_the_plans_of_the_nearest_one(explore: Callable[..., dict[str, Any]]) -> None:
    explore("--sweep", "DIM=4,8", "--evaluations", 3)
    config = json.loads(Path("sizes/DIM=8/tiny_gemm_edges/config.json").read_text())
    (precedent,) = config["precedents"]
    assert precedent["record"] == "DIM=4/tiny_gemm_edges"
    assert precedent["problem"] == "the same with DIM = 4"
    assert precedent["lineage"], "the point before found something"
    explore("--sweep", "DIM=4,8", "--evaluations", 1, "--reuse", 0, "--folder", "alone")
    assert json.loads(Path("alone/DIM=8/tiny_gemm_edges/config.json").read_text())["precedents"] == []


def test_other_agents_may_be_asked(autocomp: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = autocomp(*SWEEP, "--sweep", "DIM=4", "--planner", "openai:m")
    assert result.exit_code == 8
    assert "set OPENAI_API_KEY" in result.stderr
    assert not (tmp_path / "sizes").exists()
    assert autocomp(*SWEEP, "--sweep", "DIM=4", "--agent", "rules").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("tiny_gemm", "--sweep", "DMI=4"), 3, "did you mean 'DIM'?"),
        (("tiny_gemm", "--sweep", "DIM=4;8"), 2, "is not NAME=NUMBER,NUMBER"),
        (("tiny_gemm", "--sweep", "DIM=4,8", "--set", "DIM=4"), 2, "DIM is both set and swept"),
        (("tiny_gemm", "--sweep", "DIM=4", "--sweep", "DIM=8"), 2, "DIM is swept twice"),
        (("tiny_gemm", "tiny_gemm", "--sweep", "DIM=4"), 3, "workload tiny_gemm is given twice"),
        (("tiny_gemm", "gemm_512", "--sweep", "DIM=4"), 3, "are for different machines"),
    ],
)
def test_what_cannot_be_explored_is_refused_before_any_search(
    autocomp: Command, tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    result = autocomp("explore", *arguments)
    assert result.exit_code == code
    assert message in result.stderr
    assert not (tmp_path / "exploration").exists()
