"""Kernels on the hardware: what it confirms, what it refutes, and what cannot be told."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from autocomp import workload
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.evaluate.compiled import compile_kernel
from autocomp.targets.simulator.rtl.evaluator import RtlEvaluator
from autocomp.targets.simulator.rtl.model.build import RtlModel, use_for
from autocomp.targets.simulator.start.naive import starting_kernel

from .conftest import COPIER

pytestmark = pytest.mark.rtl
SHIFT = (COPIER / "shift.c").read_text()


def gemm(folder: Path, dims: str, *options: str) -> Path:
    path = folder / "gemm.yaml"
    path.write_text("\n".join(["operation: gemm", "accelerator: quad", f"dims: {dims}", *options]))
    return path


def shift_on(model: RtlModel, description: Path = COPIER / "copier.isa") -> RtlEvaluator:
    return RtlEvaluator(isa.load(description), workload.load(str(COPIER / "shift.yaml"), (COPIER,)), model)


@pytest.fixture
def autocomp(rtl_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    from autocomp.cli.entry import autocomp as command

    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(command, [str(a) for a in arguments], prog_name="autocomp")


@pytest.mark.parametrize(
    ("dims", "options"),
    [
        ("{I: 20, J: 28, K: 13}", ()),
        ("{I: 3, J: 5, K: 9}", ("activation: relu", "scale: 0.0625", "bias: row")),
    ],
)
def test_a_naive_kernel_is_confirmed_within_a_percent(
    quad: RtlModel, tmp_path: Path, dims: str, options: tuple[str, ...]
) -> None:
    problem = workload.load(str(gemm(tmp_path, dims, *options)))
    evaluator = RtlEvaluator(isa.load("quad"), problem, quad)
    evaluation = pickle.loads(pickle.dumps(evaluator)).evaluate(starting_kernel(problem, evaluator.accelerator))
    assert evaluation.correct, evaluation.stages[-1].message
    assert evaluation.stages[-1].stage == "rtl"
    simulated = evaluator.simulator.evaluate(starting_kernel(problem, evaluator.accelerator)).value
    assert evaluation.value == pytest.approx(simulated, rel=0.01)


def test_a_description_that_is_not_the_hardwares_is_refuted(copier: RtlModel, tmp_path: Path) -> None:
    lying = tmp_path / "copier.isa"
    lying.write_text((COPIER / "copier.isa").read_text().replace("src.i8[c] + amount", "src.i8[c] + amount + 1"))
    assert shift_on(copier).confirm(SHIFT).status == "passed"
    found = shift_on(copier, lying).confirm(SHIFT.replace("3", "2"))
    assert found.status == "failed"
    assert "64 of 64 elements of y are wrong" in found.message


def test_a_kernel_whose_own_code_writes_results_cannot_be_confirmed(copier: RtlModel) -> None:
    by_the_host = SHIFT.replace("i = 0;", "i = 16;").replace("fence();", "y[0] = (int8_t)(x[0] + 3); fence();")
    found = shift_on(copier).confirm(by_the_host)
    assert (found.status, found.cycles) == ("skipped", None)
    assert "own code writes" in found.message


def test_arrays_of_the_kernels_own_lie_in_the_memory_behind_the_hardware(copier: RtlModel) -> None:
    by_way_of_its_own = """
    void solution(int8_t x[64], int8_t y[64]) {
        static int8_t between[64];
        for (int i = 0; i < 64; i += 16) copy(&x[i], &between[i], 1);
        fence();
        for (int i = 0; i < 64; i += 16) copy(&between[i], &y[i], 2);
    }"""
    found = shift_on(copier).confirm(by_way_of_its_own)
    assert (found.status, found.error) == ("passed", shift_on(copier).confirm(by_way_of_its_own).error), found.message


def test_own_arrays_start_with_their_initial_values() -> None:
    problem, machine = workload.load(str(COPIER / "shift.yaml"), (COPIER,)), isa.load(COPIER / "copier.isa")
    text = SHIFT.replace("for", "static int32_t n[2][2] = {{1, 2}, {3}}; static int8_t empty[3]; for", 1)
    arrays = compile_kernel(text, problem, machine, isa.lower(machine), "kernel.c").own_arrays()
    assert [(array.dtype, array.tolist()) for array in arrays.values()] == [
        (np.int32, [[1, 2], [3, 0]]),
        (np.int8, [0, 0, 0]),
    ]


def test_reads_beyond_the_tensors_are_reported_and_not_fatal(copier: RtlModel, tmp_path: Path) -> None:
    """The description says that the result is a constant; the hardware reads its source for it, which is elsewhere."""
    silent = tmp_path / "copier.isa"
    text = (COPIER / "copier.isa").read_text().replace("src.i8[c] + amount", "amount - 91")  # 0xA5, as guard memory has
    silent.write_text(text)
    (tmp_path / "fill.py").write_text("import numpy as np\ndef fill(x): return {'y': np.full(64, -88, np.int8)}\n")
    (tmp_path / "fill.yaml").write_text((COPIER / "shift.yaml").read_text().replace("shift", "fill"))
    (tmp_path / "fill.c").write_text(SHIFT.replace("&x[i]", "x + 64 + i"))
    problem = workload.load(str(tmp_path / "fill.yaml"), (tmp_path,))
    found = RtlEvaluator(isa.load(silent), problem, copier).confirm((tmp_path / "fill.c").read_text())
    assert found.status == "passed", found.message
    assert "4 requests that read beyond the tensors, the first 0 bytes after the end of x" in found.message


def test_a_kernel_that_is_wrong_is_not_tried(copier: RtlModel) -> None:
    evaluation = shift_on(copier).evaluate(SHIFT.replace("3", "4"))
    assert evaluation.stages[-1].status == "skipped"
    assert evaluation.value is None


def test_a_command_names_the_machine_without_a_model(autocomp: Callable[..., Result], tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.c"
    kernel.write_text("void solution() {}")
    done = autocomp("run", kernel, "--workload", "gemm_512", "--evaluator", "rtl")
    assert done.exit_code == 3
    assert "no RTL model of gemmini" in done.stderr


def test_a_search_confirms_its_best_kernels(quad: RtlModel, autocomp: Callable[..., Result], tmp_path: Path) -> None:
    use_for("quad", quad)
    problem = gemm(tmp_path, "{I: 12, J: 12, K: 12}")
    budget = ("--workers", 1, "--evaluations", 12, "--plans", 3, "--no-cache")
    done = autocomp("search", problem, "--confirm", "rtl", "--json", "--run-dir", tmp_path / "run", *budget)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    confirmed = found["confirmation"]
    assert len({entry["kernel"] for entry in confirmed}) == len(confirmed) == 3
    assert confirmed[0]["simulated_cycles"] == found["best_cycles"]
    assert all(entry["status"] == "passed" for entry in confirmed)
    assert all(abs(entry["error"]) < 0.05 for entry in confirmed)
