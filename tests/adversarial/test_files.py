"""Hostile files do no harm: each is refused with its reason, or shown for what it is. files/cases.yaml lists them."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from autocomp import workload as workloads
from autocomp.agents.config import Agents
from autocomp.cli.entry import autocomp
from autocomp.search import Options
from autocomp.search.log.snapshot import Request, create
from autocomp.search.session import Means, run_session
from autocomp.targets import menu_file
from autocomp.targets.registry import load_target

from .hostile import MAKERS, VICTIM, Honest

FILES = Path(__file__).parent / "files"
CASES: list[dict[str, Any]] = yaml.safe_load((FILES / "cases.yaml").read_text())
PRECIOUS = "precious\n"
PRODUCT = "operation: gemm\naccelerator: tiny\ndims: {I: 8, J: 8, K: 8}\nscale: 0.0625\n"
SECRET = "a-secret-of-mine-0123456789"


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Honest:
    """A finished run of the rules agent on a small operation."""
    path = tmp_path_factory.mktemp("honest") / "run"
    loaded = workloads.parse(PRODUCT, Path("product.yaml"))
    target = load_target(loaded.target, loaded.overrides)
    request = Request(loaded, target, menu_file.load(["gemm"]), Agents(), Options(evaluations=3, max_steps=2))
    run_session(request, create(path, request, datetime(2026, 1, 1)), Means(executor="inline", cache=False))
    return Honest(path)


def name_of(case: dict[str, Any]) -> str:
    return f"{case.get('file') or case['made by']}-{case['command'].split()[0]}"


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_hostile_file_does_no_harm(
    case: dict[str, Any], honest: Honest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "work"
    shutil.copytree(FILES, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MY_SECRET", SECRET)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    for victim in (folder / VICTIM, tmp_path / VICTIM):
        victim.write_text(PRECIOUS)
    for key in ("made by", "made by too"):
        if key in case:
            MAKERS[case[key]](folder, honest)
    before = sorted(str(path) for path in folder.rglob("*"))
    done = CliRunner().invoke(autocomp, case["command"].split())
    assert done.exit_code == case["exit"], done.output
    assert case["says"] in done.output
    assert not set(done.output) & set("\x1b\x07\u202e")
    assert SECRET not in done.output
    assert [path.read_text() for path in (folder / VICTIM, tmp_path / VICTIM)] == [PRECIOUS] * 2
    assert not (folder / "owned").exists()
    new = [path for path in folder.rglob("*") if str(path) not in before]
    made = {path.name for path in new if path.parent.name != "kernels"}  # which a resumed run adds to
    assert made <= {"page.html", "lock", "mine", "index.json", ".lock"}, made
    assert not list(folder.glob("store/*.json"))


def test_every_file_has_a_case_and_every_case_a_reason() -> None:
    used = {case.get("file") for case in CASES}
    helpers = {"README.md", "cases.yaml", "calls.c", "moves.c", "runs.py", "loops.workload.yaml"}
    helpers |= {"host.yaml", "deep_host.yaml"}
    assert {path.name for path in FILES.iterdir() if path.is_file()} == {name for name in used if name} | helpers
    assert {case["made by"] for case in CASES if "made by" in case} == set(MAKERS)
    assert all(case["says"] and case["because"] for case in CASES)
    assert len(used) + len(MAKERS) > 50  # kinds of files
