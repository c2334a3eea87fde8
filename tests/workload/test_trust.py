"""A reference is Python code: it runs only if it ships with the package, or the user said that it may."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from autocomp import workload as workloads
from autocomp.cli.entry import autocomp
from autocomp.data import data_dir
from autocomp.errors import TrustError
from autocomp.search import RunFolder
from autocomp.search.log.snapshot import restore

SHIPPED = data_dir("workloads")
WORKLOAD = (SHIPPED / "tiny_add.yaml").read_text().replace("tiny_add.", "mine.")
KERNEL = (SHIPPED / "tiny_add.c").read_text()
REFERENCE = (SHIPPED / "tiny_add.py").read_text() + "\n\nfrom pathlib import Path\n\nPath('ran').touch()\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {"w.yaml": WORKLOAD, "mine.c": KERNEL, "mine.py": REFERENCE}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def command(*arguments: str) -> Result:
    return CliRunner().invoke(autocomp, arguments)


@pytest.mark.parametrize(
    "words",
    [
        "run mine.c --workload w.yaml",
        "search w.yaml --run-dir run",
        "export mine.c --workload w.yaml",
        "prompt mine.c --workload w.yaml",
    ],
)
def test_a_reference_does_not_run_before_the_user_says_so(words: str) -> None:
    done = command(*words.split())
    assert (done.exit_code, "mine.py is Python code" in done.stderr) == (TrustError.exit_code, True), done.output
    assert not Path("ran").exists()
    assert not Path("run").exists()


def test_saying_so_once_is_enough_for_a_content() -> None:
    assert command("run", "mine.c", "--workload", "w.yaml", "--trust").exit_code != TrustError.exit_code
    assert Path("ran").exists()
    assert command("run", "mine.c", "--workload", "w.yaml").exit_code != TrustError.exit_code
    Path("mine.py").write_text(REFERENCE + "# changed\n")
    assert command("run", "mine.c", "--workload", "w.yaml").exit_code == TrustError.exit_code


def test_a_reference_that_ships_is_trusted_wherever_it_lies(tmp_path: Path) -> None:
    shipped = workloads.load("tiny_add")
    assert workloads.as_trusted(shipped).trusted
    (tmp_path / "mine.py").write_text(str(shipped.reference_text))
    assert workloads.as_trusted(workloads.load(str(tmp_path / "w.yaml"))).trusted


def test_what_runs_is_what_was_read(tmp_path: Path) -> None:
    """The file may change between the question and the call."""
    loaded = workloads.load(str(tmp_path / "w.yaml"))
    (tmp_path / "mine.py").write_text("raise SystemExit(3)")
    workloads.compute(loaded, workloads.make_inputs(loaded, workloads.InputSet("random", "random", 0)))
    assert Path("ran").exists()


def test_a_run_folder_brings_no_code_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = command("search", "w.yaml", "--run-dir", "run", "--trust", "--steps", "0", "--workers", "1")
    assert done.exit_code == 0, done.output
    Path("ran").unlink()
    monkeypatch.setenv("AUTOCOMP_CONFIG", str(tmp_path / "somebody-else"))
    before = sorted(path.name for path in Path("run").iterdir())
    assert command("resume", "run").exit_code == TrustError.exit_code
    done = command("report", "run", "--output", "page.html")
    assert done.exit_code == 0, done.output
    assert command("runs", "show", "run").exit_code == 0
    assert not restore(RunFolder.open(Path("run"))).workload.trusted
    assert not Path("ran").exists()
    assert sorted(path.name for path in Path("run").iterdir()) == before
