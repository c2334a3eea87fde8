"""A run resumes from its own folder, whatever became of the files it was started from."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from autocomp import workload
from autocomp.agents.config import Agents
from autocomp.errors import ConfigError, RunFolderError
from autocomp.search import Options, RunFolder
from autocomp.search.log.folder import new_run_path
from autocomp.search.log.snapshot import Request, create, restore, version_changes
from autocomp.targets import menu_file
from autocomp.targets.registry import load_target

NOW = datetime(2026, 1, 1)
CUSTOM = """
operation: custom
accelerator: mini
tensors:
  - {name: A, dtype: int8, shape: [4], role: input}
  - {name: C, dtype: int8, shape: [4], role: output}
reference: reference.py:compute
kernel: start.c
"""
MACHINE = """
accelerator mini {
  doc "A machine that waits.";
  param DIM = 4;
  memory dram { kind: dram; bus: 16; latency: 10; }
  unit load { queue: 2; }
  instruction wait(cycles: int 0..10) on load {
    doc "Wait.";
  }
}
"""


def request(folder: Path, overrides: dict[str, int | float] | None = None) -> Request:
    (folder / "mini.isa").write_text(MACHINE)
    (folder / "w.yaml").write_text(CUSTOM)
    (folder / "reference.py").write_text("def compute(A):\n    return A\n")
    (folder / "start.c").write_text("void solution(int8_t A[4], int8_t C[4]) {\n}\n")
    loaded = workload.load(str(folder / "w.yaml"), overrides=overrides)
    machine = load_target(loaded.target, loaded.overrides, (folder,))
    return Request(loaded, machine, menu_file.load(["general"]), Agents(), Options(seed=7, beam=2, seconds=9.5))


@pytest.mark.parametrize("overrides", [None, {"DIM": 8}])
def test_a_request_survives_its_folder(tmp_path: Path, overrides: dict[str, int | float] | None) -> None:
    asked = request(tmp_path, overrides)
    create(tmp_path / "run", asked, NOW)
    assert restore(RunFolder.open(tmp_path / "run")) == asked


def test_edits_to_the_users_files_do_not_matter(tmp_path: Path) -> None:
    asked = request(tmp_path)
    create(tmp_path / "run", asked, NOW)
    for file in ("w.yaml", "start.c", "mini.isa"):
        (tmp_path / file).unlink()
    (tmp_path / "reference.py").write_text("def compute(A):\n    return -A\n")
    restored = restore(RunFolder.open(tmp_path / "run")).workload
    assert restored.starting_kernel == asked.workload.starting_kernel
    file, function = str(restored.reference_source).rsplit(":", 1)
    assert (Path(file).read_text(), function) == ("def compute(A):\n    return A\n", "compute")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.pop("menu"), "menu"),
        (lambda s: s["target"].update(digest="0"), "another digest"),
        (lambda s: s["target"]["machine"].update(source="accelerator x {"), "cannot be restored"),
        (lambda s: s["options"].update(beem=3), "beem: unknown key; did you mean 'beam'"),
        (lambda s: s.update(format=99), "format 99"),
    ],
)
def test_a_damaged_snapshot_is_an_error_that_names_the_place(tmp_path: Path, change, message: str) -> None:  # type: ignore[no-untyped-def]
    folder = create(tmp_path / "run", request(tmp_path), NOW)
    snapshot = json.loads((folder.path / "config.json").read_text())
    change(snapshot)
    (folder.path / "config.json").write_text(json.dumps(snapshot))
    with pytest.raises(RunFolderError, match=message):
        restore(folder)


def test_an_unknown_option_names_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match="beam"):
        Options.model_validate({"beem": 1})


def test_changed_versions_are_told(tmp_path: Path) -> None:
    snapshot = create(tmp_path / "run", request(tmp_path), NOW).snapshot()
    assert version_changes(snapshot) == []
    snapshot["versions"]["numpy"] = "1.0"
    (change,) = version_changes(snapshot)
    assert change.startswith("numpy 1.0 -> ")


def test_searches_that_begin_in_the_same_second_have_folders_of_their_own(tmp_path: Path) -> None:
    now = datetime(2026, 1, 31, 12, 0, 0)
    paths = [new_run_path(tmp_path / "runs", "gemm", now) for _ in range(3)]
    assert [path.name for path in paths] == [f"20260131-120000-gemm{end}" for end in ("", "-2", "-3")]
    for path in paths:
        RunFolder.create(path, {})
