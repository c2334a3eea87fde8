"""A program in plain C, whose time on the host counts, ends on the accelerator."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from autocomp.targets.menu_file import load as load_menu
from autocomp.targets.planning import Context
from autocomp.targets.rewriting import RewritingCoder
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.rules import RulesPlanner
from autocomp.targets.simulator.target import SimulatorTarget
from autocomp.workload import parse

PROGRAMS = {
    "operation: gemm\ndims: {I: 20, J: 18, K: 33}": """
void solution(int8_t A[20][33], int8_t B[33][18], int8_t C[20][18]) {
  for (int i = 0; i < 20; i++) {
    for (int j = 0; j < 18; j++) {
      int32_t sum = 0;
      for (int k = 0; k < 33; k++) { sum += A[i][k] * B[k][j]; }
      C[i][j] = sum > 127 ? 127 : sum < -128 ? -128 : sum;
    }
  }
}
""",
    "operation: conv2d\ndims: {N: 1, H: 6, W: 7, C: 5, K: 6, R: 3, S: 3}": """
void solution(int8_t inp[1][6][7][5], int8_t weights[3][3][5][6], int8_t output[1][4][5][6]) {
  for (int p = 0; p < 4; p++) {
    for (int q = 0; q < 5; q++) {
      for (int k = 0; k < 6; k++) {
        int32_t sum = 0;
        for (int r = 0; r < 3; r++) {
          for (int s = 0; s < 3; s++) {
            for (int c = 0; c < 5; c++) { sum += inp[0][p + r][q + s][c] * weights[r][s][c][k]; }
          }
        }
        output[0][p][q][k] = sum > 127 ? 127 : sum < -128 ? -128 : sum;
      }
    }
  }
}
""",
    "operation: gemm\ndims: {I: 20, J: 18, K: 33}\nbias: row\nactivation: relu": """
static int32_t dot(const int8_t *a, const int8_t *b, int step, int count) {
  int32_t sum = 0;
  for (const int8_t *end = a + count; a != end; b += step) { sum += *a++ * *b; }
  return sum;
}
void solution(const int8_t A[20][33], const int8_t B[33][18], const int32_t bias[1][18], int8_t C[20][18]) {
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 18; ++j) {
      int32_t sum = bias[0][j] + dot(A[i], &B[0][j], 18, 33);
      if (sum < 0) sum = 0;
      if (sum > 127) sum = 127;
      C[i][j] = (int8_t)sum;
    }
  }
}
""",
}


@pytest.mark.parametrize("document", PROGRAMS)
def test_the_rules_translate_an_operation_that_the_machine_has(document: str) -> None:
    target = SimulatorTarget(isa.load("gemmini"))
    workload = parse(f"{document}\naccelerator: gemmini\nhost: compute\n", Path("plain.yaml"))
    judge = target.evaluator(workload)
    plain = PROGRAMS[document]
    first = judge.evaluate(plain, seed=1)
    assert first.correct, first.failure
    context = Context(target, workload, plain, first, [], load_menu(["gemm"]), Random(1))
    (plan,) = RulesPlanner().plan(context, 3).plans
    made = RewritingCoder().implement(context, plan).kernel
    assert made is not None
    assert not target.language.is_foreign(made)
    last = judge.evaluate(made, seed=1)
    assert last.correct, last.failure
    assert first.value is not None
    assert last.value is not None
    assert last.value < first.value
