"""Schedules of convolutions whose tiles cover several rows of an image, each brought by moves of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.transforms import NotApplicable, analyse, applied, transformation
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.nests.schedule import raised_of
from autocomp.targets.simulator.transforms.scheduling.choose import ranked
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Tasks
from autocomp.workload import Workload, parse

TPU = {"accelerator": "tpu_v1", "scale": 0.0078125, "set": {"DIM": 16, "UB_KB": 64, "ACC_KB": 64}}
NEURONCORE = {
    "accelerator": "neuroncore",
    "dtype": "bfloat16",
    "layout": {"inp": "N C H W"},
    "set": {"PARTITIONS": 32},
}
VTA = {"accelerator": "vta", "layout": {"weights": "R S K/16 C/16 K%16 C%16"}}


def convolution(given: Mapping[str, Any], *, images: int = 1, side: int = 8, stride: int = 1) -> Workload:
    dims = {"N": images, "H": side, "W": side, "C": 16, "K": 32, "R": 3, "S": 3}
    document = {"operation": "conv2d", "dims": dims, "stride": stride, **given}
    return parse(yaml.safe_dump(document), Path("conv.yaml"))


def analysed(workload: Workload) -> Facts:
    accelerator = isa.load(workload.accelerator, workload.overrides)
    text = starting_kernel(workload, accelerator)
    return analyse(kernel.parse(text, "kernel.c"), accelerator, workload.constants)


def cycles(workload: Workload, facts: Facts) -> float:
    """Cycles of a kernel that is judged as correct."""
    evaluator = SimulatorEvaluator(facts.accelerator, workload, "kernel.c")
    evaluation = evaluator.evaluate(kernel.print_kernel(facts.given))
    assert evaluation.measurement is not None, [(s.name, s.message) for s in evaluation.stages if not s.passed]
    return evaluation.measurement.value


@pytest.mark.parametrize(
    ("given", "share"), [(TPU, 0.6), (NEURONCORE, 0.3)], ids=["rows of results", "columns of results"]
)
def test_the_best_schedule_joins_rows_of_an_image_and_is_right(given: Mapping[str, Any], share: float) -> None:
    workload = convolution(given)
    facts = analysed(workload)
    raised = raised_of(facts)
    schedule = ranked(raised.model)[0].schedule
    assert schedule.tile[raised.computation.row] > 1
    lowered = analyse(raised.lowered(schedule), facts.accelerator, workload.constants)
    assert cycles(workload, lowered) < share * cycles(workload, facts)


@pytest.mark.parametrize("shared", [True, False], ids=["taps share rows", "each tap has rows of its own"])
@pytest.mark.parametrize("rows", [4, *(pytest.param(rows, marks=pytest.mark.long) for rows in (1, 2, 6))])
def test_tiles_of_any_number_of_rows_are_right(rows: int, shared: bool) -> None:
    """Six rows of results: tiles of four leave a short one."""
    workload = convolution(VTA)
    facts = analysed(workload)
    schedule = {"tile": {"n": rows}, "block": {"n": 2, "j": 1, "r": 1}, "shared": shared}
    for more in ({}, {"ahead": ["left", "right"], "deferred": True, "early": 2}):
        assert cycles(workload, _scheduled(facts, {**schedule, **more}))


def test_rows_that_no_taps_share_are_joined_as_well() -> None:
    workload = convolution(VTA, side=9, stride=2)
    schedule = {"tile": {"n": 4}, "block": {"n": 1, "r": 1}}
    assert cycles(workload, _scheduled(analysed(workload), schedule))


@pytest.mark.parametrize("shared", [True, False])
def test_products_take_several_lines_of_which_each_tap_reads_a_part(shared: bool) -> None:
    """A load brings all pixels of two lines, which follow one another in DRAM."""
    workload = convolution(NEURONCORE, side=9)
    schedule = {"tile": {"n": 3}, "block": {"n": 2, "j": 1}, "shared": shared, "width": {"left": 2}}
    for more in ({}, {"ahead": ["left", "right"], "deferred": True, "early": 2}):
        facts = _scheduled(analysed(workload), {**schedule, **more})
        assert ", 9);" in kernel.print_kernel(facts.given)  # pixels between lines
        assert cycles(workload, facts)


@pytest.mark.parametrize("rows", [4, 6], ids=["a short tile", "one tile"])
def test_products_take_rows_between_lines_that_stores_leave_out(rows: int) -> None:
    """Six lines of six results, from lines of eight pixels: a product of four lines has 3 * 8 + 6 rows."""
    workload = convolution(TPU)
    schedule = {"tile": {"n": rows}, "block": {"j": 1}, "inner": ["k", "r", "i", "n"], "kept": True}
    for more in ({}, {"ahead": ["left"], "deferred": True, "shared": True, "width": {"left": 8}}):
        facts = _scheduled(analysed(workload), {**schedule, **more})
        assert ("* 8 - 2, " if rows == 4 else ", 46, ") in kernel.print_kernel(facts.given)
        assert cycles(workload, facts)


def test_each_tap_has_its_rows_where_those_between_lines_would_take_longer() -> None:
    """Five lines of four results, from lines of 14 pixels: 60 rows in place of 20."""
    dims = {"N": 1, "H": 5, "W": 14, "C": 16, "K": 128, "R": 1, "S": 11}
    workload = parse(yaml.safe_dump({"operation": "conv2d", "dims": dims, **TPU}), Path("conv.yaml"))
    raised = raised_of(analysed(workload))
    assert isinstance(raised.leaves, Tasks)
    assert raised.leaves.lines is None


@pytest.mark.parametrize(("channels", "taps", "left"), [(3, 3, 1), (4, 5, 2)], ids=["all taps", "three taps and two"])
def test_products_take_taps_with_few_channels_together(channels: int, taps: int, left: int) -> None:
    """The array is 16 deep, and taps along a row of a filter follow one another in the image and in the weights."""
    dims = {"N": 1, "H": 6, "W": 9, "C": channels, "K": 16, "R": 2, "S": taps}
    workload = parse(yaml.safe_dump({"operation": "conv2d", "dims": dims, **TPU}), Path("conv.yaml"))
    facts = analysed(workload)
    raised = raised_of(facts)
    assert raised.computation.extents[raised.computation.depth] == left
    assert cycles(workload, _scheduled(facts, {"tile": {"n": 2}, "block": {"n": 1, "k": 1}})) < cycles(workload, facts)


@pytest.mark.long
def test_rows_of_several_images_are_joined_image_by_image() -> None:
    workload = convolution(TPU, images=2)
    facts = analysed(workload)
    raised = raised_of(facts)
    lowered = analyse(raised.lowered(ranked(raised.model)[0].schedule), facts.accelerator, workload.constants)
    assert cycles(workload, lowered)


def test_rows_are_joined_where_a_filter_has_one_tap() -> None:
    """One tile holds all filters, so either factor fits as the left one."""
    dims = {"N": 1, "H": 6, "W": 6, "C": 16, "K": 32, "R": 1, "S": 1}
    workload = parse(yaml.safe_dump({"operation": "conv2d", "dims": dims, **NEURONCORE}), Path("conv.yaml"))
    facts = analysed(workload)
    assert raised_of(facts).computation.left.tensor.name == "inp"
    assert cycles(workload, _scheduled(facts, {"tile": {"n": 3}})) < cycles(workload, facts)


def test_rows_are_joined_up_to_what_commands_cover() -> None:
    """A tile of 32 partitions holds five rows of six pixels."""
    raised = raised_of(analysed(convolution(NEURONCORE)))
    assert isinstance(raised.leaves, Tasks)
    assert raised.leaves.sizes["n"].most == 5
    with pytest.raises(NotApplicable, match="a tile of 6 along 'n' is not one of this machine's"):
        _scheduled(analysed(convolution(NEURONCORE)), {"tile": {"n": 6}})


def _scheduled(facts: Facts, schedule: Mapping[str, Any]) -> Facts:
    return analyse(applied(transformation("schedule"), facts, schedule).given, facts.accelerator, facts.constants)
