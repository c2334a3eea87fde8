"""The starting kernel is the plain loop nest, made from the machine's description and its idioms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autocomp.errors import ConfigError
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.start.fold import folded
from autocomp.targets.simulator.start.naive import naive_gemm, starting_kernel
from autocomp.workload import load, parse

GEMM = "operation: gemm\naccelerator: gemmini\ndims: {I: 5, J: 32, K: 48}\n"
VARIANTS = {
    "plain": "",
    "transpose_a": "transpose_a: true\n",
    "transpose_b": "transpose_b: true\n",
    "both_transposed_full_bias": "transpose_a: true\ntranspose_b: true\nbias: full\n",
    "row_bias_relu_scale": "bias: row\nactivation: relu\nscale: 0.125\n",
}


@pytest.fixture(scope="module")
def machine() -> isa.Accelerator:
    return isa.load("gemmini")


@pytest.mark.parametrize("name", ["gemm_512", "gemm_100x70x30"])
def test_shipped_workloads(machine: isa.Accelerator, name: str, golden: Callable[..., None]) -> None:
    golden(starting_kernel(load(name), machine), name=f"naive_{name}.c")


@pytest.mark.parametrize("name", ["conv_56_64", "conv_strided", "conv_depthwise", "conv_pooled", "tiny_conv"])
def test_shipped_convolutions(name: str, golden: Callable[..., None]) -> None:
    workload = load(name)
    golden(starting_kernel(workload, isa.load(workload.accelerator)), name=f"naive_{name}.c")


@pytest.mark.parametrize("variant", VARIANTS)
def test_options(machine: isa.Accelerator, variant: str, golden: Callable[..., None]) -> None:
    golden(naive_gemm(parse(GEMM + VARIANTS[variant], Path("w.yaml")), machine), name=f"naive_{variant}.c")


def test_tiles_follow_the_size_of_the_array() -> None:
    kernel = naive_gemm(parse(GEMM, Path("w.yaml")), isa.load("gemmini", {"DIM": 8}))
    assert "j += 8" in kernel
    assert "const int rows = 5 - i < 8 ? 5 - i : 8;" in kernel


def test_a_machine_without_the_idioms_is_told_what_to_add(machine: isa.Accelerator) -> None:
    text = machine.source.replace("idiom gemm_tile(", "idiom other_tile(")
    with pytest.raises(ConfigError, match="has no idiom 'gemm_tile'"):
        naive_gemm(parse(GEMM, Path("w.yaml")), isa.parse(text, "m.isa"))


def test_an_unknown_hole_gets_the_closest_one(machine: isa.Accelerator) -> None:
    text = machine.source.replace("idiom gemm_store(C, c_tile, rows, cols)", "idiom gemm_store(C, c_tyle, rows, cols)")
    with pytest.raises(ConfigError, match="did you mean 'c_tile'"):
        naive_gemm(parse(GEMM, Path("w.yaml")), isa.parse(text, "m.isa"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if (true) f(1); else f(2);", "f(1);"),
        ("if (false) { f(1); } else { f(2); f(3); }", "f(2);\n    f(3);"),
        ("if (false) f(1);", ""),
        ("f(!true || x == 0 && true ? 1 : 2);", "f(x == 0 ? 1 : 2);"),
        ("f(x == 0 && false ? 1 : 2);", "f(2);"),
        ("f(0.5f != 1.0f ? 1 : 2);", "f(1);"),
        ("f(g() && false);", "f(g() && false);"),
    ],
)
def test_what_literals_decide_is_folded(before: str, after: str) -> None:
    text = folded(f"void solution(int8_t A[1]) {{ int x = 0; {before} }}", "<test>")
    body = text.split("int x = 0;\n", 1)[1].rsplit("}", 1)[0].strip()
    assert body == after
