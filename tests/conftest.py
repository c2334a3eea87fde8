"""The fixtures of all tests: golden files, folders of their own, a target of another package, and a browser."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from autocomp.process import prepare
from autocomp.remember import Recent
from autocomp.search import executors
from autocomp.search.executors.local import IMPORTED_ONCE
from autocomp.targets import registry

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Golden = Callable[..., None]
FEW_EXAMPLES = 3  # of a property, which no profile makes fewer
PACKAGE = Path(__file__).parent / "targets" / "abacus"
CHROMIUM_OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files instead of comparing")


def pytest_configure() -> None:
    """The workers of all tests are forked from one server, which imports what most of them need. Many tests search for
    the same small kernels, about which more is remembered than a search of large ones has room for. No test waits for
    the disk, as none cuts the power."""
    os.fsync = lambda file: None
    prepare()  # before test modules load NumPy
    from autocomp.targets.simulator.rules import given

    given._LAST = Recent(64)
    IMPORTED_ONCE.append("autocomp.targets.simulator.target")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The repeatable profile tries a third of a property's examples, always the same ones. `make check-long` tries all
    of them, and others each time."""
    if config.getoption("--hypothesis-profile") != "ci":  # not where hypothesis takes it by itself, as on a CI server
        return
    properties = {
        item.obj for item in items if isinstance(item, pytest.Function) and not item.get_closest_marker("rtl")
    }
    for function in properties:
        own: settings | None = getattr(function, "_hypothesis_internal_use_settings", None)
        if own is not None and own.max_examples > FEW_EXAMPLES:
            fewer = max(FEW_EXAMPLES, own.max_examples // 3)
            function._hypothesis_internal_use_settings = settings(own, max_examples=fewer)


def pytest_unconfigure() -> None:
    """Hypothesis leaves a callback with the collector, which Python drops after its last collection only: whatever it
    reaches, such as machines that test modules cache, would be reported as leaked by the native core."""
    gc.callbacks.clear()


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps tests, and the commands they start, away from the user's schedule store, answer cache and keyring. No
    search begins with a schedule that the test did not make: its only store is empty at first. No search starts
    processes that the test does not ask for."""
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    monkeypatch.setenv("AUTOCOMP_SCHEDULES", str(tmp_path / "schedule-store"))
    monkeypatch.setenv("AUTOCOMP_SHIPPED_SCHEDULES", "0")
    monkeypatch.setenv("AUTOCOMP_CACHE", str(tmp_path / "answer-cache"))
    monkeypatch.setenv("AUTOCOMP_CONFIG", str(tmp_path / "configuration"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(executors, "available_cores", lambda: 1)


@pytest.fixture
def shipped_schedules(own_folders: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shipped schedules are read too, as by a user."""
    monkeypatch.delenv("AUTOCOMP_SHIPPED_SCHEDULES")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """`golden(text)` compares with `golden/<test name>.txt` beside the test's file; `name=` overrides the file name."""
    folder = Path(request.path).parent / "golden"
    update = bool(request.config.getoption("--update-golden"))

    def check(text: str, name: str | None = None) -> None:
        path = folder / (name or f"{request.node.name}.txt")
        if update:
            folder.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.is_file(), f"{path} is missing: run pytest with --update-golden, and review what it writes"
        assert text == path.read_text(encoding="utf-8"), f"{path} differs: --update-golden if the change is meant"

    return check


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that has the package `abacus` and its entry point."""
    folder = tmp_path_factory.mktemp("installed")
    source = tmp_path_factory.mktemp("source")
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-index",
    ]
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    subprocess.run(
        [*command, "--no-build-isolation", "--target", str(folder), str(PACKAGE)],
        check=True,
        cwd=source,
        env={**os.environ, "PATH": tools},
    )
    return folder


@pytest.fixture
def abacus(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The spec of the second target, which this process and those that it starts can import."""
    monkeypatch.syspath_prepend(str(installed))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")]))
    registry._found.cache_clear()
    yield "abacus:wooden"
    registry._found.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] == "abacus"]:
        del sys.modules[name]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium, "these tests need Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_OPTIONS)
        yield launched
        launched.close()
