"""Names, positions and wrong parameters of all transformations."""

from __future__ import annotations

import pytest

from autocomp.targets.simulator.transforms import (
    TRANSFORMATIONS,
    NotApplicable,
    Transformation,
    transformation,
)

from .conftest import Prove, apply, facts_of, naive

FENCE_IN_LOOPS = """
void solution(int8_t A[32][64], int8_t B[64][48], int8_t C[32][48]) {
    gemmini_config_ex(WEIGHT_STATIONARY, 0, 0);
    gemmini_config_st(48);
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 3; j++) {
            for (int k = 0; k < 4; k++) {
                gemmini_config_ld(64);
                mvin(&A[i * 16][k * 16], 0, 16, 16);
                gemmini_config_ld(48);
                mvin(&B[k * 16][j * 16], 16, 16, 16);
                fence();
                preload(16, k == 0 ? 0x80000000 : 0xC0000000, 16, 16, 16, 16);
                compute_preloaded(0, 0xffffffff, 16, 16, 16, 16);
            }
            mvout(&C[i * 16][j * 16], 0x80000000, 16, 16);
        }
    }
    fence();
}
"""


def test_fences_in_loops_go_together_where_nothing_that_is_stored_is_loaded(prove: Prove) -> None:
    facts = facts_of(FENCE_IN_LOOPS)
    best = transformation("drop_fence").proposals(facts)[0]
    assert best.parameters == {"loops": True}
    assert best.gain > 0
    prove(apply(facts, ("drop_fence", best.parameters)), 32, 48, 64)


def test_names_are_unique_and_an_unknown_one_gets_the_closest() -> None:
    assert len({item.name for item in TRANSFORMATIONS}) == len(TRANSFORMATIONS)
    with pytest.raises(NotApplicable, match="unknown transformation 'shedule'") as caught:
        transformation("shedule")
    assert caught.value.hint is not None
    assert "did you mean 'schedule'" in caught.value.hint


def test_each_has_a_position_of_its_own() -> None:
    assert len({item.order for item in TRANSFORMATIONS}) == len(TRANSFORMATIONS)


@pytest.mark.parametrize("item", TRANSFORMATIONS, ids=lambda item: item.name)
def test_parameters_of_a_wrong_kind_are_refused(item: Transformation) -> None:
    wrong = {"loops": 3, "loop": 3, "tensors": 3, "fence": "x", "first": 3}
    if item.name == "command_by_command":
        return  # it takes no parameters
    with pytest.raises(NotApplicable):
        item.apply(naive(48, 35, 70), wrong)
