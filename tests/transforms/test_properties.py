"""On any shape, each transformation leaves the results as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.kernel import print_kernel
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.transforms import Facts, NotApplicable, analyse, candidates_of
from autocomp.targets.simulator.transforms.registry import TRANSFORMATIONS
from autocomp.workload import parse as parse_workload

from .conftest import PROOF, apply, machine

Step = tuple[str, Mapping[str, Any]]

GEMM = "operation: gemm\naccelerator: {}\ndims: {{I: {}, J: {}, K: {}}}\n"
CONVOLUTION = (
    "operation: conv2d\naccelerator: gemmini\ndims: {{N: 1, H: {}, W: {}, C: {}, K: {}, R: 3, S: 3}}\npadding: {}"
)
SIDES, SMALL = st.integers(1, 40), st.integers(1, 12)
WORKLOADS = st.one_of(
    st.builds(GEMM.format, st.sampled_from(["gemmini", "tiny"]), SIDES, SIDES, SIDES),
    st.builds((GEMM + "dtype: float32\nbias: row\n").format, st.just("gemmini:fp32"), SMALL, SMALL, SMALL),
    st.builds(CONVOLUTION.format, *(st.integers(3, 8),) * 2, *(st.integers(1, 20),) * 2, st.integers(0, 1)),
)
CHOICE = st.floats(0, 1, exclude_max=True)


def follow(facts: Facts, choices: Sequence[tuple[float, float]]) -> tuple[Facts, list[Step]]:
    """The facts after options, and these. Each is chosen by two numbers below 1: the first one from a place among all
    options on that has proposals, and one of these. Dropping one fence is not among them: whether it is needed is for
    the memory discipline to say."""
    steps: list[Step] = []
    for option, candidate in choices:
        place = int(option * len(TRANSFORMATIONS))
        for item in (*TRANSFORMATIONS[place:], *TRANSFORMATIONS[:place]):
            proposed = candidates_of(item, facts)
            if proposed and "fence" not in proposed[0].parameters:
                break
        else:
            break
        step = (item.name, proposed[int(candidate * len(proposed))].parameters)
        try:
            facts = apply(facts, step)
        except NotApplicable:
            continue
        steps.append(step)
    return facts, steps


@settings(max_examples=3, deadline=None)
@given(WORKLOADS, st.lists(st.tuples(CHOICE, CHOICE), max_size=2))
def test_options_in_any_order_leave_the_results(text: str, choices: list[tuple[float, float]]) -> None:
    leave_the_results(text, choices)


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(WORKLOADS, st.lists(st.tuples(CHOICE, CHOICE), max_size=5))
def test_many_options_in_any_order_leave_the_results(text: str, choices: list[tuple[float, float]]) -> None:
    leave_the_results(text, choices)


def leave_the_results(text: str, choices: Sequence[tuple[float, float]]) -> None:
    workload = parse_workload(text, Path("workload.yaml"))
    accelerator = machine(workload.accelerator)
    naive_kernel = kernel.parse(starting_kernel(workload, accelerator))
    facts, steps = follow(analyse(naive_kernel, accelerator, workload.constants), choices)
    found = SimulatorEvaluator(accelerator, workload).evaluate(print_kernel(facts.written), stages=PROOF)
    assert found.correct, f"{found.failure}\n{text}\n{steps}"
