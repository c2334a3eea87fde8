"""A kernel whose values are wrong is told why, before it is told where."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp.targets.registry import load_target
from autocomp.targets.simulator.profile import recording
from autocomp.workload import load, parse

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
    assert found.startswith("row 8 of spad, loaded from A at line 15, was overwritten from B at line 16")


def test_elements_that_no_move_reads() -> None:
    found = cause_of(KERNEL.replace("&A[i][k]", "&A[i][0]"))
    assert found.startswith("nothing reads A[0][16] and 1,399 more of the 3,000 elements, which results depend on")


def test_sums_that_begin_anew_with_each_tile() -> None:
    assert "lack the products 0 to 15 of the 30" in cause_of(KERNEL.replace("k == 0 ?", "k >= 0 ?"))


def test_an_address_outside_a_tensor_is_told_once() -> None:
    assert cause_of(KERNEL.replace("config_ld(30", "config_ld(32")) == ""


def test_a_kernel_that_does_not_end_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = JUDGE.evaluate(KERNEL.replace("&A[i][k]", "&A[i][0]"))
    monkeypatch.setattr(recording, "MAX_STEPS", 1000)
    assert TARGET.cause(f"{KERNEL[: KERNEL.index('{')]}{{ while (1) fence(); }}", WORKLOAD, wrong) == ""


def test_commands_that_wait_for_each_other_as_one_tile_overwrites_another() -> None:
    """tpu_v1: six tiles of weights are read in front of the first product, and five have places."""
    problem = "operation: gemm\ndims: {I: 4, J: 4, K: 24}\nscale: 0.5\n"
    machine = "accelerator: tpu_v1\nset: {DIM: 4, UB_KB: 96, ACC_KB: 64}\n"
    workload = parse(problem + machine, Path("waiting.yaml"))
    target = load_target(workload.target, workload.overrides, ())
    kernel = """void solution(int8_t A[4][24], int8_t B[24][4], int8_t C[4][4]) {
      for (int k = 0; k < 6; k++) read_weights(&B[4 * k][0], 4, 4, 4);
      for (int k = 0; k < 6; k++) read_host_memory(4 * k, &A[0][4 * k], 24, 4, 4);
      for (int k = 0; k < 6; k++) matrix_multiply(0, 4 * k, 4, k > 0, 1);
      activate(64, 0, 4, NONE, 0.5f); write_host_memory(&C[0][0], 64, 4, 4, 4); fence(); }"""
    verdict = target.evaluator(workload).evaluate(kernel)
    assert "no unit can go on" in (verdict.failure.message if verdict.failure else "")
    assert target.cause(kernel, workload, verdict).startswith("row 0 of fifo, loaded from B at line 2, was overwritten")


@pytest.mark.parametrize(
    "kernel",
    [KERNEL, KERNEL.replace("config_ld(30, 1.0f", "config_ld(30, -1.0f"), "void solution("],
    ids=["a right kernel", "a wrong computation on the right data", "no kernel at all"],
)
def test_nothing_is_said_where_accesses_explain_nothing(kernel: str) -> None:
    assert cause_of(kernel) == ""


TILE = parse("operation: gemm\naccelerator: gemmini\nscale: 0.01\ndims: {I: 16, J: 16, K: 16}\n", Path("tile.yaml"))
TILE_TARGET = load_target(TILE.target, {}, ())
RIGHT = """void solution(int8_t A[16][16], int8_t B[16][16], int8_t C[16][16]) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(16, 1.0f, 16, 0); config_ld(16, 1.0f, 16, 1); gemmini_extended_config_st(16, NO_ACTIVATION, 0.01f);
  mvin(A, 0, 16, 16); mvin2(B, 16, 16, 16);
  preload(16, 0x80000000, 16, 16, 16, 16); compute_preloaded(0, 0xffffffff, 16, 16, 16, 16);
  mvout(C, 0x80000000, 16, 16); fence(); }"""


@pytest.mark.parametrize(
    ("right", "wrong", "cause"),
    [
        ("mvin(A, 0, 16, 16); mvin2(B, 16", "mvin(A, 16, 16, 16); mvin2(B, 0", "as if A and B were swapped"),
        ("1, false, false)", "1, true, false)", "as if A were stored transposed"),
        ("NO_ACTIVATION, 0.01f", "NO_ACTIVATION, 1.0f", "the result is right if results were scaled by 1"),
        ("NO_ACTIVATION, 0.01f", "RELU, 0.01f", "the result is right if results had a ReLU"),
    ],
)
def test_results_that_are_right_for_another_problem(right: str, wrong: str, cause: str) -> None:
    assert right in RIGHT
    kernel = RIGHT.replace(right, wrong)
    assert cause in TILE_TARGET.cause(kernel, TILE, TILE_TARGET.evaluator(TILE).evaluate(kernel))
