"""Small products with the host in the loop: signs change on the way out, fences go where nothing needs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp.targets.evaluation import Evaluation
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.transforms import Facts, analyse, transformation
from autocomp.workload import load

from .conftest import PROOF, apply, stepped

KERNELS = Path(__file__).parents[2] / "benchmarks" / "kernels"


def judged(name: str, text: str) -> Evaluation:
    workload = load(name)
    return SimulatorEvaluator(isa.load(workload.accelerator), workload).evaluate(text, stages=PROOF)


def given(name: str) -> str:
    workload = load(name)
    return starting_kernel(workload, isa.load(workload.accelerator))


def facts_of(name: str, text: str) -> Facts:
    workload = load(name)
    return analyse(kernel.parse(text), isa.load(workload.accelerator), workload.constants)


@pytest.mark.parametrize("name", ["tinympc_control", "tinympc_forward"])
def test_the_store_negates_instead_of_the_host(name: str) -> None:
    facts = facts_of(name, given(name))
    changed = kernel.print_kernel(stepped(facts, "negate_on_store").given)
    assert " = -u" in kernel.print_kernel(stepped(facts).given)
    assert " = -u" not in changed
    assert judged(name, changed).correct
    assert (judged(name, changed).value or 0) < (judged(name, given(name)).value or 0)


@pytest.mark.parametrize(("given_text", "other"), [("fence();", "fence(); d[0][0] = u[0][0];"), ("j < 4", "j < 3")])
def test_a_sign_that_something_else_has_seen_or_of_a_part_stays(given_text: str, other: str) -> None:
    facts = facts_of("tinympc_control", given("tinympc_control").replace(given_text, other, 1))
    assert stepped(facts, "negate_on_store").digest == stepped(facts).digest


def test_a_fence_that_orders_nothing_goes() -> None:
    text = given("tinympc_control").replace("mvin2(d,", "fence(); mvin2(d,")
    facts = facts_of("tinympc_control", text)
    proposed = transformation("drop_fence").proposals(facts)
    faster = judged("tinympc_control", kernel.print_kernel(apply(facts, ("drop_fence", {"fence": 0})).kernel))
    assert [proposal.parameters for proposal in proposed] == [{"fence": 0}], "the other one is needed"
    needed = judged("tinympc_control", kernel.print_kernel(apply(facts, ("drop_fence", {"fence": 1})).kernel)).failure
    assert needed is not None
    assert needed.stage == "discipline"
    assert faster.correct
    assert (faster.value or 0) < (judged("tinympc_control", text).value or 0)


def test_the_memory_discipline_refutes_dropping_a_fence_that_is_needed() -> None:
    negated = stepped(facts_of("tinympc_forward", given("tinympc_forward")), "negate_on_store")
    facts = apply(negated, ("drop_fence", {"fence": 0}))
    failure = judged("tinympc_forward", kernel.print_kernel(facts.kernel)).failure
    assert failure is not None
    assert failure.stage == "discipline"
    assert "put a fence between them" in failure.message


@pytest.mark.parametrize("name", ["tinympc_control", "tinympc_forward", "tinympc_backward"])
def test_the_kernels_written_by_hand_are_right(name: str) -> None:
    found = judged(name, (KERNELS / f"{name}.c").read_text())
    assert found.correct, found.failure
    assert (found.value or 0) < 0.6 * (judged(name, given(name)).value or 0)
