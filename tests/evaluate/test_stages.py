"""Each of the five stages catches what it is there for, and says so in words that help."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path

import pytest

from autocomp.targets.evaluation import PROVE, SCREEN, Evaluation
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.evaluate import STAGES, SimulatorEvaluator
from autocomp.targets.simulator.start.naive import naive_gemm
from autocomp.workload import parse

WORKLOAD = parse("operation: gemm\naccelerator: gemmini\ndims: {I: 20, J: 18, K: 5}\n", Path("w.yaml"))


@pytest.fixture(scope="module")
def evaluator() -> SimulatorEvaluator:
    return SimulatorEvaluator(isa.load("gemmini"), WORKLOAD)


@pytest.fixture(scope="module")
def naive(evaluator: SimulatorEvaluator) -> str:
    return naive_gemm(WORKLOAD, evaluator.accelerator)


def replaced(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


def failure(evaluation: Evaluation, stage: str) -> str:
    """The message of the stage that must be the first to fail."""
    assert evaluation.failure is not None
    assert evaluation.failure.stage == stage, evaluation.failure
    names = [stage.name for stage in STAGES]
    after = names[names.index(stage) + 1 :]
    assert [v.status for v in evaluation.stages if v.stage in after] == ["skipped"] * len(after)
    return evaluation.failure.message


def test_a_right_kernel_passes_all_stages(evaluator: SimulatorEvaluator, naive: str) -> None:
    evaluation = evaluator.evaluate(naive)
    assert evaluation.correct, evaluation.failure
    assert [verdict.stage for verdict in evaluation.stages] == [stage.name for stage in STAGES]
    assert evaluation.value is not None
    assert (evaluation.ratio or 0) <= 1
    evidence = evaluation.evidence
    assert 0 < evidence.figures["utilisation"] < 1
    assert evidence.resources["spad"][0] > 0
    assert evidence.figures["dram_bytes_written"] == 20 * 18
    assert all(sum(causes.values()) == evaluation.value for causes in evidence.parts.values())
    assert sum(entry.count for entry in evidence.lines) <= evidence.figures["commands"]
    assert any("mvin(" in entry.text for entry in evidence.lines)


def test_screening_measures_and_validation_runs_the_other_stages(evaluator: SimulatorEvaluator, naive: str) -> None:
    screened, validated = evaluator.evaluate(naive, SCREEN), evaluator.evaluate(naive, PROVE)
    assert screened.measurement is not None
    assert validated.measurement is None
    assert screened.correct
    assert validated.correct
    assert [v.stage for v in (*screened.stages, *validated.stages)] == [stage.name for stage in STAGES]


def test_an_evaluator_survives_pickling_after_use(evaluator: SimulatorEvaluator, naive: str) -> None:
    first = evaluator.evaluate(naive)
    again = pickle.loads(pickle.dumps(evaluator)).evaluate(naive)
    assert again.value == first.value
    assert again.correct


def test_check_points_at_the_mistake(evaluator: SimulatorEvaluator, naive: str) -> None:
    broken = evaluator.evaluate(replaced(naive, "preload(", "prelod("))
    message = failure(broken, "check")
    assert "prelod" in message
    assert "preload" in message
    assert broken.failure is not None
    assert naive.splitlines()[(broken.failure.line or 0) - 1].lstrip().startswith("preload")
    assert broken.value is None


def test_check_compares_the_signature(evaluator: SimulatorEvaluator, naive: str) -> None:
    assert "expected" in failure(evaluator.evaluate(replaced(naive, "int8_t C[20][18]", "int8_t C[20][19]")), "check")


def test_the_names_of_tensors_are_free(evaluator: SimulatorEvaluator, naive: str) -> None:
    renamed = replaced(naive, "A[20][5]", "left[20][5]").replace("&A[", "&left[")
    assert evaluator.evaluate(renamed).correct


def test_smoke_names_the_first_wrong_element(evaluator: SimulatorEvaluator, naive: str) -> None:
    broken = evaluator.evaluate(replaced(naive, "mvout(&C[i][j], c_tile, cols", "mvout(&C[i][j], c_tile, cols - 1"))
    message = failure(broken, "smoke")
    assert "C[0][1" in message
    assert "never stored" in message
    assert broken.value is not None


def test_smoke_reports_what_the_machine_forbids_with_its_line(evaluator: SimulatorEvaluator, naive: str) -> None:
    broken = evaluator.evaluate(replaced(naive, "mvin(&A[i][k], a_tile", "mvin(&A[i][k], 0xffffffff"))
    failure(broken, "smoke")
    assert broken.failure is not None
    assert "mvin(" in naive.splitlines()[(broken.failure.line or 0) - 1]


def test_smoke_refuses_a_kernel_that_writes_its_inputs(evaluator: SimulatorEvaluator, naive: str) -> None:
    broken = replaced(naive, "    fence();\n", "    mvout(&A[0][0], 0x80000000, 1, 1);\n    fence();\n")
    assert "wrote to its input A" in failure(evaluator.evaluate(broken), "smoke")


def test_discipline_refuses_a_kernel_that_writes_an_input_and_restores_it(
    evaluator: SimulatorEvaluator, naive: str
) -> None:
    """B[0] is kept in local memory while C's first row lies in its place."""
    restored = """
    fence();
    config_ld(18, 1.0f, DIM, 0);
    mvin(&B[0][0], 100, 16, 1);
    mvin(&C[0][0], 101, 16, 1);
    fence();
    mvout(&B[0][0], 101, 16, 1);
    fence();
    mvout(&B[0][0], 100, 16, 1);
    fence();
"""
    message = failure(evaluator.evaluate(replaced(naive, "    fence();\n", restored)), "discipline")
    assert "writes B[0][0]" in message
    assert "which is an input" in message


def test_smoke_refuses_a_host_that_touches_data(evaluator: SimulatorEvaluator, naive: str) -> None:
    for statement in ("if (A[0][0] == -128) return;", "C[3][4] = 7;", "uint64_t c = (uint64_t)C; *(int8_t*)c = 1;"):
        broken = evaluator.evaluate(replaced(naive, "    config_ex(", f"    {statement}\n    config_ex("))
        assert "the host may only control the accelerator" in failure(broken, "smoke")
        assert "`host: compute`" in failure(broken, "smoke")
        assert broken.failure is not None
        assert statement in naive_line(naive, statement, broken.failure.line or 0)


def naive_line(naive: str, statement: str, line: int) -> str:
    return replaced(naive, "    config_ex(", f"    {statement}\n    config_ex(").splitlines()[line - 1]


def test_adversarial_draws_find_what_is_wrong_too(evaluator: SimulatorEvaluator, naive: str) -> None:
    wrong = replaced(naive, "mvin2(&B[k][j]", "mvin2(&B[k][0]")
    evaluation = evaluator.evaluate(wrong, stages=("check", "adversarial"))
    assert "with input set 'extremes'" in (evaluation.failure.message if evaluation.failure else "")


def test_each_judgement_draws_anew_and_a_seed_repeats_it(evaluator: SimulatorEvaluator, naive: str) -> None:
    wrong = replaced(naive, "mvout(&C[i][j], c_tile, cols", "mvout(&C[i][j], c_tile, cols - 1")
    first, second = evaluator.evaluate(wrong), evaluator.evaluate(wrong)
    assert first.seed != second.seed
    assert failure(first, "smoke") != failure(second, "smoke")
    again = evaluator.evaluate(wrong, seed=first.seed)
    assert failure(again, "smoke") == failure(first, "smoke")
    assert again.seed == first.seed


def test_cycles_below_the_bound_are_a_fault_of_ours(naive: str) -> None:
    """A machine whose moves take no time at all."""
    machine = isa.load("gemmini")
    claims = dataclasses.replace(WORKLOAD, multiply_accumulates=10**9)
    message = failure(SimulatorEvaluator(machine, claims).evaluate(naive), "bound")
    assert "impossible" in message
    assert "not a merit of the kernel" in message


def test_discipline_finds_rows_and_lanes_never_written(evaluator: SimulatorEvaluator, naive: str) -> None:
    broken = replaced(naive, "mvin2(&B[k][j], b_tile, cols, depth);", "mvin2(&B[k][j], b_tile, cols, depth);")
    broken = replaced(broken, "cols, depth, cols, rows);", "cols, 16, cols, rows);")
    broken = replaced(broken, "compute_preloaded(a_tile, 0xffffffff, depth", "compute_preloaded(a_tile, 0xffffffff, 16")
    evaluation = evaluator.evaluate(broken, stages=("check", "discipline"))
    assert evaluation.failure is not None
    assert "spad" in evaluation.failure.message


REREAD = "    {fence}mvin(&C[0][0], 64, 16, 16);\n    mvout(&C[0][0], 64, 16, 16);\n    fence();\n"


def test_discipline_wants_a_fence_between_a_store_and_a_load_of_the_same_dram(
    evaluator: SimulatorEvaluator, naive: str
) -> None:
    reread = replaced(naive, "    fence();\n", "    {fence}config_ld(18, 1.0f, DIM, 0);\n" + REREAD)
    # "{fence}" occurs twice: the first is where the fence belongs
    good = reread.replace("{fence}", "fence();\n    ", 1).replace("{fence}", "")
    assert evaluator.evaluate(good).correct, evaluator.evaluate(good).failure
    bad = reread.replace("{fence}", "")
    message = failure(evaluator.evaluate(bad), "discipline")
    assert "fence" in message


def test_determinism_finds_dependence_on_what_local_memory_held(evaluator: SimulatorEvaluator, naive: str) -> None:
    broken = replaced(naive, "cols, depth, cols, rows);", "cols, 16, cols, rows);")
    broken = replaced(broken, "compute_preloaded(a_tile, 0xffffffff, depth", "compute_preloaded(a_tile, 0xffffffff, 16")
    evaluation = evaluator.evaluate(broken, stages=("check", "determinism"))
    assert evaluation.failure is not None
    assert "reads what it has not written" in evaluation.failure.message


def test_an_endless_kernel_is_cut_off(evaluator: SimulatorEvaluator, naive: str) -> None:
    endless = replaced(naive, "    fence();\n", "    while (true) {\n    }\n")
    assert "steps" in failure(evaluator.evaluate(endless), "smoke")
