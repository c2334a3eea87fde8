"""Kernels that leave the last fence to their harness can be started from."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp import workload as workloads
from autocomp.search.session import starting_kernel
from autocomp.targets.registry import load_target
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.start.fenced import fenced
from autocomp.targets.simulator.start.naive import starting_kernel as naive

GEMM = "{operation: gemm, accelerator: MACHINE, dims: {I: 16, J: 16, K: 16}, kernel: own.c}"


@pytest.mark.parametrize("machine", ["gemmini", "tiny"])
def test_a_kernel_without_its_last_fence_is_completed_and_correct(tmp_path: Path, machine: str) -> None:
    accelerator = isa.load(machine)
    file = tmp_path / "gemm.yaml"
    plain = workloads.parse(GEMM.replace("MACHINE", machine).replace(", kernel: own.c", ""), file)
    text = naive(plain, accelerator)
    own = text.replace("    fence();\n", "")
    assert own != text
    (tmp_path / "own.c").write_text(own)
    workload = workloads.parse(GEMM.replace("MACHINE", machine), file)
    target = load_target(workload.target, {})
    assert not target.evaluator(workload).evaluate(own).correct
    start = starting_kernel(workload, target)
    assert "fence();  // added" in start
    assert target.evaluator(workload).evaluate(start).correct


@pytest.mark.parametrize(
    "text",
    [
        "void solution(int8_t A[16][16]) {\n    fence();\n}\n",
        "void wait(void) { gemmini_fence(); }\nvoid solution(int8_t A[16][16]) {\n    wait();\n}\n",
        "this is no kernel }",
        "",
    ],
)
def test_a_kernel_that_waits_and_a_text_that_is_none_stay_as_they_are(text: str) -> None:
    assert fenced(text, isa.load("gemmini")) == text
