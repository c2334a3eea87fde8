"""Sums of products in plain C move to the machine, where what they read stays as it is; the host keeps the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.transforms import Facts, NotApplicable, analyse, applied, transformation
from autocomp.workload import load, parse

MACHINE = isa.load("gemmini:fp32")
MOVE = transformation("move_products")
STEP = Path(__file__).parents[2] / "benchmarks" / "translation" / "tinympc.yaml"


def facts_of(body: str, parameters: str = "float M[6][8], float v[8][1], float y[6][1]") -> Facts:
    return analyse(kernel.parse(f"void solution({parameters}) {{\n{body}\n}}"), MACHINE)


def rows(inner: str, after: str = "y[j][0] = s;") -> str:
    return f"for (int j = 0; j < 6; j++) {{ float s = 0.0f; for (int k = 0; k < 8; k++) {{ {inner} }} {after} }}"


def text_of(facts: Facts) -> str:
    return kernel.print_kernel(facts.kernel)


@pytest.mark.parametrize("parameters", [{}, {"product": 0}, {"product": 2}])
def test_a_step_of_a_controller_gets_faster_with_products_on_the_machine(
    parameters: dict[str, int],
) -> None:
    workload = load(STEP)
    judge = SimulatorEvaluator(MACHINE, workload)
    assert workload.starting_kernel is not None
    before = judge.evaluate(workload.starting_kernel, seed=1)
    facts = analyse(kernel.parse(workload.starting_kernel), MACHINE, workload.constants)
    after = judge.evaluate(text_of(applied(MOVE, facts, parameters)), seed=2)
    assert after.correct, after.failure
    assert before.value is not None
    assert after.value is not None
    assert after.value < before.value


def test_all_products_and_each_are_proposed() -> None:
    workload = load(STEP)
    assert workload.starting_kernel is not None
    facts = analyse(kernel.parse(workload.starting_kernel), MACHINE, workload.constants)
    assert [proposal.parameters for proposal in MOVE.proposals(facts)] == [{}, *({"product": n} for n in range(3))]


@pytest.mark.parametrize(
    ("inner", "parameters"),
    [
        ("s += M[j][k] * v[k][0];", "float M[6][8], float v[8][1], float y[6][1]"),
        ("s += v[k][0] * M[j][k];", "float M[6][8], float v[8][1], float y[6][1]"),
        ("s -= M[j][k] * v[k][0];", "float M[6][8], float v[8][1], float y[6][1]"),
        ("s += M[k][j] * v[k][0];", "float M[8][6], float v[8][1], float y[6][1]"),  # transposed
        ("s += M[j + 1][k + 2] * v[k][0];", "float M[7][16], float v[8][1], float y[6][1]"),  # a part
        ("s += M[j][k] * v[k][1];", "float M[6][8], float v[8][3], float y[6][1]"),  # a column
    ],
)
def test_however_the_operands_lie(inner: str, parameters: str) -> None:
    changed = text_of(applied(MOVE, facts_of(rows(inner), parameters), {}))
    assert "compute_preloaded" in changed
    assert "product[" in changed


def test_tensors_are_called_what_the_kernel_calls_them() -> None:
    facts = facts_of(rows("s += C[j][k] * A[k][0];"), "float C[6][8], float A[8][1], float y[6][1]")
    changed = text_of(applied(MOVE, facts, {}))
    for moved in ("mvin(&C[", "mvin2(&A[", "mvout(&product["):
        assert moved in changed


def test_a_product_of_matrices_moves_row_by_row() -> None:
    sums = "for (int k = 0; k < 8; k++) C[i][j] += A[i][k] * B[k][j];"
    nest = f"for (int i = 0; i < 4; i++) for (int j = 0; j < 6; j++) {sums}"
    facts = facts_of(nest, "float A[4][8], float B[8][6], float C[4][6]")
    assert "&B[" in text_of(applied(MOVE, facts, {}))


@pytest.mark.parametrize(
    "body",
    [
        rows("s += M[j][k] * v[k][0];", "y[j][0] = s; v[j][0] = s;"),  # what the next row reads
        "float* p = y[0]; if (M[0][0] > 0.0f) p = v[0];" + rows("s += M[j][k] * v[k][0];", "p[j] = s;"),
        rows("s += M[j][k] * v[7 - k][0];"),  # backwards
        rows("s += M[j][k * k] * v[k][0];"),
        rows("s += M[j][k] + v[k][0];"),
        rows("s += M[j][k] * 2.0f;"),
        rows("s *= M[j][k] * v[k][0];"),
        "float s = 0.0f; for (int k = 0; k < 8; k++) { s += M[0][k] * v[k][0]; } y[0][0] = s;",  # one row
    ],
)
def test_what_is_no_such_sum_stays(body: str) -> None:
    facts = facts_of(body)
    assert not MOVE.proposals(facts)
    with pytest.raises(NotApplicable, match="no sums of products"):
        applied(MOVE, facts, {})


def test_states_of_different_times_are_told_apart() -> None:
    body = (
        "for (int i = 0; i < 3; i++) for (int j = 0; j < 8; j++) { float s = 0.0f;"
        " for (int k = 0; k < 8; k++) { s += M[j][k] * x[i][k]; } x[i + 1][j] = s; }"
    )
    facts = facts_of(body, "float M[8][8], float x[4][8]")
    assert "&x[i][" in text_of(applied(MOVE, facts, {}))


INTEGERS = """
void solution(int8_t A[5][33], int8_t B[33][18], int32_t bias[1][18], int8_t C[5][18]) {
  for (int i = 0; i < 5; i++) {
    for (int j = 0; j < 18; j++) {
      int32_t sum = bias[0][j];
      for (int k = 0; k < 33; k++) { sum += (int32_t)A[i][k] * B[k][j]; }
      C[i][j] = sum < 0 ? 0 : sum > 127 ? 127 : sum;
    }
  }
}
"""


def test_integers_are_multiplied_where_the_machine_stores_their_sums() -> None:
    machine = isa.load("gemmini")
    given = (
        "operation: gemm\naccelerator: gemmini\ndims: {I: 5, J: 18, K: 33}\nbias: row\nactivation: relu\nhost: compute"
    )
    judge = SimulatorEvaluator(machine, parse(given, Path("plain.yaml")))
    moved = text_of(applied(MOVE, analyse(kernel.parse(INTEGERS), machine), {}))
    assert "int32_t product[1][18]" in moved
    evaluation = judge.evaluate(moved, seed=1)
    assert evaluation.correct, evaluation.failure


@pytest.mark.parametrize(
    ("machine", "reason"), [("gemmini:lean", "cannot store those"), ("gemmini:fp32", "holds elements")]
)
def test_sums_that_the_machine_would_round_stay_on_the_host(machine: str, reason: str) -> None:
    with pytest.raises(NotApplicable, match=reason):
        applied(MOVE, analyse(kernel.parse(INTEGERS), isa.load(machine)), {})


@pytest.mark.parametrize("other", ["(int8_t)A[i][k]", "(int64_t)A[i][k]"])
def test_a_cast_to_another_type_than_the_sums_stays(other: str) -> None:
    text = INTEGERS.replace("(int32_t)A[i][k]", other)
    assert not MOVE.proposals(analyse(kernel.parse(text), isa.load("gemmini")))


@pytest.mark.parametrize("sums", ["int32_t", "int64_t", "int8_t", "uint16_t"])
def test_sums_of_integers_move_whatever_integers_the_host_adds_them_in(sums: str) -> None:
    text = INTEGERS.replace("int32_t sum", f"{sums} sum")
    assert MOVE.proposals(analyse(kernel.parse(text), isa.load("gemmini")))


@pytest.mark.parametrize("sums", ["float", "double", "bool"])
def test_sums_of_integers_in_other_types_stay(sums: str) -> None:
    text = INTEGERS.replace("int32_t sum", f"{sums} sum")
    assert not MOVE.proposals(analyse(kernel.parse(text), isa.load("gemmini")))


def test_a_sum_of_so_many_integers_that_the_machine_overflows_stays() -> None:
    text = INTEGERS.replace("33", "140000").replace("int32_t sum", "int64_t sum")
    assert not MOVE.proposals(analyse(kernel.parse(text), isa.load("gemmini")))


@pytest.mark.parametrize("sums", ["double", "int32_t"])
def test_sums_of_floats_in_another_type_than_the_machines_stay(sums: str) -> None:
    body = rows("s += M[j][k] * v[k][0];").replace("float s", f"{sums} s")
    assert not MOVE.proposals(facts_of(body))


def test_sums_in_elements_have_the_type_of_their_tensor() -> None:
    nest = "for (int j = 0; j < 6; j++) { for (int k = 0; k < 8; k++) { y[j][0] += M[j][k] * v[k][0]; } }"
    assert MOVE.proposals(facts_of(nest))
    assert not MOVE.proposals(facts_of(nest, "float M[6][8], float v[8][1], double y[6][1]"))


def test_a_number_that_no_product_has_is_named() -> None:
    with pytest.raises(NotApplicable, match="'product' must be at least 0 and below 1, and is 1"):
        applied(MOVE, facts_of(rows("s += M[j][k] * v[k][0];")), {"product": 1})
