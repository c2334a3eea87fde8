"""The library's kernel of a workload: one call, right wherever the library can do the workload."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.start.library import library_kernel
from autocomp.workload import Workload, parse


def gemm(accelerator: str, options: str = "") -> Workload:
    text = f"operation: gemm\naccelerator: {accelerator}\ndims: {{I: 37, J: 50, K: 70}}\n{options}"
    return parse(text, Path("gemm.yaml"))


@pytest.mark.parametrize(
    "options",
    ["", "bias: row\nactivation: relu\n", "bias: full\nscale: 0.05\n", "transpose_a: true\n", "transpose_b: true\n"],
)
def test_the_library_does_the_workload(options: str) -> None:
    workload, accelerator = gemm("gemmini", options), isa.load("gemmini")
    text = library_kernel(workload, accelerator)
    assert text is not None
    found = SimulatorEvaluator(accelerator, workload).evaluate(text, stages=("check", "smoke"))
    assert found.correct, found.failure


@pytest.mark.parametrize(
    "options",
    ["bias: row\n", "padding: 1\nstride: 2\nactivation: relu\n", "pool: {size: 2, stride: 2, padding: 0}\n"],
)
def test_the_library_does_the_convolution(options: str) -> None:
    accelerator = isa.load("gemmini")
    dims = "{N: 2, H: 9, W: 11, C: 5, K: 18, R: 3, S: 3}"
    workload = parse(f"operation: conv2d\naccelerator: gemmini\ndims: {dims}\n{options}", Path("conv.yaml"))
    text = library_kernel(workload, accelerator)
    assert text is not None
    found = SimulatorEvaluator(accelerator, workload).evaluate(text, stages=("check", "smoke"))
    assert found.correct, found.failure


def test_the_library_has_no_depthwise_convolution() -> None:
    dims = "{N: 1, H: 6, W: 6, C: 4, K: 4, R: 3, S: 3}"
    text = f"operation: conv2d\naccelerator: gemmini\ndims: {dims}\ngroups: 4\n"
    assert library_kernel(parse(text, Path("conv.yaml")), isa.load("gemmini")) is None


def test_a_machine_without_a_library_has_no_such_kernel() -> None:
    assert library_kernel(gemm("tiny"), isa.load("tiny")) is None
