"""A kernel whose values are wrong is told why, before it is told where."""

from __future__ import annotations

import pytest

from autocomp.targets.registry import load_target
from autocomp.workload import load

WORKLOAD = load("gemm_100x70x30")
TARGET = load_target(WORKLOAD.target, {}, ())
KERNEL = TARGET.starting_kernel(WORKLOAD)
JUDGE = TARGET.evaluator(WORKLOAD)


def cause_of(kernel: str) -> str:
    return TARGET.cause(kernel, WORKLOAD, JUDGE.evaluate(kernel))


def test_an_operand_that_was_never_loaded() -> None:
    assert "which nothing has written" in cause_of(KERNEL.replace("mvin2(", "if (k > 0) mvin2("))


def test_an_operand_that_another_one_overwrites() -> None:
    found = cause_of(KERNEL.replace("b_tile = 16", "b_tile = 8"))
    assert "row 8 of spad, loaded from A at line 15, was overwritten from B at line 16 before anything read it" in found


@pytest.mark.parametrize(
    "kernel",
    [KERNEL, KERNEL.replace("k == 0 ?", "k >= 0 ?"), "void solution("],
    ids=["a right kernel", "a wrong computation on the right data", "no kernel at all"],
)
def test_nothing_is_said_where_accesses_explain_nothing(kernel: str) -> None:
    assert cause_of(kernel) == ""
