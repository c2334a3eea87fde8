"""Missing programs are named, with the line that installs them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autocomp.errors import ConfigError
from autocomp.targets.simulator.rtl.model.toolchain import call, find_toolchain


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes these the only programs on PATH, each a script that prints a line."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)

    def put(**lines: str) -> None:
        for name, line in lines.items():
            script = tmp_path / name.replace("gxx", "g++")
            script.write_text(f"#!/bin/sh\necho '{line}'\n")
            script.chmod(0o755)

    return put


def test_all_that_is_missing_is_named_at_once(programs: Callable[..., None]) -> None:
    programs(make="GNU Make")
    with pytest.raises(ConfigError, match=r"verilator, g\+\+") as caught:
        find_toolchain()
    assert "apt install verilator g++ make" in (caught.value.hint or "")


@pytest.mark.parametrize("version", ["Verilator 5.006 2023-01-22", "rev vUNKNOWN-built20260516"])
def test_a_version_that_is_new_enough_or_unknown_is_taken(programs: Callable[..., None], version: str) -> None:
    programs(verilator=version, gxx="", make="")
    assert find_toolchain().version == version


def test_an_old_version_is_refused(programs: Callable[..., None]) -> None:
    programs(verilator="Verilator 4.038 2020-07-11", gxx="", make="")
    with pytest.raises(ConfigError, match=r"4\.038.*expected Verilator 5\.0"):
        find_toolchain()


def test_a_tool_that_fails_shows_its_errors_and_keeps_its_log(programs: Callable[..., None], tmp_path: Path) -> None:
    programs(verilator="%Error: top.sv:3: syntax error")
    script = tmp_path / "verilator"
    script.write_text(script.read_text() + "exit 1\n")
    kept = tmp_path / "failed.log"
    with pytest.raises(ConfigError, match=r"top\.sv:3: syntax error"):
        call([str(script), "--cc"], tmp_path / "build.log", "verilator", kept)
    assert "syntax error" in kept.read_text()
