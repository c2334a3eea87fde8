"""A shell that completes a command line is offered the values that the command knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    from autocomp.cli.entry import autocomp

    monkeypatch.chdir(tmp_path)
    completion = ShellComplete(autocomp, {}, "autocomp", "_AUTOCOMP_COMPLETE")

    def complete(line: str) -> list[str]:
        *before, word = line.split(" ")
        return [item.value for item in completion.get_completions(before, word) if item.type == "plain"]

    return complete


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("sea", "search"),
        ("search gemm_51", "gemm_512"),
        ("run kernel.c --workload tiny", "tiny_gemm"),
        ("search --strategy ev", "evolve"),
        ("search gemm --set MEM", "MEM_LATENCY="),
        ("model net.onnx --accelerator gemmini:f", "gemmini:fp32"),
        ("search gemm --objective en", "energy"),
        ("search gemm --executor thr", "threads:"),
        ("search gemm --target simulator:vt", "simulator:vta"),
        ("search gemm --evalu", "--evaluations"),
    ],
)
def test_values_that_a_command_knows_are_offered(offered, line: str, expected: str) -> None:
    assert expected in offered(line)


def test_run_folders_are_offered(offered, tmp_path: Path) -> None:
    (tmp_path / "runs" / "first").mkdir(parents=True)
    (tmp_path / "runs" / "first" / "config.json").write_text("{}")
    assert offered("runs show runs/f") == ["runs/first"]


def test_a_command_line_with_mistakes_is_offered_nothing_and_raises_nothing(offered) -> None:
    assert offered("search absent.yaml --set D") == []
    assert offered("search gemm --seed a") == []
