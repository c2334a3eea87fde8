"""The commands that list, show and check."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from autocomp.data import data_dir
from autocomp.errors import NotApplicable
from autocomp.targets.simulator import schedulable

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


TRACE = """
# two tiles in
load_tile src=0x1000 dst=tile:0 stride=16 cols=4 rows=4
load_tile src=0x1004 dst=tile:4 stride=16 cols=4 rows=4
"""


def test_a_trace_is_timed_on_the_accelerator_that_has_its_commands(autocomp: Command) -> None:
    Path("moves.txt").write_text(TRACE)
    document = json.loads(autocomp("simulate", "moves.txt", "--json").stdout)
    assert (document["accelerator"], document["commands"]) == ("tiny", 2)
    assert document["cycles"] > 0
    assert "2 commands on tiny" in autocomp("simulate", "moves.txt").stdout


def test_the_error_of_the_timing_is_stated_by_group(autocomp: Command) -> None:
    Path("moves.txt").write_text(TRACE)
    options = ("--accelerator", "tiny", "--set", "MEM_LATENCY=40", "--json")
    cycles = json.loads(autocomp("simulate", "moves.txt", *options).stdout)["segment_cycles"][-1]
    Path("measured/traces").mkdir(parents=True)
    Path("measured/traces/moves.txt.gz").write_bytes(gzip.compress(TRACE.encode()))
    heading = "case_id,group,description,command_count,mem_latency,cycles"
    Path("measured/cycles.csv").write_text(f"{heading}\nmoves,a,two moves,2,40,{cycles * 2}\n")
    document = json.loads(autocomp("fidelity", "measured", "--json").stdout)
    assert document["groups"][0]["mean"] == 0.5
    assert "50.00 %" in autocomp("fidelity", "measured").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["simulate", "nowhere.txt"], 3, "cannot read the trace nowhere.txt"),
        (["simulate", "odd.txt"], 3, "no accelerator has all commands of odd.txt"),
        (["fidelity", "."], 3, "has no traces"),
    ],
)
def test_what_cannot_be_timed_is_named(autocomp: Command, arguments: list[str], code: int, message: str) -> None:
    Path("odd.txt").write_text("frobnicate x=1\n")
    result = autocomp(*arguments)
    assert (result.exit_code, message in result.stderr) == (code, True), result.output


@pytest.mark.parametrize(
    "machine",
    [
        pytest.param(name, marks=[pytest.mark.long] if name == "gemmini" else [])  # of several configurations
        for name in sorted(file.stem for file in data_dir("isa").glob("*.isa"))
    ],
)
def test_every_machine_that_ships_passes_its_check_in_all_configurations(autocomp: Command, machine: str) -> None:
    result = autocomp("isa", "check", machine)
    assert result.exit_code == 0, result.stderr


def test_accelerators_are_shown_and_checked(autocomp: Command) -> None:
    assert json.loads(autocomp("isa", "check", "tiny", "--json").stdout)["ok"]
    shown = json.loads(autocomp("isa", "show", "tiny", "--set", "DIM=8", "--json").stdout)
    assert shown["parameters"]["DIM"] == 8
    assert "load_tile" in shown["instructions"]
    assert autocomp("isa", "show", "tiny", "--markdown").stdout.startswith("# tiny")


def test_all_mistakes_of_a_description_have_places_in_json(autocomp: Command) -> None:
    Path("bad.isa").write_text(
        "accelerator bad {\n  const A = B;\n  memory dram { kind: dram; }\n  unit u { queue: C; }\n}\n"
    )
    result = autocomp("isa", "check", "bad.isa", "--json")
    assert result.exit_code == 4
    errors = json.loads(result.stdout)["errors"]
    assert [(error["line"], error["column"]) for error in errors] == [(2, 13)]
    assert errors[0]["message"] == "no constant, operand or variable named 'B'"


def test_a_check_explains_roles_tiles_and_the_peak(autocomp: Command) -> None:
    document = json.loads(autocomp("isa", "check", "tiny", "--explain", "--json").stdout)
    assert document["warnings"] == []
    explanation = document["explanation"]
    assert (explanation["peak"], explanation["missing"], explanation["unschedulable"]) == (16, [], {})
    assert [c["tile"] for c in explanation["contractions"]] == [[4, 4, 4]]
    load = next(form for form in explanation["forms"] if form["name"] == "load_tile")
    assert {"name": "rows", "role": "rows"} in load["operands"]
    assert "4 x 4 x 4" in autocomp("isa", "check", "tiny", "--explain", "--plain").stdout


def test_a_check_explains_why_nothing_is_scheduled(autocomp: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*given: object) -> None:
        raise NotApplicable("rows lie apart")

    monkeypatch.setattr(schedulable, "raised_of", refused)
    said = autocomp("isa", "check", "tiny", "--explain", "--plain")
    for kind in ("matrix multiplication", "convolution"):
        assert f"no schedule: of a small {kind}, rows lie apart" in said.stdout + said.stderr


def test_a_check_compiles_the_idioms(autocomp: Command) -> None:
    text = (data_dir("isa") / "tiny.isa").read_text().replace("load_signal(LOADED);\n    compute_wait", "compute_wait")
    Path("small.isa").write_text(text.replace("contract($a_tile", "contrast($a_tile"))
    result = autocomp("isa", "check", "small.isa")
    assert result.exit_code == 4
    assert "the idioms make no kernel for a GEMM" in result.stderr
    assert "contract" in result.stderr
