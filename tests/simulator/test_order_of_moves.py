"""Orders that only the RTL showed: requests of moves in pass one another, and banks share their adders.

`python -m benchmarks.ordering` draws such programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.rtl.laboratory import Laboratory, laboratory

SETUP = (
    "configure_execute(1, 0, 0, 1.0f, 1, 1, 0, 0, 0);",
    "configure_load(0, 16, 1.0f, 0, 16, 1);",
    "configure_load(1, 64, 1.0f, 0, 16, 1);",
    "configure_store(16, 0, 1.0f, 0, 0, 0, 0, 0, 0, 0, 0, 0);",
    "move_in(0, &b[0], 0x1000, 16, 16);",
    "fence();",
)
FIRST, AGAIN = "move_in(0, &a[0], 0, 16, 9);", "move_in(0, &a[256], 4, 16, 9);"
STORE = "move_out(&c[0], 0x1000, 16, 16);"


@cache
def lab() -> Laboratory:
    return laboratory(isa.load("gemmini"))


def refusals(*commands: str) -> list[str]:
    result = lab().run([*SETUP, *commands], timing=False)
    assert result.error is None, result.error
    return [violation.message for violation in result.violations]


def refused(commands: Sequence[str]) -> bool:
    return any("pass one another" in message for message in refusals(*commands))


def test_two_moves_into_the_same_rows_are_in_order_by_themselves() -> None:
    assert refusals(FIRST, AGAIN) == []


def test_a_move_out_beside_them_takes_the_order_away_whenever_it_comes() -> None:
    assert refused([STORE, FIRST, AGAIN])
    assert refused([FIRST, STORE, AGAIN])
    assert refused([FIRST, AGAIN, STORE])


def test_a_configuration_of_moves_out_sends_no_requests() -> None:
    assert refusals(SETUP[3], FIRST, SETUP[3], AGAIN, SETUP[3]) == []


def test_the_refusal_names_all_three_commands_and_what_to_do() -> None:
    [message] = refusals(FIRST, STORE, AGAIN)
    assert message == (
        "move_in (line 9) writes spad row 4, which move_in (line 7) writes; move_out (line 8) may be under way too, "
        "and requests that wait for the link then pass one another: put a fence between the two, or use other rows"
    )


def test_a_fence_on_either_side_gives_it_back() -> None:
    assert refusals(STORE, "fence();", FIRST, AGAIN) == []
    assert refusals(STORE, FIRST, "fence();", AGAIN) == []
    assert refusals(FIRST, AGAIN, "fence();", STORE) == []


def test_moves_into_different_rows_may_pass() -> None:
    assert refusals(FIRST, "move_in(0, &a[256], 16, 16, 9);", STORE) == []


def test_a_product_that_reads_the_rows_in_between_waits_for_the_first() -> None:
    product = ("preload(0x1000, 0x80000000, 16, 16, 16, 9);", "compute(1, 0, 0xffffffff, 16, 9, 16, 9);")
    assert refusals(STORE, FIRST, *product, AGAIN) == []


def test_sums_that_moves_add_up_need_the_order_too() -> None:
    moves = ("move_in(1, &a[0], 0x80000000, 16, 9);", "move_in(1, &a[1024], 0xc0000000, 16, 9);")
    assert refusals(*moves) == []
    assert refused([STORE, *moves])


def test_a_sum_across_two_requests_would_lose_a_carry() -> None:
    result = lab().run([*SETUP, "move_in(1, &a[0], 0x80000000, 16, 9);", "move_in(1, &a[1026], 0xc0000000, 16, 9);"])
    assert result.error is not None
    assert "loses a carry" in result.error.message


def test_a_product_that_waits_for_other_rows_of_the_first_orders_the_moves_too() -> None:
    product = ("preload(0x1000, 0x80000000, 16, 16, 16, 2);", "compute(1, 0, 0xffffffff, 16, 2, 16, 2);")
    again = "move_in(0, &a[256], 0, 16, 9);"  # it waits for the product, which does not read the last rows
    assert refusals(STORE, FIRST, *product, again) == []


# --- sums in two banks of the accumulator

SUM = ("preload(0x1000, 0xc0000000, 16, 16, 16, 16);", "compute(1, 0x1000, 0xffffffff, 16, 16, 16, 16);")
WRITTEN = (
    "configure_load(2, 64, 1.0f, 1, 16, 1);",
    *("move_in(1, &a[0], 0x80000000, 16, 16);", "move_in(1, &a[0], 0x80000200, 16, 16);", "fence();"),
)
ADDED, ADDED_HERE = "move_in(1, &a[1024], 0xc0000200, 16, 16);", "move_in(1, &a[1024], 0xc0000010, 16, 16);"


def shares(*commands: str) -> bool:
    return any("share their adders" in message for message in refusals(*WRITTEN, *commands))


@pytest.mark.parametrize("commands", [(*SUM, ADDED), (ADDED, *SUM), (SUM[0], ADDED, SUM[1])])
def test_a_move_that_adds_beside_products_that_add_in_another_bank_is_refused(commands: Sequence[str]) -> None:
    assert shares(*commands)


def test_one_that_overwrites_or_adds_in_the_same_bank_is_not() -> None:
    same_bank = ("move_in(1, &a[0], 0x80000010, 16, 16);", "fence();", *SUM, ADDED_HERE)
    assert not shares(*same_bank)
    assert not shares(*SUM, ADDED.replace("0xc", "0x8"))
    assert not shares(SUM[0].replace("0xc", "0x8"), SUM[1], ADDED)


def test_sums_in_two_banks_may_follow_a_fence_or_what_waits_for_the_first() -> None:
    assert not shares(*SUM, "fence();", ADDED)
    assert not shares(*SUM, SUM[0].replace("0xc0000000", "0x80000200"), SUM[1], ADDED)
    loaded_anew = "move_in(0, &a[0], 0x1000, 16, 16);"  # which the preload reads: it completes with the result
    assert not shares(*SUM, loaded_anew, ADDED)


def test_products_may_add_in_both_banks_and_so_may_moves_on_one_path() -> None:
    assert not shares(*SUM, SUM[0].replace("0xc0000000", "0xc0000200"), SUM[1])
    assert not shares(ADDED, "move_in(1, &a[1024], 0xc0000000, 16, 16);")


ZEROS, ELEMENTS = "move_in(1, NULL, 0x80000008, 16, 16);", "move_in(2, &a[0], 0x80000218, 20, 16);"


@pytest.mark.parametrize("adds", [False, True])
def test_zeros_beside_elements_in_another_bank_take_another_path(adds: bool) -> None:
    moves = (ZEROS, ELEMENTS.replace("0x8", "0xc") if adds else ELEMENTS)
    assert any("rows would go astray" in message for message in refusals(*WRITTEN, *moves))
    assert any("rows would go astray" in message for message in refusals(*WRITTEN, *reversed(moves)))


def test_zeros_and_elements_may_follow_a_fence_or_go_to_one_bank_or_memory() -> None:
    assert refusals(*WRITTEN, ZEROS, "fence();", ELEMENTS) == []
    assert refusals(*WRITTEN, ZEROS, ELEMENTS.replace("218", "018")) == []
    assert refusals(*WRITTEN, ZEROS.replace("0x80000008", "8"), ELEMENTS) == []


def test_zeros_added_beside_elements_that_add_share_adders_too() -> None:
    assert shares("move_in(1, NULL, 0xc0000000, 16, 16);", "move_in(2, &a[0], 0xc0000200, 16, 16);")


def test_the_refusal_names_both_commands_and_what_to_do() -> None:
    [message] = refusals(*WRITTEN, *SUM, ADDED)
    assert message == (
        "move_in (line 13) adds to acc row 512 while preload (line 11) may be adding in another bank; the banks share "
        "their adders, so that both sums would be wrong: put a fence between the two, add in one bank, or let one of "
        "them overwrite"
    )
