"""The answers of the command line to kernels that never end, and to files that are not plain UTF-8."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.evaluate.simulator import SimulatorEvaluator
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.workload import load

Command = Callable[..., Result]


@pytest.fixture(scope="module")
def kernel() -> str:
    return starting_kernel(load("tiny_gemm"), isa.load("tiny"))


def judged(autocomp: Command, data: bytes, *options: str) -> Result:
    Path("k.c").write_bytes(data)
    return autocomp("run", "k.c", "--workload", "tiny_gemm", *options)


def smoke(result: Result) -> dict[str, object]:
    stages = json.loads(result.stdout)["stages"]
    return next(stage for stage in stages if stage["stage"] == "smoke")


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_byte_order_mark_and_any_line_ends_are_accepted(
    autocomp: Command, kernel: str, start: bytes, line_end: str
) -> None:
    result = judged(autocomp, start + kernel.replace("\n", line_end).encode())
    assert result.exit_code == 0, result.output


def test_a_byte_that_is_not_utf_8_is_located(autocomp: Command) -> None:
    result = judged(autocomp, "// ä\n  int \xff;".encode("latin-1").replace(b"\xe4", "ä".encode()))
    assert result.exit_code == 5
    assert "k.c:2:7" in result.stderr
    assert "byte 0xff is not UTF-8" in result.stderr


def test_a_description_that_is_not_utf_8_is_located(autocomp: Command) -> None:
    Path("m.isa").write_bytes(b"accelerator m {\n\xff")
    result = autocomp("isa", "show", "m.isa")
    assert (result.exit_code, "m.isa:2:1" in result.stderr) == (4, True), result.stderr


def test_commands_that_wait_for_ever_fail_the_kernel_at_the_oldest(autocomp: Command, kernel: str) -> None:
    brace = kernel.index("{", kernel.index("solution"))
    waiting = kernel[: brace + 1] + " load_wait(3);" + kernel[brace + 1 :]
    result = judged(autocomp, waiting.encode(), "--json")
    assert result.exit_code == 6
    assert "no unit can go on" in str(smoke(result)["message"])
    assert "load_wait" in str(smoke(result)["message"])
    assert smoke(result)["line"] == kernel[:brace].count("\n") + 1


def test_a_kernel_that_takes_too_many_cycles_fails_at_the_command_under_way(
    autocomp: Command, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SimulatorEvaluator, "max_cycles", 30)
    result = judged(autocomp, kernel.encode(), "--json")
    assert result.exit_code == 6
    assert "not done after 30 cycles" in str(smoke(result)["message"])
    assert smoke(result)["line"] is not None


def test_a_kernel_that_takes_too_many_steps_fails_in_its_loop(
    autocomp: Command, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autocomp.targets.simulator.evaluate.simulator.MAX_STEPS", 1000)
    brace = kernel.index("{", kernel.index("solution"))
    result = judged(autocomp, (kernel[: brace + 1] + "\nwhile (1) { }\n" + kernel[brace + 1 :]).encode(), "--json")
    assert result.exit_code == 6
    assert "did not end within 1000 steps" in str(smoke(result)["message"])
    assert smoke(result)["line"] == kernel[:brace].count("\n") + 2


@pytest.mark.parametrize("setting", ["MAX_REQUESTS=0", "MAX_REQUESTS=-5", f"MEM_LATENCY={1 << 30}", "MEM_LATENCY=-7"])
def test_a_setting_that_cannot_be_timed_is_an_error_of_the_description(autocomp: Command, setting: str) -> None:
    Path("k.c").write_text(starting_kernel(load("gemm_100x70x30"), isa.load("gemmini")))
    result = autocomp("run", "k.c", "--workload", "gemm_100x70x30", "--set", setting)
    assert (result.exit_code, "; expected " in result.stderr) == (4, True), result.output


@pytest.mark.parametrize("value", ["1000000", "0", "-1", "1e9", "9" * 30, "1048576", str(1 << 62)])
def test_an_absurd_parameter_is_refused_or_bounded(autocomp: Command, kernel: str, value: str) -> None:
    Path("k.c").write_text(kernel)
    for parameter in ("DIM", "SPAD_KB", "MAX_REQUESTS"):
        result = autocomp("run", "k.c", "--workload", "gemm", "--set", f"{parameter}={value}")
        assert result.exit_code in (3, 4, 5, 6), result.output
        assert "Traceback" not in result.output
