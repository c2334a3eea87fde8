"""Advice on the order of operands in DRAM, where kernels stay far from the bound."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp import workload as workloads
from autocomp.targets.registry import load_target

GEMM = "operation: gemm\ntarget: simulator:{machine}\ndims: {{I: 64, J: 64, K: 64}}\n"
CONVOLUTION = "operation: conv2d\ntarget: simulator:{machine}\ndims: {{N: 1, H: 3, W: 18, C: 128, K: 32, R: 2, S: 2}}\n"


def advice(text: str, machine: str) -> str | None:
    target = load_target(f"simulator:{machine}", {})
    return target.advice(workloads.parse(text.format(machine=machine), Path("w.yaml"), target.parameters))


@pytest.mark.parametrize(
    ("text", "line"), [(GEMM, "`transpose_a: true`"), (CONVOLUTION, "`layout: {inp: N C H W}`")], ids=["gemm", "conv2d"]
)
def test_an_operand_whose_elements_lie_apart_for_moves_is_better_stored_transposed(text: str, line: str) -> None:
    told = advice(text + "dtype: bfloat16\n", "neuroncore")
    assert told is not None
    assert line in told
    then, now = (int("".join(filter(str.isdigit, part.split(" needs ")[-1]))) for part in told.rsplit(", ", 1))
    assert now > 1.5 * then


@pytest.mark.parametrize("order", ["transpose_a: true", "layout: {A: K I}"])
def test_operands_that_are_stored_well_get_no_advice(order: str) -> None:
    assert advice(f"{GEMM}dtype: bfloat16\n{order}\n".replace("{A: K I}", "{{A: K I}}"), "neuroncore") is None


def test_a_machine_that_transposes_on_the_way_gets_no_advice() -> None:
    assert advice(GEMM, "gemmini") is None
