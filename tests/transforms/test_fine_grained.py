"""Small products with the host in the loop: signs change on the way out, fences go where nothing needs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp.targets.evaluation import Evaluation
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.transforms import Facts, NotApplicable, analyse, transformation
from autocomp.workload import load

from .conftest import PROOF, apply

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
    (proposal,) = transformation("negate_on_store").proposals(facts_of(name, given(name)))
    changed = kernel.print_kernel(apply(facts_of(name, given(name)), ("negate_on_store", proposal.parameters)).kernel)
    assert "= -u" not in changed
    assert judged(name, changed).correct
    assert (judged(name, changed).value or 0) < (judged(name, given(name)).value or 0)


def test_a_sign_that_something_else_has_seen_stays() -> None:
    text = given("tinympc_control").replace("fence();", "fence(); const float seen = u[0][0];", 1)
    with pytest.raises(NotApplicable, match="used between"):
        transformation("negate_on_store").apply(facts_of("tinympc_control", text), {"tensor": "u"})


def test_part_of_a_store_is_not_negated_by_it() -> None:
    text = given("tinympc_control").replace("j < 4", "j < 3")
    with pytest.raises(NotApplicable, match="moves 4 elements"):
        transformation("negate_on_store").apply(facts_of("tinympc_control", text), {"tensor": "u"})


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
    steps = (("negate_on_store", {"tensor": "u"}), ("drop_fence", {"fence": 0}))
    facts = apply(facts_of("tinympc_forward", given("tinympc_forward")), *steps)
    failure = judged("tinympc_forward", kernel.print_kernel(facts.kernel)).failure
    assert failure is not None
    assert failure.stage == "discipline"
    assert "put a fence between them" in failure.message


@pytest.mark.parametrize("name", ["tinympc_control", "tinympc_forward", "tinympc_backward"])
def test_the_kernels_written_by_hand_are_right(name: str) -> None:
    found = judged(name, (KERNELS / f"{name}.c").read_text())
    assert found.correct, found.failure
    assert (found.value or 0) < 0.6 * (judged(name, given(name)).value or 0)
