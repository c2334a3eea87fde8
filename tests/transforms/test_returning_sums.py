"""Schedules in which sums wait in DRAM between parts of a reduction."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.transforms import Facts, NotApplicable, applied, transformation
from autocomp.targets.simulator.transforms.legality import value
from autocomp.targets.simulator.transforms.nests.schedule import raised_of
from autocomp.targets.simulator.transforms.protocol import Parameters
from autocomp.targets.simulator.transforms.scheduling.choose import Ranked, in_parts
from autocomp.targets.simulator.transforms.scheduling.raised import as_data, from_data
from autocomp.workload import parse as parse_workload

from .conftest import PROOF, Prove, facts_of, machine, naive

# Five rows of eight tiles stay while the columns of the right operand pass; three blocks of sums have places.
STAYS: Parameters = {
    "ahead": ["right"],
    "block": {"i": 5, "j": 1, "k": 8},
    "deferred": True,
    "early": 8,
    "inner": ["k", "j", "i"],
    "level": {"left": 1, "right": 3},
    "order": ["i", "j", "k"],
    "turns": 3,
}
# Blocks of 4 x 4 tiles of sums, which load all of their operands.
SQUARE: Parameters = {
    "ahead": ["left", "right"],
    "block": {"i": 4, "j": 4, "k": 4},
    "inner": ["k", "j", "i"],
    "order": ["i", "j", "k"],
}


def scheduled(facts: Facts, parameters: Parameters) -> Facts:
    return applied(transformation("schedule"), facts, parameters)


@pytest.mark.parametrize(("shape", "returns"), [((20, 8, 64), 1), ((23, 9, 70), 2)])
def test_a_reduction_in_parts_is_the_same_sum(prove: Prove, shape: tuple[int, int, int], returns: int) -> None:
    facts = scheduled(naive(*shape, "tiny"), {**STAYS, "returns": returns})
    assert prove(facts, *shape, "tiny")


def test_biases_start_the_first_part() -> None:
    text = "operation: gemm\naccelerator: tiny\ndims: {I: 20, J: 8, K: 64}\nbias: row\nactivation: relu\n"
    workload = parse_workload(text, Path("gemm.yaml"))
    facts = facts_of(starting_kernel(workload, machine("tiny")), "tiny")
    written = kernel.print_kernel(scheduled(facts, {**STAYS, "returns": 1}).written)
    assert SimulatorEvaluator(machine("tiny"), workload).evaluate(written, stages=PROOF).correct


def test_an_operand_that_stays_is_loaded_once_for_all_columns() -> None:
    facts = naive(60, 64, 64, "tiny")
    assert (value(scheduled(facts, {**STAYS, "returns": 1})) or 0) < 0.9 * (value(scheduled(facts, SQUARE)) or 0)


def test_the_part_that_is_estimated_is_as_deep_as_the_first_one() -> None:
    given = raised_of(naive(8, 8, 44, "tiny"))
    division = from_data({"returns": 1}, given.computation)
    assert given.model.divided(division).computation.extents["k"] == 24


def test_parts_are_tried_where_products_wait_for_operands() -> None:
    model = raised_of(naive(8, 8, 64, "tiny")).model
    square = from_data(SQUARE, model.computation)
    best, *_ = in_parts(model, Ranked(square, float("inf")))
    assert as_data(best.schedule)["returns"] == 1
    assert not in_parts(model, Ranked(square, 1.0))


def test_a_machine_has_to_load_sums_as_it_stores_them() -> None:
    with pytest.raises(NotApplicable, match="no moves store sums as they are and load them again"):
        scheduled(naive(16, 16, 32), {"returns": 1})


def test_every_part_has_a_tile_of_the_reduction() -> None:
    with pytest.raises(NotApplicable, match="the reduction does not have 4 parts of whole tiles"):
        scheduled(naive(8, 8, 8, "tiny"), {"returns": 3})


def test_a_kernel_with_returning_sums_says_what_to_schedule() -> None:
    facts = scheduled(naive(20, 8, 64, "tiny"), {**STAYS, "returns": 1})
    with pytest.raises(NotApplicable, match="schedule the kernel that it was made from"):
        raised_of(facts)
