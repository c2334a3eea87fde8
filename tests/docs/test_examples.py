"""Every example in the documentation runs.

- ```console: each line behind `$ ` is run in an empty folder that holds the page's earlier named files; it exits with
  0, or with N where the block's info string says `exit=N`.
- ```isa, ```c and ```yaml are parsed and checked as an accelerator, a kernel and a workload; with `file=NAME` in the
  info string they are also written for later commands. `fragment` marks text that is not a whole file.
- `needs=verilator` marks commands that `make test-rtl` runs, in a folder that has `simulator/`.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from autocomp import workload
from autocomp.cli.commands import autocomp
from autocomp.targets.simulator import isa, kernel

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    language: str
    options: dict[str, str]
    text: str


def examples(page: Path) -> list[Example]:
    found = []
    for language, info, text in FENCE.findall(page.read_text()):
        options = dict(part.partition("=")[::2] for part in shlex.split(info))
        found.append(Example(language, options, text))
    return found


def run_console(example: Example) -> None:
    commands = [line[2:] for line in example.text.splitlines() if line.startswith("$ ")]
    assert commands, "a console example has a line that starts with '$ '"
    for command in commands:
        words = shlex.split(command)
        if words[0] in ("make", "git", "pip", "cd"):
            continue  # setting up is what this suite itself runs on
        assert words[0] == "autocomp", f"only autocomp is run from the documentation: {command}"
        done = CliRunner().invoke(autocomp, words[1:])
        assert done.exit_code == int(example.options.get("exit", "0")), f"{command}\n{done.output}"


def check(example: Example, folder: Path, tools: frozenset[str] = frozenset()) -> None:
    name = example.options.get("file")
    if name:
        (folder / name).write_text(example.text)
    needs = example.options.get("needs")
    if "fragment" in example.options or (needs and needs not in tools):
        return
    if example.language == "console":
        run_console(example)
    elif example.language == "isa":
        isa.lower(isa.parse(example.text, "example", {}))
    elif example.language == "c":
        kernel.parse(example.text)
    elif example.language == "yaml":
        path = folder / (name or "example.yaml")
        path.write_text(example.text)
        workload.load(str(path))
    elif example.language == "python" and name is None:
        exec(compile(example.text, "example", "exec"), {})


@pytest.mark.usefixtures("shipped_schedules")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_example_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for example in examples(page):
        check(example, tmp_path)


@pytest.mark.rtl
@pytest.mark.parametrize(
    "page", [page for page in PAGES if "needs=verilator" in page.read_text()], ids=lambda p: p.stem
)
def test_examples_that_need_verilator_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("AUTOCOMP_CACHE", str(ROOT / "build" / "rtl-models"))
    (tmp_path / "simulator").symlink_to(ROOT / "simulator")
    for example in examples(page):
        check(example, tmp_path, frozenset({"verilator"}))
