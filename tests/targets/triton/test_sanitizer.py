"""The stage that compute-sanitizer judges, from what it wrote on an NVIDIA H200."""

from __future__ import annotations

import pytest

from autocomp.errors import ConfigError
from autocomp.targets.triton.connection import Host
from autocomp.targets.triton.evaluator import TritonEvaluator
from autocomp.targets.triton.worker import sanitizer
from tests.targets.triton.workloads import load

FOUND = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 16 bytes
=========     at k+0xc0 in small.py:5
=========     by thread (122,0,0) in block (0,0,0)
=========     Access to 0x7f66a8800fa0 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f66a8800000 of size 4,000 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
========= ERROR SUMMARY: 1 error
"""


def test_an_access_beyond_a_tensor_is_told_with_its_line() -> None:
    found = sanitizer.told(FOUND, sanitizer.FOUND)
    assert found is not None
    assert found.startswith("invalid __global__ read of size 16 bytes in k, line 5, 1 bytes after")


def test_a_run_without_findings_passes() -> None:
    assert sanitizer.told("========= ERROR SUMMARY: 0 errors\n", 0) is None


def test_a_run_that_ends_otherwise_is_no_pass() -> None:
    assert "ended with 1: RuntimeError: no GPU" in str(sanitizer.told("RuntimeError: no GPU\n", 1))


def test_a_machine_without_the_tool_says_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sanitizer.shutil, "which", lambda name: None)
    with pytest.raises(ConfigError, match="not on the PATH") as caught:
        sanitizer.tool()
    assert "CUDA toolkit" in str(caught.value.hint)


def test_the_stage_is_asked_for_by_a_parameter() -> None:
    plain = TritonEvaluator(Host(), load("softmax"), has_device=True)
    asked = TritonEvaluator(Host(), load("softmax"), has_device=True, effort={"sanitize": 1})
    assert [stage.name for stage in asked.stages if stage not in plain.stages] == ["accesses"]
