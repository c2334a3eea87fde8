"""A user's file of defaults: what it may hold, and that commands say which values come from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Command = Callable[..., Result]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def written(text: str) -> Path:
        file = tmp_path / "configuration" / "defaults.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        return file

    return written


def test_a_command_has_its_options_from_the_file_and_says_so(
    autocomp: Command, write: Callable[[str], Path], toy: None
) -> None:
    file = write("search: {evaluations: 2, plain: true, menu: [general, gemm]}\n")
    found = autocomp("search", "gemm", "--reuse", "0", "--seed", "3")
    assert found.exit_code == 0
    assert f"defaults from {file}: --evaluations 2, --plain, --menu general --menu gemm\n" in found.stderr
    assert "2 of 2 evaluations" in found.stdout


def test_the_command_line_comes_before_the_file(autocomp: Command, write: Callable[[str], Path], toy: None) -> None:
    write("search: {evaluations: 2}\n")
    found = autocomp("search", "gemm", "--reuse", "0", "--evaluations", "3", "--plain")
    assert "of 3 evaluations" in found.stdout
    assert "defaults from" not in found.stderr


def test_defaults_are_listed_with_their_lines(autocomp: Command, write: Callable[[str], Path]) -> None:
    file = write("search:\n  cache: false\nschedules:\n  list:\n    plain: true\n")
    document = json.loads(autocomp("defaults", "--json").stdout)
    assert document["file"] == str(file)
    assert [(d["command"], d["option"], d["value"], d["line"]) for d in document["defaults"]] == [
        ("search", "cache", False, 2),
        ("schedules list", "plain", True, 5),
    ]


def test_without_a_file_there_are_no_defaults(autocomp: Command, tmp_path: Path) -> None:
    found = autocomp("defaults")
    assert found.stdout == f"no defaults of your own; write some into {tmp_path}/configuration/defaults.yaml\n"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("serch: {beam: 1}", "1:1", "did you mean 'search'?"),
        ("search: {beem: 1}", "1:10", "no option --beem"),
        ("search: {beam: 0}", "1:16", "beam: 0 is not in the range"),
        ("search: {beam: 2.5}", "1:16", "beam: '2.5' is not a valid integer range"),
        ("search: {beam: [1, 2]}", "1:16", "expected one value"),
        ("search: {cache: 3}", "1:17", "expected true or false"),
        ("search: {trust: true}", "1:10", "'trust' has no default"),
        ("search: {beam: 1, beam: 2}", "1:19", "expected each name once"),
        ("search: 1", "1:9", "expected options with their values"),
        ("- search", "1:1", "expected a section for each command"),
        ("search: {", "1:10", "not valid YAML"),
    ],
)
def test_mistakes_in_the_file_have_their_place(
    autocomp: Command, write: Callable[[str], Path], text: str, place: str, message: str
) -> None:
    file = write(text)
    found = autocomp("workloads")
    assert found.exit_code == 3
    assert f"{file}:{place}" in found.stderr
    assert message in found.stderr
