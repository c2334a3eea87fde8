"""A small search, made once, and a page of it in headless Chromium."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser, Page

from autocomp.cli.entry import autocomp
from autocomp.report.page import write_page
from autocomp.search import RunFolder

sys.path.insert(0, str(Path(__file__).parent))  # lets the tests import `opened`


@pytest.fixture(scope="session")
def searched(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A finished run of a few evaluations; not to be changed."""
    folder = tmp_path_factory.mktemp("page") / "run"
    environment = {"AUTOCOMP_SCHEDULES": str(folder.parent / "schedules"), "AUTOCOMP_SHIPPED_SCHEDULES": "0"}
    options = ["--evaluations", "7", "--executor", "inline", "--no-cache", "--plain", "--run-dir", str(folder)]
    done = CliRunner(env=environment).invoke(autocomp, ["search", "tiny_gemm", *options])
    assert done.exit_code == 0, done.output
    return RunFolder.open(folder)


@pytest.fixture
def run_copy(searched: RunFolder, tmp_path: Path) -> RunFolder:
    """The run, to be changed."""
    shutil.copytree(searched.path, tmp_path / "copy")
    return RunFolder.open(tmp_path / "copy")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page on which nothing may go wrong and nothing may be fetched from elsewhere."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    opened = context.new_page()
    opened.set_default_timeout(20_000)
    problems: list[str] = []
    opened.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    yield opened
    context.close()
    assert not problems


@pytest.fixture(scope="session")
def written(searched: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the run's page as a file."""
    file = tmp_path_factory.mktemp("written") / "report.html"
    write_page(searched, file, 2)
    return file.as_uri()
