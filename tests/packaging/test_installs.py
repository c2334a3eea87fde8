"""A wheel and an editable install both work from any directory, with their data."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
# The build tools (cmake, ninja) are installed beside this interpreter.
BUILD_PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])

# Where the wheel has the folders of the checkout.
ROOMS = {
    "autocomp": "autocomp/",
    "simulator": "autocomp/simulator/",
    **{data: f"autocomp/data/{data}/" for data in ("isa", "menus", "workloads", "schedules")},
}
BUILT_FROM = re.compile(r"core/|rtl/|.*\.cmake$|CMakeLists\.txt$")  # in simulator/: not installed
WITHOUT_CORE = """
import sys
from scikit_build_core.build import build_wheel
build_wheel(sys.argv[1], {"wheel.cmake": "false", "wheel.py-api": "py3", "build-dir": sys.argv[1] + "/build"})
"""

pytestmark = [pytest.mark.packaging, pytest.mark.xdist_group("packaging")]


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A fresh virtual environment that sees this one's libraries, but not this one's autocomp."""
    home = tmp_path / "venv"
    venv.create(home, with_pip=False)
    site = next((home / "lib").glob("python*/site-packages"))
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home


def install(environment: Path, *arguments: str) -> None:
    command = [*PIP, "--python", str(environment / "bin" / "python"), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run(
        [*command, "--no-build-isolation", "--ignore-installed", *arguments],
        check=True,
        cwd=ROOT,
        env={**os.environ, "PATH": BUILD_PATH},
    )


def autocomp(environment: Path, folder: Path, *arguments: str) -> str:
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "AUTOCOMP_PATH")}
    done = subprocess.run(
        [str(environment / "bin" / "autocomp"), *arguments],
        cwd=folder,
        env=kept,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_works_from(environment: Path, folder: Path) -> None:
    assert "mvin" in autocomp(environment, folder, "isa", "show", "gemmini")
    kernel = folder / "kernel.c"
    search = json.loads(
        autocomp(
            environment,
            folder,
            "search",
            "gemm_100x70x30.yaml",
            "--evaluations",
            "3",
            "--workers",
            "1",
            "--json",
        )
    )
    kernel.write_text(Path(folder / search["kernel"]).read_text())
    run = json.loads(
        autocomp(environment, folder, "run", str(kernel), "--workload", "gemm_100x70x30", "--json"),
    )
    assert run["correct"]
    assert run["cycles"] == search["best_cycles"]
    assert "gemm_100x70x30" in autocomp(environment, folder, "runs", "list")


def check_workers_start_in(environment: Path, folder: Path, run: Path) -> None:
    """Worker processes import the installed package, whatever is called autocomp in the current folder."""
    search = ["search", "tiny_gemm", "--reuse", "0", "--evaluations", "3", "--no-cache", "--json"]
    found = json.loads(autocomp(environment, folder, *search, "--workers", "2", "--run-dir", str(run)))
    assert found["evaluations"] == 3


def test_a_wheel_holds_all_files_of_the_package(tmp_path: Path) -> None:
    """Built without compiling. Patterns of pyproject.toml and .gitignore match folders at any depth: `runs` once took
    autocomp/report/runs away."""
    pytest.importorskip("scikit_build_core")
    subprocess.run([sys.executable, "-c", WITHOUT_CORE, str(tmp_path)], check=True, cwd=ROOT, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    tracked = subprocess.run(["git", "ls-files", *ROOMS], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    parts = [path.partition("/") for path in tracked.splitlines()]
    expected = {ROOMS[room] + path for room, _, path in parts if not (room == "simulator" and BUILT_FROM.match(path))}
    assert expected - set(zipfile.ZipFile(wheel).namelist()) == set()


@pytest.mark.long
def test_a_wheel_works_from_any_directory(environment: Path, tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    subprocess.run(
        [*PIP, "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "-w", str(wheels), str(ROOT)],
        check=True,
        env={**os.environ, "PATH": BUILD_PATH},
    )
    (wheel,) = wheels.glob("autocomp-*.whl")
    install(environment, str(wheel))
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    check_works_from(environment, folder)
    other = tmp_path / "other"
    (other / "autocomp").mkdir(parents=True)
    (other / "autocomp" / "__init__.py").write_text("raise SystemExit('this is another package')")
    for place in (ROOT, other, folder):
        check_workers_start_in(environment, place, tmp_path / f"run in {place.name}")


def test_the_editable_install_of_the_tests_works_from_any_directory(tmp_path: Path) -> None:
    """`make test` runs on an editable install: the modules come from the checkout, the core from the environment."""
    code = "import autocomp.cli, autocomp.simulator._core as core; print(autocomp.cli.__file__, core.__file__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    module, core = done.stdout.split()
    assert Path(module).is_relative_to(ROOT)
    assert not Path(core).is_relative_to(ROOT / "simulator")
    # Searches from another directory: tests/cli/test_end_to_end.py.
    assert "mvin" in autocomp(Path(sys.executable).parent.parent, tmp_path, "isa", "show", "gemmini")


@pytest.mark.long
def test_an_editable_install_of_another_checkout_works(environment: Path, tmp_path: Path) -> None:
    copy = tmp_path / "checkout"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(copy)], check=True)
    install(environment, "-e", str(copy))
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    check_works_from(environment, folder)
