"""Workloads in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autocomp.agents.llm.prompts import render_prompt
from autocomp.agents.llm.statement import _needed, accuracy, statement
from autocomp.api import load_workload
from autocomp.data import data_dir
from autocomp.targets.planning import Context
from autocomp.workload.model import Workload

SHIPPED = sorted(data_dir("workloads").glob("*.yaml"))


@pytest.fixture
def written(tmp_path: Path):  # type: ignore[no-untyped-def]
    def load(text: str) -> Workload:
        (tmp_path / "workload.yaml").write_text(text)
        return load_workload(str(tmp_path / "workload.yaml"))

    return load


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_every_shipped_workload_can_be_told(file: Path) -> None:
    workload = load_workload(str(file))
    assert statement(workload)
    assert accuracy(workload).endswith(".")


def test_a_prompt_says_by_how_much_results_may_differ(context: Context) -> None:
    workload = load_workload("tinympc_forward")
    text = render_prompt("plan", replace(context, workload=workload))[1].content
    assert "160 roundings of the sum of the magnitudes of its terms" in text


def test_a_tensor_in_parts_is_told_by_its_elements(written) -> None:  # type: ignore[no-untyped-def]
    gemm = "operation: gemm\naccelerator: tiny\ndims: {I: 8, J: 8, K: 8}\nlayout: {B: K/4 J K%4}\nresult: int32\n"
    said = statement(written(gemm))
    assert "C = A · B in int32" in said
    assert "Element (k, j) of B is stored as `B[k/4][j][k%4]`." in said


def test_sums_of_floats_need_not_be_equal(written) -> None:  # type: ignore[no-untyped-def]
    gemm = "operation: gemm\naccelerator: gemmini:fp32\ndims: {I: 8, J: 8, K: 8}\ndtype: float32\nscale: 0.5\n"
    workload = written(gemm)
    assert "C = 0.5 * (A · B) in float32" in statement(workload)
    assert "what rounding can cost" in accuracy(workload)


CONVOLUTION = "operation: conv2d\naccelerator: tiny\ndims: {N: 1, H: 9, W: 9, C: 4, K: 8, R: 3, S: 2}\n"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", "sum = Σ inp[n][p + r][q + s][c] * weights[r][s][c][k] over r < 3, s < 2, c < 4."),
        ("stride: 2\npadding: 1\n", "inp[n][2 * p + r - 1][2 * q + s - 1][c]"),
        ("dilation: 2\n", "inp[n][p + 2 * r][q + 2 * s][c]"),
        ("groups: 2\n", "[k / 4 * 2 + c] * weights[r][s][c][k] over r < 3, s < 2, c < 2."),
        ("groups: 4\n", "[k / 2] *"),
        ("bias: row\nactivation: relu\nscale: 0.5\n", "saturate(round(0.5 * relu(sum + bias[0][k])))"),
        ("bias: row\nscale: 0.5\n", "saturate(round(0.5 * (sum + bias[0][k])))"),
        ("pool: {size: 2, stride: 2}\n", "for the 2 x 2 places from p = 2 * y, q = 2 * x."),
    ],
)
def test_a_convolution_is_told_as_a_formula(written, options: str, expected: str) -> None:  # type: ignore[no-untyped-def]
    assert expected in statement(written(CONVOLUTION + options))


def test_a_reference_is_shown_without_what_it_has_no_use_for() -> None:
    first = "import math\n\n\ndef half(x):\n    return x / 2\n\n\n"
    other = "def other(x):\n    return half(x)\n\n\n"
    last = "def f(x):\n    return half(math.pi * x)\n"
    assert _needed(first + other + last, "f") == (first + last).rstrip("\n")
