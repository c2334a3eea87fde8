"""Copies of runs in experiment trackers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from autocomp.cli.entry import autocomp
from autocomp.report import RunView
from autocomp.report.runs import trackers
from autocomp.search import RunFolder


class Recorded:
    """A tracker that remembers what it is told."""

    def __init__(self, folder: Path, name: str, parameters: dict[str, Any], time: float) -> None:
        self.parameters, self.steps = parameters, []
        self.begun = time
        Recorded.last = self

    def metrics(self, values: dict[str, float], step: int, time: float) -> None:
        self.steps.append((step, time, values))

    def close(self, kernel: Path | None, time: float) -> str:
        self.kernel = kernel
        return "look here"


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("tracked") / "run"
    environment = {"AUTOCOMP_SCHEDULES": str(folder.parent / "schedules"), "AUTOCOMP_SHIPPED_SCHEDULES": "0"}
    options = ["--evaluations", "4", "--executor", "inline", "--no-cache", "--plain", "--run-dir", str(folder)]
    done = CliRunner(env=environment).invoke(autocomp, ["search", "tiny_gemm", *options])
    assert done.exit_code == 0, done.output
    return RunFolder.open(folder)


def test_a_tracker_gets_options_figures_after_each_evaluation_and_the_best_kernel(
    searched: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(trackers.TRACKERS, "mlflow", Recorded)
    assert trackers.track(searched, "mlflow", tmp_path / "out") == "look here"
    told, view = Recorded.last, RunView.of(searched.events)
    assert told.parameters["workload"] == "tiny_gemm"
    assert told.parameters["seed"] == "0"
    assert list(dict.fromkeys(step for step, _, _ in told.steps)) == list(range(1, view.evaluations + 1))
    assert told.steps[-1][2]["best_cycles"] == view.best
    assert told.kernel == searched.best_kernel
    times = [told.begun, *(time for _, time, _ in told.steps)]
    assert times == sorted(times)


def test_tensorboard_has_files_of_events(searched: RunFolder, tmp_path: Path) -> None:
    done = CliRunner().invoke(
        autocomp, ["runs", "track", str(searched.path), "--to", "tensorboard", "--dir", str(tmp_path)]
    )
    assert done.exit_code == 0, done.output
    assert f"tensorboard --logdir {tmp_path}" in done.output
    assert b"best_cycles" in next(tmp_path.glob("run/events.out.tfevents.*")).read_bytes()


def test_a_tracker_that_is_not_installed_is_named_with_its_extra(
    searched: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    command = ["runs", "track", str(searched.path), "--to", "wandb", "--dir", str(tmp_path)]
    done = CliRunner().invoke(autocomp, command)
    assert done.exit_code == 3
    assert "pip install 'autocomp[wandb]'" in done.output
