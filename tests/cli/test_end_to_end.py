"""The whole path, nothing replaced: description, simulator, rules agents, worker processes, kill and resume."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from autocomp.cli.entry import autocomp
from autocomp.report import RunView

WORKLOAD = """
operation: gemm
accelerator: tiny
dims: {I: 8, J: 8, K: 8}
"""
SEARCH = ("search", "small.yaml", "--beam", "2", "--plans", "2", "--steps", "2", "--seed", "1", "--json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    (folder / "small.yaml").write_text(WORKLOAD)
    return folder


def environment(folder: Path) -> dict[str, str]:
    return {"AUTOCOMP_SCHEDULES": str(folder / "store"), "AUTOCOMP_SHIPPED_SCHEDULES": "0"}


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "autocomp", *arguments],
        cwd=folder,
        env={**os.environ, **environment(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(folder: Path, *arguments: str) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = CliRunner(env=environment(folder)).invoke(autocomp, arguments)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def undisturbed(folder: Path) -> Any:
    return run(folder, *SEARCH, "--workers", "1", "--run-dir", "undisturbed")


def candidates(folder: Path, name: str) -> list[dict[str, Any]]:
    view = RunView.of(folder / name / "events.jsonl")
    return [{key: value for key, value in c.items() if key != "t"} for _, c in sorted(view.candidates.items())]


def test_the_kernel_found_is_correct_and_as_fast_as_said(folder: Path, undisturbed: Any) -> None:
    assert undisturbed["best_cycles"] <= undisturbed["naive_cycles"]
    document = run(folder, "run", undisturbed["kernel"], "--workload", "small.yaml", "--json")
    assert document["correct"]
    assert document["cycles"] == undisturbed["best_cycles"]
    assert document.keys() >= {"stages", "bound_cycles", "utilisation", "instructions", "seconds"}


def test_killed_and_resumed_it_is_the_same_run_with_another_number_of_workers(folder: Path, undisturbed: Any) -> None:
    process = start(folder, *SEARCH, "--workers", "2", "--run-dir", "killed")
    assert process.stderr is not None
    while " cycles " not in process.stderr.readline():
        assert process.poll() is None
    process.kill()
    process.communicate()
    resumed = run(folder, "resume", "killed", "--workers", "2", "--json")
    varying = ("seconds", "kernel", "run", "cached")
    assert {k: v for k, v in resumed.items() if k not in varying} == {
        k: v for k, v in undisturbed.items() if k not in varying
    }
    assert candidates(folder, "killed") == candidates(folder, "undisturbed")


@pytest.mark.parametrize(
    ("text", "code", "stage"),
    [
        ("void solution(int8_t A[8][8], int8_t B[8][8], int8_t C[8][8]) { nonsense(); }", 5, "check"),
        ("void solution(int8_t A[8][8], int8_t B[8][8], int8_t C[8][8]) { fence(); }", 6, "smoke"),
    ],
)
def test_run_says_which_stage_failed_and_exits_with_its_code(folder: Path, text: str, code: int, stage: str) -> None:
    (folder / "wrong.c").write_text(text)
    files = [str(folder / "wrong.c"), "--workload", str(folder / "small.yaml")]
    done = CliRunner().invoke(autocomp, ["run", *files, "--json"])
    assert done.exit_code == code
    document = json.loads(done.stdout)
    (failed,) = (s for s in document["stages"] if s["status"] == "failed")
    assert (document["correct"], failed["stage"]) == (False, stage)
    assert failed["message"]


def test_a_shipped_workload_is_found_from_any_directory(folder: Path) -> None:
    result = run(folder, "search", "tiny_gemm_edges.yaml", "--steps", "0", "--reuse", "0", "--workers", "1", "--json")
    assert result["best_cycles"] == result["naive_cycles"]
    assert result["schedule"] is None
