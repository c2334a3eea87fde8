"""Convolutions written anew from what they compute, by a schedule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.transforms import NotApplicable, applied, transformation
from autocomp.targets.simulator.transforms.nests.schedule import raised_of
from autocomp.targets.simulator.transforms.protocol import Parameters
from autocomp.workload import Workload

from .conftest import changes, loads, proposals, rewriting
from .convolutions import convolution, convolutions, pooled_convolutions
from .convolutions import cycles as cycles_of
from .convolutions import naive as started

DEPTHWISE = convolution({"N": 1, "H": 5, "W": 7, "C": 48, "K": 48, "R": 3, "S": 3}, padding=1, groups=48)


def test_a_channel_by_itself_is_not_scheduled_where_several_fill_the_array() -> None:
    first, *_ = proposals(started(DEPTHWISE))
    assert first["diagonal"] == {"loop": "g"}
    scheduled = applied(transformation("schedule"), started(DEPTHWISE), first)
    computation = raised_of(scheduled).computation
    assert {name: computation.extents[name] for name in "qjk"} == {"q": 3, "j": 16, "k": 16}
    assert cycles_of(DEPTHWISE, scheduled) < cycles_of(DEPTHWISE, started(DEPTHWISE)) / 20


def test_channels_of_several_groups_come_by_one_move() -> None:
    apart, together = (
        applied(transformation("schedule"), started(DEPTHWISE), {"diagonal": {"loop": "g"}, "width": {"left": width}})
        for width in (1, 3)
    )
    assert len(loads(apart, "inp")) == 3 * len(loads(together, "inp"))
    cycles_of(DEPTHWISE, together)


@settings(max_examples=6, deadline=None)
@given(st.integers(2, 3), st.integers(16, 40), st.integers(16, 40), st.integers(1, 2), st.integers(0, 1), st.booleans())
def test_groups_of_many_channels_are_a_dimension_of_a_computation(
    groups: int, channels: int, filters: int, stride: int, padding: int, ahead: bool
) -> None:
    dims = {"N": 1, "H": 5, "W": 9, "C": groups * channels, "K": groups * filters, "R": 2, "S": 3}
    workload = convolution(dims, groups=groups, stride=stride, padding=padding)
    schedule: dict[str, Any] = {"ahead": ["left", "right"], "deferred": True} if ahead else {}
    scheduled = applied(transformation("schedule"), started(workload), {**schedule, "block": {"p": 2, "q": 1}})
    extents = raised_of(scheduled).computation.extents
    assert (extents["q"], extents["j"], extents["k"]) == (groups, filters, channels)
    cycles_of(workload, scheduled)


@pytest.mark.parametrize(("taps", "padding", "stride"), [((2, 2), 2, 1), ((1, 3), 3, 1), ((3, 2), 4, 2)])
def test_an_image_may_be_padded_by_as_much_as_its_filter(taps: tuple[int, int], padding: int, stride: int) -> None:
    dims = {"N": 1, "H": 6, "W": 8, "C": 5, "K": 9, "R": taps[0], "S": taps[1]}
    workload = convolution(dims, padding=padding, stride=stride)
    facts = started(workload)
    rows = raised_of(facts).computation.left.subscripts[2]
    assert (rows.constant, rows.factor("i"), rows.factor("s")) == (-padding, stride, 1)
    cycles_of(workload, applied(transformation("schedule"), facts, {"block": {"p": 2}, "kept": True}))


FEW_CHANNELS = convolution({"N": 1, "H": 5, "W": 7, "C": 5, "K": 20, "R": 3, "S": 3}, padding=1, stride=2)
PADDED = {"loops": ["s"], "pad": "inp"}


@pytest.mark.long
def test_taps_of_few_channels_are_multiplied_together() -> None:  # 3 s
    first, *_ = proposals(started(FEW_CHANNELS))
    assert first["merged"] == PADDED
    scheduled = applied(transformation("schedule"), started(FEW_CHANNELS), first)
    assert "static int8_t inp_padded[1][7][9][5];" in kernel.print_kernel(scheduled.written)
    assert raised_of(scheduled).computation.extents["k"] == 15
    assert cycles_of(FEW_CHANNELS, scheduled) < cycles_of(FEW_CHANNELS, started(FEW_CHANNELS)) / 5


@pytest.mark.parametrize(
    ("options", "rows"), [({}, 30), ({"bias": "none"}, 30), ({"stride": 2}, 3), ({"padding": 1}, 7)]
)
def test_lines_of_images_are_rows_of_one_matrix_where_a_filter_has_one_pixel(
    options: Mapping[str, int | str], rows: int
) -> None:
    workload = convolution({"N": 2, "H": 3, "W": 5, "C": 20, "K": 18, "R": 1, "S": 1}, **options)
    facts = applied(transformation("schedule"), started(workload), {"ahead": ["left", "right"], "block": {}})
    assert raised_of(started(workload)).computation.extents["i"] == rows
    assert raised_of(facts).given  # also where tiles cross the ends of lines
    cycles_of(workload, facts)


def test_taps_of_one_channel_are_one_depth() -> None:
    workload = convolution({"N": 1, "H": 8, "W": 14, "C": 1, "K": 27, "R": 4, "S": 2}, stride=3)
    facts = applied(transformation("schedule"), started(workload), {"merged": {"loops": ["s"]}})
    assert raised_of(facts).computation.extents["k"] == 2
    cycles_of(workload, facts)


def test_a_kernel_with_a_padded_input_is_scheduled_again_beside_its_copy() -> None:
    facts = applied(transformation("schedule"), started(FEW_CHANNELS), {"merged": PADDED})
    given = raised_of(facts)
    assert given.given
    again = applied(transformation("schedule"), facts, {"block": {"p": 2}})
    assert raised_of(again).part.before == given.part.before
    cycles_of(FEW_CHANNELS, again)


@pytest.mark.parametrize("taps", [1, 3])
@pytest.mark.parametrize(("stride", "lines"), [(1, 6), (2, 9)])
def test_lines_of_an_image_that_several_taps_need_are_loaded_once(stride: int, lines: int, taps: int) -> None:
    workload = convolution(
        {"N": 1, "H": 6 if stride == 1 else 9, "W": 8, "C": 16, "K": 16, "R": 3, "S": 1}, stride=stride
    )
    block: Parameters = {"ahead": ["left", "right"], "block": {"r": taps}, "level": {"left": 0, "right": 4}}
    apart, shared = (
        applied(transformation("schedule"), started(workload), {**block, "shared": shared}) for shared in (False, True)
    )
    assert [len(loads(facts, "inp")) for facts in (apart, shared)] == [12, lines]
    cycles_of(workload, shared)


@pytest.mark.parametrize("padding", [0, 1])
def test_pixels_of_a_line_that_several_taps_need_are_loaded_once(padding: int) -> None:
    dims = {"N": 1, "H": 6, "W": 9, "C": 8, "K": 4, "R": 3, "S": 3}
    workload = convolution(dims, accelerator="tiny", padding=padding)
    schedule = {"ahead": ["left", "right"], "block": {"p": 2, "k": 1, "s": 2}, "shared": True, "lined": True}
    schedule |= {"level": {"left": 1, "right": 6}}
    if padding:
        with pytest.raises(NotApplicable, match="row after row"):
            applied(transformation("schedule"), started(workload), schedule)
        return
    lined = applied(transformation("schedule"), started(workload), schedule)
    assert len(loads(lined, "inp")) == 2 * 2 * 4 * 3  # blocks of lines, depths, lines, three for nine pixels
    assert raised_of(lined).given
    cycles_of(workload, lined)


@settings(max_examples=6, deadline=None)
@given(
    convolutions(("gemmini",), channels=20, pixels=16),
    st.booleans(),
    st.sampled_from([0, 3, 8]),
    st.integers(1, 4),
    st.integers(0, 6),
    st.booleans(),
)
def test_convolutions_are_right_with_shared_lines_and_loads_ahead(
    workload: Workload, ahead: bool, lead: int, lines: int, level: int, lined: bool
) -> None:  # 4 s
    schedule: dict[str, Any] = {"shared": True, "lead": lead, "block": {"p": lines, "r": 1}, "kept": True}
    schedule["lined"] = lined
    schedule["level"] = {"left": level, "right": 7}
    merged = rewriting("merge_depth").proposals(started(workload))
    schedule |= {"merged": merged[0].parameters} if merged else {}
    schedule |= {"ahead": ["left", "right"], "deferred": True, "spread": lead > 0} if ahead else {}
    try:
        scheduled = applied(transformation("schedule"), started(workload), schedule)
    except NotApplicable:
        return  # local memory is too small, or no contraction was seen
    cycles_of(workload, scheduled)


@settings(max_examples=4, deadline=None)
@given(pooled_convolutions(), st.lists(st.integers(0, 999), min_size=2, max_size=2), st.integers(1, 6), st.booleans())
def test_pooled_convolutions_are_right_in_blocks_that_overlap(
    workload: Workload, choices: list[int], lines: int, beside: bool
) -> None:
    facts = started(workload)
    offered = changes(facts)
    for choice in choices:
        schedule = offered[choice % len(offered)]
        block = {**schedule.get("block", {}), "p": lines}
        try:
            facts = applied(transformation("schedule"), facts, {**schedule, "block": block, "deferred": beside})
        except NotApplicable:
            continue
        assert raised_of(facts).given
    cycles_of(workload, facts)


def test_a_pooled_image_that_the_machine_orders_in_part_is_stored_behind_a_fence() -> None:
    dims = {"N": 1, "H": 26, "W": 26, "C": 16, "K": 32, "R": 1, "S": 1}
    workload = convolution(dims, pool="{size: 2, stride: 2}")  # 676 sums, and 512 in a bank
    apart, whole = (
        applied(transformation("schedule"), started(workload), {"block": {"p": lines, "j": 1}}) for lines in (6, 13)
    )
    assert [kernel.print_kernel(facts.written).count("fence") for facts in (apart, whole)] == [1, 3]
    cycles_of(workload, whole)
    one = convolution({**dims, "K": 16}, pool="{size: 2, stride: 2}")
    with pytest.raises(NotApplicable, match="does not order a store that pools"):
        applied(transformation("schedule"), started(one), {"ahead": ["left"], "lead": 1, "deferred": True})
