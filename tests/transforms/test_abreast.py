"""Schedules in which tiles of short rows come abreast in one move."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.transforms import Facts, NotApplicable, applied, transformation
from autocomp.targets.simulator.transforms.legality import value
from autocomp.targets.simulator.transforms.nests.schedule import raised_of
from autocomp.targets.simulator.transforms.protocol import Parameters
from autocomp.targets.simulator.transforms.scheduling.choose import ranked, side_by_side
from autocomp.targets.simulator.transforms.scheduling.raised import as_data, from_data

from .conftest import PROOF, evaluator, naive
from .convolutions import convolution
from .convolutions import naive as naive_convolution

ABREAST: Parameters = {
    "abreast": 4,
    "ahead": ["left", "right"],
    "block": {"i": 1, "i_turn": 4, "j": 1, "k": 1},
    "deferred": True,
    "inner": ["k", "j", "i_turn", "i"],
    "kept": True,
    "order": ["i", "i_turn", "j", "k"],
}


def scheduled(facts: Facts, parameters: Parameters) -> Facts:
    return applied(transformation("schedule"), facts, parameters)


def test_four_rows_of_results_leave_in_one() -> None:
    text = kernel.print_kernel(scheduled(naive(128, 16, 16), ABREAST).written)
    assert "mvout(&C[64][0], 0x80000200, 64, 16);" in text


def test_short_rows_wait_for_memory_once_for_four() -> None:
    facts = naive(1024, 16, 16)
    usual = {name: decision for name, decision in ABREAST.items() if name != "abreast"}
    usual = {**usual, "block": {"i": 4, "j": 1, "k": 1}, "inner": ["k", "j", "i"], "order": ["i", "j", "k"]}
    assert (value(scheduled(facts, ABREAST)) or 0) < 0.7 * (value(scheduled(facts, usual)) or 0)


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 40), st.integers(2, 4), st.integers(1, 40), st.integers(1, 40), st.integers(0, 8))
@example(16, 4, 16, 16, 0)
@example(7, 2, 32, 16, 3)
def test_rows_that_take_turns_are_the_same_rows(rows: int, tiles: int, columns: int, depth: int, number: int) -> None:
    shape = (rows * tiles, columns, depth)
    facts = naive(*shape)
    division = {"abreast": tiles}
    model = raised_of(facts).model.divided(from_data(division, raised_of(facts).computation))
    best = ranked(model)
    schedule = best[number % len(best)].schedule
    written = kernel.print_kernel(scheduled(facts, {**as_data(schedule), **division}).written)
    found = evaluator(*shape).evaluate(written, stages=PROOF)
    assert found.correct, f"{found.failure}\n{written}"


def test_tiles_come_abreast_where_that_takes_less() -> None:
    def found(columns: int, depth: int) -> list[int]:
        model = raised_of(naive(1024, columns, depth)).model
        return [item.schedule.abreast for item in side_by_side(model, ranked(model)[0])[:1]]

    assert found(16, 16) == [4]
    assert found(64, 64) == []


def test_rows_are_shared_out_evenly() -> None:
    with pytest.raises(NotApplicable, match="126 rows are not shared out among 4 tiles"):
        scheduled(naive(126, 16, 16), ABREAST)


def test_rows_of_an_image_that_taps_share_stay_together() -> None:
    facts = naive_convolution(convolution({"N": 1, "H": 8, "W": 10, "C": 16, "K": 16, "R": 1, "S": 3}))
    with pytest.raises(NotApplicable, match="stay together"):
        scheduled(facts, {"abreast": 2})
