"""Every command as its reader sees it at 80, 120 and 200 columns: golden files of what they print into a pipe."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from autocomp.data import data_dir

Command = Callable[..., Result]
Golden = Callable[..., None]
WIDTHS = (80, 120, 200)
WORKLOAD = "operation: gemm\naccelerator: tiny\ndims: {I: 8, J: 4, K: 8}\n"
SHIPPED = {"isa": ("tiny.isa",), "workloads": ("tiny_gemm.yaml", "gemm_100x70x30.yaml")}
SEARCHED = {
    "search": "search small.yaml --workers 1 --steps 3 --run-dir again",
    "runs_list": "runs list --dir .",
    "runs_show": "runs show run",
    "runs_compare": "runs compare run run",
    "schedules_list": "schedules list",
    "schedules_verify": "schedules verify",
    "report": "report run --timelines 0",
    "resume": "resume run",
}
SIMULATED = {
    "run": "run slow.c --workload small.yaml --judge-seed 1",
    "run_wrong": "run wrong.c --workload small.yaml --judge-seed 1",
    "profile": "profile slow.c --workload small.yaml",
    "compare": "compare slow.c wrong.c --workload small.yaml",
    "explore": "explore small.yaml --sweep DIM=2,4 --evaluations 1 --workers 1",
    "export": "export slow.c --workload small.yaml",
    "model": "model layer.mlir --accelerator tiny",
    "simulate": "simulate moves.txt",
    "fidelity": "fidelity measured",
    "defaults": "defaults",
    "rtl_list": "rtl list",
    "prompt_help": "prompt --help",
    "target_help": "target --help",
    "mcp_help": "mcp --help",
    "workloads": "workloads",
    "menu_list": "menu list",
    "menu_show": "menu show short.yaml",
    "isa_list": "isa list",
    "isa_check": "isa check tiny",
    "isa_explain": "isa check tiny --explain",
    "help": "--help",
    "schedules_help": "schedules --help",
    "menu_help": "menu --help",
}
MENU = """
options:
  - id: tile
    title: Tile loops so that a block fits in local memory
    transformation: tile
    applies: {causes: [Bus, MemoryLatency, QueueFull]}
    guidance: Cut loops into an outer loop over blocks and inner loops inside a block.
  - id: think
    title: Think about the order in which results are needed, and compute those first that others wait for
    guidance: Look at the profile.
"""
LAYER = """module @layer {
  func.func public @main(%a: tensor<8x8xi8>, %b: tensor<8x4xi8>) -> (tensor<8x4xi32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x8xi8>, tensor<8x4xi8>) -> tensor<8x4xi32>
  return %0 : tensor<8x4xi32>
  }
}
"""
MOVES = (
    "load_tile src=0x1000 dst=tile:0 stride=16 cols=4 rows=4\nload_tile src=0x1004 dst=tile:4 stride=16 cols=4 rows=4\n"
)
CYCLES = "case_id,group,description,command_count,mem_latency,cycles\nmoves,a,two moves,2,40,60\n"
VARYING = (
    (re.compile(r"report.html \(\d+ KiB\)"), "report.html (100 KiB)"),
    (re.compile(r"\d+\.\d s\b"), "0.1 s"),
    (re.compile(r"evaluated in \d+\.\d\d s"), "evaluated in 0.10 s"),
)
SLOW = """void solution(int8_t A[8][8], int8_t B[8][4], int8_t C[8][4]) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 4;
    const uint32_t c_tile = 0;
    for (int i = 0; i < 8; i += 4) {
        for (int j = 0; j < 4; j += 4) {
            for (int k = 0; k < 8; k += 4) {
                load_tile(&A[i][k], a_tile, 8, 4, 4);
                load_tile(&B[k][j], b_tile, 4, 4, 4);
                load_signal(LOADED);
                compute_wait(LOADED);
                contract(a_tile, b_tile, c_tile, 4, 4, 4, k == 0 ? 0 : 1, false, false);
                compute_signal(USED);
                load_wait(USED);
            }
            compute_signal(SUMMED);
            store_wait(SUMMED);
            store_tile(&C[i][j], c_tile, 4, 4, 4, 1.0f, false);
            store_signal(STORED);
            compute_wait(STORED);
        }
    }
    fence();
}
"""
FAST = SLOW.replace("                load_wait(USED);\n", "")  # one wait less, and no longer right


@pytest.fixture
def files(autocomp: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a workload, kernels and a menu; by name, commands find a few of the shipped files only."""
    Path("small.yaml").write_text(WORKLOAD)
    Path("slow.c").write_text(SLOW)
    Path("wrong.c").write_text(FAST)
    Path("layer.mlir").write_text(LAYER)
    Path("moves.txt").write_text(MOVES)
    (tmp_path / "measured" / "traces").mkdir(parents=True)
    Path("measured/cycles.csv").write_text(CYCLES)
    Path("measured/traces/moves.txt.gz").write_bytes(gzip.compress(MOVES.encode()))
    (tmp_path / "menus").mkdir()
    for menu in ("short.yaml", "menus/short.yaml"):
        Path(menu).write_text(MENU)
    for kind, names in SHIPPED.items():
        (tmp_path / kind).mkdir()
        for name in names:
            shutil.copy(data_dir(kind) / name, tmp_path / kind / name)
    listed = "autocomp.cli.listing.search_path"
    monkeypatch.setattr(listed, lambda kind, paths: [Path(kind)])


@pytest.fixture
def run(autocomp: Command, files: None, toy: None) -> None:
    """A finished run of the toy problem, a quarter of a second an event."""
    assert autocomp("search", "small.yaml", "--run-dir", "run", "--workers", 1, "--steps", 3).exit_code == 0
    log = Path("run/events.jsonl")
    events = [json.loads(line) for line in log.read_text().splitlines()]
    log.write_text("".join(json.dumps({**e, "t": 0.25 * number}) + "\n" for number, e in enumerate(events)))


def captured(autocomp: Command, command: str, width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    shutil.rmtree("again", ignore_errors=True)
    result = autocomp(*command.split())
    text = result.stdout + "".join(f"stderr: {line}\n" for line in result.stderr.splitlines())
    text = text.replace(str(Path.cwd()), "/folder")
    for pattern, fixed in VARYING:
        text = pattern.sub(fixed, text)
    return f"$ autocomp {command}\n{text}exit code {result.exit_code}\n"


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", SIMULATED)
def test_what_a_command_prints(autocomp: Command, name: str, golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    for width in WIDTHS:
        golden(captured(autocomp, SIMULATED[name], width, monkeypatch), f"{name}-{width}.txt")


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("name", SEARCHED)
def test_what_is_printed_of_a_search(
    autocomp: Command, name: str, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in WIDTHS:
        golden(captured(autocomp, SEARCHED[name], width, monkeypatch), f"{name}-{width}.txt")


def test_no_capture_has_box_drawing_and_only_paths_pass_its_width() -> None:
    for file in sorted((Path(__file__).parent / "golden").glob("*-*.txt")):
        width = int(file.stem.rpartition("-")[2])
        for line in file.read_text().splitlines()[1:]:
            assert not set(line) & set("┃│━─┏└"), file
            assert len(line.removeprefix("stderr: ")) <= width or " " not in line[width:].strip(), f"{file}: {line}"
