"""On any shape, each transformation leaves the results as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.kernel import print_kernel
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.transforms import Facts, NotApplicable, analyse
from autocomp.targets.simulator.transforms.registry import TRANSFORMATIONS
from autocomp.workload import parse as parse_workload

from .conftest import PROOF, Prove, apply, facts_of, machine, naive, with_best

Step = tuple[str, Mapping[str, Any]]

ROWS_OF_TILES = ("keep_accumulator", {"loops": {"i": 3, "j": 2}, "stage": {"k": 4}})

# What has to come before, by transformation, as it is best or with parameters; then its own best candidate is applied.
BEFORE: dict[str, tuple[str | Step, ...]] = {
    "keep_accumulator": (),
    "stage_operand": (),
    "tile": (),
    "reorder": (),
    "collapse": (),
    "split": (),
    "unroll": (),
    "simplify": (),
    "widen_moves": ("keep_accumulator",),
    "place_in_banks": ("keep_accumulator",),
    "double_buffer": ("keep_accumulator",),
    "reuse_weights": (ROWS_OF_TILES,),
    "prefetch": ("keep_accumulator", "widen_moves"),
    "load_at_first_use": ("keep_accumulator", "stage_operand"),
    "defer_stores": ("keep_accumulator", "prefetch"),
    "fuse": ("stage_operand",),
}


def prepared(name: str, rows: int, cols: int, depth: int) -> Facts:
    facts = naive(rows, cols, depth)
    for earlier in BEFORE[name]:
        facts = with_best(facts, earlier) if isinstance(earlier, str) else if_possible(facts, earlier)
    return facts


def if_possible(facts: Facts, step: Step) -> Facts:
    try:
        return apply(facts, step)
    except NotApplicable:
        return facts


@pytest.mark.parametrize("name", BEFORE)
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 80), st.integers(1, 80), st.integers(1, 80))
def test_results_are_unchanged(prove: Prove, name: str, rows: int, cols: int, depth: int) -> None:
    facts = prepared(name, rows, cols, depth)
    prove(with_best(facts, name), rows, cols, depth)


# Analysing a kernel simplifies it already, so there is nothing left for `simplify` here.
@pytest.mark.parametrize("name", [name for name in BEFORE if name != "simplify"])
def test_the_property_is_not_empty(name: str) -> None:
    facts = prepared(name, 96, 80, 64)
    assert with_best(facts, name).kernel != facts.kernel


# Each of these was once applied, and changed the results.
REFUSED: list[tuple[tuple[int, int, int], tuple[Step, ...], Step]] = [
    (
        (17, 33, 65),
        (
            ("stage_operand", {"tensors": ["A", "B"], "loop": "", "wide": True}),
            ("load_at_first_use", {"tensors": ["A", "B"]}),
        ),
        ("stage_operand", {"tensors": ["A"], "loop": "i"}),
    ),
    (
        (100, 70, 30),
        (
            ("stage_operand", {"tensors": ["A", "B"], "loop": "", "wide": True}),
            ("keep_accumulator", {"loops": {"i": 2, "j": 3}}),
            ("reuse_weights", {"loop": "i"}),
        ),
        ("reorder", {"loops": ["i", "j"]}),
    ),
    (
        (50, 48, 48),
        (
            ("keep_accumulator", {"loops": {"i": 1, "j": 2}, "stage": {"k": 3}}),
            ("split", {"loop": "k", "peel": 1}),
        ),
        ("fuse", {"loop": "j", "with": "k"}),
    ),
    (
        (19, 20, 48),
        (("stage_operand", {"tensors": ["A", "B"], "loop": "k_block", "wide": True, "split": {"k": 2}}),),
        ("keep_accumulator", {"loops": {"i": 1, "j": 2}}),
    ),
    (
        (96, 64, 48),
        (
            ("stage_operand", {"tensors": ["A", "B"], "loop": "", "wide": True}),
            ("unroll", {"loop": "i", "factor": 2}),
        ),
        ("defer_stores", {"loop": "j", "spacing": 2}),
    ),
    ((39, 74, 23), (("unroll", {"loop": "k", "factor": 2}),), ("prefetch", {"loops": ["j"], "spacing": 0})),
    (
        (17, 33, 65),
        (
            ("stage_operand", {"tensors": ["A", "B"], "loop": "i", "wide": True}),
            ("prefetch", {"loops": ["i"], "spacing": 0}),
        ),
        ("keep_accumulator", {"loops": {"i": 2, "j": 1}}),
    ),
    (
        (64, 7, 40),
        (("collapse", {"loops": ["i", "k"]}), ("unroll", {"loop": "step", "factor": 4})),
        ("double_buffer", {"tensors": ["C"], "apart": "rows"}),
    ),
    (
        (66, 32, 124),
        (
            ("keep_accumulator", {"loops": {"i": 2, "j": 2}, "stage": {"k": 4}}),
            ("collapse", {"loops": ["i_block", "k_block"]}),
        ),
        ("stage_operand", {"tensors": ["A"], "loop": "", "wide": True}),
    ),
    (
        (64, 64, 64),
        (
            ("keep_accumulator", {"loops": {"i": 4, "j": 4}, "stage": {"k": 1}}),
            ("prefetch", {"loops": ["k"], "spacing": 0}),
        ),
        ("reorder", {"loops": ["i", "k"]}),
    ),
    (
        (128, 48, 16),
        (
            ("stage_operand", {"tensors": ["A", "B"], "loop": "i_block", "wide": True, "split": {"i": 4}}),
            ("prefetch", {"loops": ["i_block"], "spacing": 0}),
        ),
        ("reorder", {"loops": ["i", "i_block"]}),
    ),
    (
        (128, 48, 16),
        (
            ("stage_operand", {"tensors": ["A"], "loop": "i_block", "wide": True, "split": {"i": 2}}),
            ("stage_operand", {"tensors": ["B"], "loop": "", "wide": True}),
            ("defer_stores", {"loop": ["i", "j"], "spacing": 0}),
            ("prefetch", {"loops": ["i_block"], "spacing": 0}),
        ),
        ("reuse_weights", {"loop": "step"}),
    ),
    (
        (192, 144, 24),
        (
            ("keep_accumulator", {"loops": {"i": 2, "j": 3}, "stage": {"k": 2}}),
            ("stage_operand", {"tensors": ["A"], "loop": "i_block_block", "wide": True, "split": {"i_block": 2}}),
            ("defer_stores", {"loop": ["i_block", "j_block"], "spacing": 0}),
        ),
        ("prefetch", {"loops": ["i_block_block", "step"], "spacing": 0}),
    ),
    (
        (1, 1, 20),
        (("stage_operand", {"tensors": ["A"], "loop": "", "wide": True}), ("unroll", {"loop": "k", "factor": 2})),
        ("place_in_banks", {"memory": "spad"}),
    ),
]


@pytest.mark.parametrize(("shape", "before", "step"), REFUSED, ids=[step[0] for _, _, step in REFUSED])
def test_what_would_change_the_results_is_refused(
    shape: tuple[int, int, int], before: tuple[Step, ...], step: Step
) -> None:
    facts = apply(naive(*shape), *before)
    with pytest.raises(NotApplicable):
        apply(facts, step)


# Each of these once changed the results, and no longer does.
RIGHT: list[tuple[tuple[int, int, int], tuple[Step, ...]]] = [
    (
        (3, 30, 70),
        (
            ("stage_operand", {"tensors": ["A", "B"], "loop": "j", "wide": True}),
            ("fuse", {"loop": "k", "with": "k"}),
            ("keep_accumulator", {"loops": {"j": 2}}),
        ),
    ),
    (
        (1, 70, 100),
        (
            ("keep_accumulator", {"loops": {"j": 5}}),
            ("stage_operand", {"tensors": ["A"], "loop": "", "wide": True}),
            ("stage_operand", {"tensors": ["B"], "loop": "k", "wide": True}),
            ("prefetch", {"loops": ["k"]}),
        ),
    ),
]


@pytest.mark.parametrize(("shape", "steps"), RIGHT, ids=[steps[-1][0] for _, steps in RIGHT])
def test_what_once_changed_the_results_leaves_them(
    prove: Prove, shape: tuple[int, int, int], steps: tuple[Step, ...]
) -> None:
    prove(apply(naive(*shape), *steps), *shape)


@pytest.mark.parametrize("loops", [["i", "j", "k"], ["j", "k"], ["k"]])
def test_a_bias_stays_in_its_block_when_operands_are_prefetched(loops: list[str]) -> None:
    workload = parse_workload(
        "operation: gemm\naccelerator: gemmini\ndims: {I: 48, J: 40, K: 50}\nbias: row\nactivation: relu\n",
        Path("gemm.yaml"),
    )
    facts = facts_of(starting_kernel(workload, machine()))
    text = print_kernel(apply(facts, ("prefetch", {"loops": loops, "spacing": 0})).kernel)
    found = SimulatorEvaluator(machine(), workload).evaluate(text, stages=PROOF)
    assert found.correct, found.failure


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
    """The facts after options, each chosen among all proposals by two numbers below 1, and these options. Dropping
    one fence is not among them: whether it is needed is for the memory discipline to say."""
    steps: list[Step] = []
    for option, candidate in choices:
        proposed = {item.name: list(item.candidates(facts)) for item in TRANSFORMATIONS}
        moves = [(name, found) for name, found in proposed.items() if found and "fence" not in found[0].parameters]
        if not moves:
            break
        name, found = moves[int(option * len(moves))]
        step = (name, found[int(candidate * len(found))].parameters)
        try:
            facts = apply(facts, step)
        except NotApplicable:
            continue
        steps.append(step)
    return facts, steps


def test_results_start_from_zeros_in_every_tile_of_a_block() -> None:
    workload = parse_workload(CONVOLUTION.format(3, 3, 1, 1, 1), Path("conv.yaml"))
    facts = facts_of(starting_kernel(workload, machine()))
    text = print_kernel(apply(facts, ("keep_accumulator", {"loops": {"p": 3}})).kernel)
    found = SimulatorEvaluator(machine(), workload).evaluate(text, stages=PROOF)
    assert found.correct, found.failure


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(WORKLOADS, st.lists(st.tuples(CHOICE, CHOICE), max_size=5))
def test_any_options_in_any_order_leave_the_results(text: str, choices: list[tuple[float, float]]) -> None:
    workload = parse_workload(text, Path("workload.yaml"))
    accelerator = machine(workload.accelerator)
    naive_kernel = kernel.parse(starting_kernel(workload, accelerator))
    facts, steps = follow(analyse(naive_kernel, accelerator, workload.constants), choices)
    found = SimulatorEvaluator(accelerator, workload).evaluate(print_kernel(facts.kernel), stages=PROOF)
    assert found.correct, f"{found.failure}\n{text}\n{steps}"


BIASES = st.sampled_from(["none", "row", "full"])
BLOCKED = ("keep_accumulator", "widen_moves", "defer_stores", "prefetch")


@settings(max_examples=3, deadline=None)
@given(st.integers(1, 80), st.integers(1, 80), st.integers(1, 16), BIASES)
def test_results_of_a_reduction_in_one_step_are_blocked_as_others_are(
    rows: int, cols: int, depth: int, bias: str
) -> None:
    workload = parse_workload(GEMM.format("gemmini", rows, cols, depth) + f"bias: {bias}\n", Path("gemm.yaml"))
    facts = facts_of(starting_kernel(workload, machine()))
    for name in BLOCKED:
        facts = with_best(facts, name)
    found = SimulatorEvaluator(machine(), workload).evaluate(print_kernel(facts.kernel), stages=PROOF)
    assert found.correct, found.failure


def test_a_reduction_in_one_step_leaves_nothing_of_the_options_out() -> None:
    facts = naive(96, 80, 16)
    for name in BLOCKED:
        changed = with_best(facts, name)
        assert changed.digest != facts.digest, name
        facts = changed


def test_a_reduction_in_one_step_with_other_work_beside_it_is_not_blocked() -> None:
    text = print_kernel(naive(96, 80, 16).kernel).replace("        mvout(", "        fence();\n        mvout(")
    with pytest.raises(NotApplicable, match="does more than load, compute and store"):
        apply(facts_of(text), ("keep_accumulator", {"loops": {"i": 2}}))


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(17, 80), st.integers(17, 80), st.integers(17, 80))
def test_hoisting_configurations_leaves_the_results(prove: Prove, rows: int, cols: int, depth: int) -> None:
    lines = print_kernel(naive(rows, cols, depth).kernel).splitlines()
    moves = [line for line in lines if line.strip().startswith(("config_ld", "config_st"))]
    calls = [index for index, line in enumerate(lines) if line.strip().startswith("mvin(")]
    inside = [line for line in lines[: calls[0]] if line not in moves] + moves + lines[calls[0] :]
    facts = facts_of("\n".join(inside))
    hoisted = apply(facts, ("hoist", {}))
    assert hoisted.kernel != facts.kernel
    prove(hoisted, rows, cols, depth)


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 30))
def test_the_same_transformations_hold_on_a_machine_with_semaphores(
    prove: Prove, rows: int, cols: int, depth: int
) -> None:
    facts = naive(rows, cols, depth, "tiny")
    for name in ("keep_accumulator", "hoist", "prefetch"):
        facts = with_best(facts, name)
    prove(facts, rows, cols, depth, "tiny")
