"""The commands that list, show and check."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from autocomp.data import data_dir

Command = Callable[..., Result]


def test_version_is_the_packages(autocomp: Command) -> None:
    from importlib import metadata

    assert metadata.version("autocomp") in autocomp("--version").stdout


def test_python_dash_m_works_from_any_directory(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "autocomp", "workloads", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert {"gemm", "gemm_512"} <= {entry["name"] for entry in json.loads(done.stdout)}


def test_workloads_of_the_working_directory_come_first(autocomp: Command) -> None:
    Path("workloads").mkdir()
    text = (data_dir("workloads") / "gemm.yaml").read_text().replace("512", "64")
    Path("workloads/gemm.yaml").write_text(text)
    Path("workloads/broken.yaml").write_text("operation: nonsense")
    result = autocomp("workloads", "--json")
    (gemm,) = (entry for entry in json.loads(result.stdout) if entry["name"] == "gemm")
    assert gemm["dims"] == {"I": 64, "J": 64, "K": 64}
    assert "left out workloads/broken.yaml" in result.stderr.replace(str(Path.cwd()) + "/", "")


def test_a_file_called_like_a_menu_is_not_taken_for_one(autocomp: Command, toy: None) -> None:
    shutil.copy(data_dir("workloads") / "gemm.yaml", "gemm.yaml")
    assert autocomp("search", "gemm.yaml", "--workers", 1, "--steps", 0).exit_code == 0


def test_menus_are_listed_and_shown(autocomp: Command) -> None:
    names = {entry["name"] for entry in json.loads(autocomp("menu", "list", "--json").stdout)}
    assert {"general", "gemm"} <= names
    shown = json.loads(autocomp("menu", "show", "general", "--json").stdout)
    assert "tile" in {option["id"] for option in shown["options"]}
    assert "Unroll a loop" in autocomp("menu", "show", "general").stdout


@pytest.mark.parametrize("arguments", [["workloads"], ["menu", "list"], ["schedules", "list"]])
def test_pipes_get_no_escape_codes(autocomp: Command, arguments: list[str]) -> None:
    assert "\x1b" not in autocomp(*arguments).stdout
