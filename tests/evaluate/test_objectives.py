"""Energy and the product of energy and cycles as what kernels are measured by."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autocomp import workload
from autocomp.data import data_dir
from autocomp.errors import ConfigError
from autocomp.targets.protocol import Target
from autocomp.targets.registry import load_target, restore_target

TABLE = "  energy { mac: 100; tiles.byte: 10; sums.byte: 20; dram.byte: 1000; cycle: 5; }\n}\n"


@pytest.fixture
def target(tmp_path: Path) -> Target:
    text = (data_dir("isa") / "tiny.isa").read_text().rstrip()
    (tmp_path / "costly.isa").write_text(text[:-1].replace("accelerator tiny", "accelerator costly") + TABLE)
    return load_target("simulator:costly", {}, [tmp_path])


def test_each_objective_measures_the_same_run_and_has_a_bound_below_it(target: Target) -> None:
    problem = workload.load("tiny_gemm_edges", ())
    kernel = target.starting_kernel(problem)
    found = {name: target.pursuing(name).evaluator(problem).evaluate(kernel) for name in target.objectives}
    assert all(evaluation.correct for evaluation in found.values())
    cycles, energy, product = (found[name].value for name in ("cycles", "energy", "edp"))
    assert cycles is not None
    assert energy is not None
    assert product == pytest.approx(cycles * energy)
    assert found["energy"].evidence.figures["cycles"] == found["edp"].evidence.figures["cycles"] == cycles
    assert found["cycles"].evidence.figures["nJ"] == energy
    parts = {k: v for k, v in found["cycles"].evidence.figures.items() if k.startswith("nJ_")}
    assert sum(parts.values()) == pytest.approx(energy)
    for evaluation in found.values():
        assert evaluation.ratio is not None
        assert 0 < evaluation.ratio < 1
    bound = found["energy"].bound
    assert bound is not None
    assert bound.parts["mac"] == problem.multiply_accumulates * 100 / 1000


def test_schedules_are_offered_by_what_they_measure_in_the_objective(target: Target) -> None:
    problem = workload.load("tiny_gemm_edges", ())
    kernel = target.starting_kernel(problem)
    saving = target.pursuing("energy")
    first = saving.transformations.proposals("schedule", kernel, problem)[0]
    scheduled = saving.transformations.apply("schedule", kernel, problem, first.parameters)
    assert first.reason.endswith(" nJ when it was run")
    assert saving.evaluator(problem).evaluate(scheduled).value == pytest.approx(first.result)
    fast = target.transformations.proposals("schedule", kernel, problem)[0]
    fastest = target.transformations.apply("schedule", kernel, problem, fast.parameters)
    assert first.result <= (saving.evaluator(problem).evaluate(fastest).value or 0.0)


def test_a_run_folder_brings_the_objective_back(target: Target) -> None:
    changed = target.pursuing("energy")
    again = restore_target("simulator", changed.snapshot())
    assert (again.objective, again.digest, again.scheduled) == (changed.objective, changed.digest, False)
    assert again.digest != target.digest
    assert target.scheduled


@pytest.mark.parametrize(
    ("machine", "objective", "message"),
    [("tiny", "energy", "states no energies"), ("vta", "watts", "unknown objective 'watts'")],
)
def test_an_objective_that_there_is_not_is_refused(machine: str, objective: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_target(f"simulator:{machine}").pursuing(objective)


def test_less_energy_than_any_kernel_needs_is_never_a_result(target: Target) -> None:
    problem = replace(workload.load("tiny_add", ()), multiply_accumulates=40_000)
    kernel = problem.starting_kernel
    assert kernel is not None
    assert target.evaluator(problem).evaluate(kernel).correct
    judged = target.pursuing("energy").evaluator(problem).evaluate(kernel)
    assert judged.failure is not None
    assert (judged.failure.stage, "that is impossible" in judged.failure.message) == ("bound", True)


def test_a_host_that_computes_has_no_energy_to_search_for(target: Target) -> None:
    problem = replace(workload.load("tiny_gemm_edges", ()), host="compute")
    with pytest.raises(ConfigError, match="nothing states the energy of its arithmetic"):
        target.pursuing("energy").evaluator(problem)
