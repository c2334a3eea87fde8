"""Every example in the documentation runs.

- ```console: each line after `$ ` is run in an empty folder that holds the page's earlier named files; it exits with
  0, or with N where the block's info string says `exit=N`. Lines after a command are of its output, in this order:
  some of them may be left out, spaces are compared as one, and `…` stands for any text. `output=NAME` keeps the
  output as a file. `long` marks commands that `make check-long` runs.
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
from autocomp.cli.entry import autocomp
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


def steps(text: str) -> list[tuple[str, list[str]]]:
    """The commands of a block, each with the lines of output that stand after it."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip():
            assert found, "a console example begins with a line that starts with '$ '"
            found[-1][1].append(" ".join(line.split()))
    return found


def check_output(output: str, expected: list[str]) -> None:
    printed = iter(" ".join(line.split()) for line in output.splitlines())
    for line in expected:
        pattern = re.compile(".*".join(map(re.escape, line.split("…"))))
        assert any(pattern.fullmatch(one) for one in printed), f"not printed there: {line}\n\n{output}"


def run_console(example: Example, folder: Path) -> None:
    commands = steps(example.text)
    assert commands, "a console example has a line that starts with '$ '"
    for command, expected in commands:
        words = shlex.split(command)
        if words[0] in ("make", "git", "pip", "cd"):
            continue  # setting up is what this suite itself runs on
        assert words[0] == "autocomp", f"only autocomp is run from the documentation: {command}"
        done = CliRunner().invoke(autocomp, words[1:])
        assert done.exit_code == int(example.options.get("exit", "0")), f"{command}\n{done.output}"
        check_output(done.output, expected)
        if "output" in example.options:
            (folder / example.options["output"]).write_text(done.stdout)


def check(example: Example, folder: Path, tools: frozenset[str] = frozenset()) -> None:
    name = example.options.get("file")
    if name:
        (folder / name).write_text(example.text)
    needs = example.options.get("needs") or ("time" if "long" in example.options else None)
    if "fragment" in example.options or (needs and needs not in tools):
        return
    if example.language == "console":
        run_console(example, folder)
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


@pytest.mark.long
@pytest.mark.usefixtures("shipped_schedules")
@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```console long" in page.read_text()], ids=lambda p: p.stem
)
def test_long_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for example in examples(page):
        check(example, tmp_path, frozenset({"time"}))
