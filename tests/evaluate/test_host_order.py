"""Arithmetic of the host on tensors is ordered against the accelerator by fences alone; the discipline stage says where
one is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.workload import Workload, load, parse

# The host computes in these workloads, and so may touch what tensors hold.
MACHINE = isa.load("gemmini:fp32")
PIPELINE = ("tinympc_control", "tinympc_forward", "tinympc_backward")
COPY = """
operation: custom
accelerator: gemmini:fp32
host: compute
tensors:
  - {name: x, dtype: float32, shape: [4, 4], role: inout}
  - {name: y, dtype: float32, shape: [4, 4], role: inout}
reference: copy.py:copy
kernel: copy.c
"""
BEGIN = "void solution(float x[4][4], float y[4][4]) { config_ld(16, 1.0f, 4, 0); config_st(16); mvin(x, 0, 4, 4);"


def evaluator(workload: Workload) -> SimulatorEvaluator:
    return SimulatorEvaluator(MACHINE, workload)


@pytest.fixture(scope="module")
def copying(tmp_path_factory: pytest.TempPathFactory) -> SimulatorEvaluator:
    """y = x, whatever a kernel writes after it is not judged."""
    folder: Path = tmp_path_factory.mktemp("copy")
    (folder / "copy.c").write_text(BEGIN + "}")
    (folder / "copy.py").write_text("def copy(x, y):\n    return {'x': x, 'y': x}\n")
    return evaluator(parse(COPY, folder / "copy.yaml"))


@pytest.mark.parametrize("name", [PIPELINE[0], *(pytest.param(name, marks=pytest.mark.long) for name in PIPELINE[1:])])
def test_every_fence_of_a_kernel_that_mixes_host_and_accelerator_is_needed(name: str) -> None:
    workload = load(name)
    judge = evaluator(workload)
    kernel = str(workload.starting_kernel)
    assert judge.evaluate(kernel).correct
    lines = kernel.splitlines()
    fences = [number for number, line in enumerate(lines) if line.strip().startswith("fence();")]
    assert fences
    for number in fences:
        without = "\n".join(line for n, line in enumerate(lines) if n != number)
        failure = judge.evaluate(without).failure
        assert failure is not None, f"{name}: the fence in line {number + 1} is not missed"
        assert (failure.stage, "put a fence between them" in failure.message) == ("discipline", True), failure


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ("mvout(y, 0, 4, 4); float a = y[3][0]; y[3][0] = a;", "the host.* reads y[3][0].*which move_out.* writes"),
        ("mvout(y, 0, 4, 4); y[1][2] = x[1][2];", "the host.* writes y[1][2].*which move_out.* writes"),
        ("x[2][1] = x[2][1]; fence(); mvout(y, 0, 4, 4);", "the host.* writes x[2][1].*which move_in.* reads"),
        ("mvout(y, 0, 4, 4); add_matrix(y, y, x, 0, 0); negate_matrix(y[3], y[3], 1, 1);", "the host.* reads y[3][0]"),
    ],
)
def test_an_unordered_access_of_the_host_is_named(copying: SimulatorEvaluator, statements: str, message: str) -> None:
    failure = copying.evaluate(
        f"{BEGIN} {statements} fence(); mvin(x, 0, 4, 4); mvout(y, 0, 4, 4); fence(); }}"
    ).failure
    assert failure is not None
    assert failure.stage == "discipline"
    pattern = message.replace("[", r"\[").replace("]", r"\]")
    assert re.search(pattern, failure.message), failure.message


@pytest.mark.parametrize(
    "statements",
    [
        "mvout(y, 0, 4, 4); fence(); y[3][0] = x[3][0];",
        "fence(); x[2][1] = x[2][1]; mvout(y, 0, 4, 4);",  # the host is done before it issues the next command
        "mvout(y[0], 0, 4, 2); float a = y[2][0]; y[2][0] = a; fence(); mvout(y, 0, 4, 4);",  # other elements
        "float a = x[1][1]; mvout(y, 0, 4, 4); float b = x[1][1] + a;",  # two reads need no order
    ],
)
def test_ordered_accesses_of_the_host_pass(copying: SimulatorEvaluator, statements: str) -> None:
    evaluation = copying.evaluate(f"{BEGIN} {statements} fence(); }}")
    assert evaluation.correct, evaluation.failure
