"""Convolutions start right on machines of several kinds, and a start that is wrong says what to write (4 s)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from autocomp.errors import ConfigError
from autocomp.targets.registry import load_target
from autocomp.targets.simulator import isa, remedy
from autocomp.targets.simulator.kernel.syntax.parser import parse as parse_kernel
from autocomp.targets.simulator.start.idioms import fill
from autocomp.targets.simulator.start.requirements import rows_lie_apart, takes_null
from autocomp.targets.simulator.target import accelerator_of
from autocomp.workload import Workload, parse

DIMS = {"N": 1, "H": 8, "W": 8, "C": 16, "K": 16, "R": 3, "S": 3}
RAGGED = {"N": 2, "H": 9, "W": 7, "C": 20, "K": 18, "R": 3, "S": 2}
BLOCKED = {"layout": {"weights": "R S K/16 C/16 K%16 C%16"}}
INTERLEAVED = {"layout": {"weights": "R S C/4 K C%4"}, "result": "int32"}
CUBE = str(Path(__file__).parent.parent / "transforms" / "cube.isa")
FLAGGED = str(Path(__file__).parent.parent / "transforms" / "flagged.isa")  # products read whole tiles
PLANES = {"layout": {"inp": "N C H W"}, "dtype": "bfloat16"}


def workload(machine: str, operation: str = "conv2d", **keys: Any) -> Workload:
    document = {"operation": operation, "accelerator": machine, "dims": DIMS, **keys}
    return parse(yaml.safe_dump(document), Path("w.yaml"))


@pytest.mark.parametrize("options", [{"padding": 1}, {"padding": 1, "stride": 2}], ids=["padded", "strided"])
@pytest.mark.parametrize(
    ("machine", "keys"),
    [
        ("vta", BLOCKED),  # a null pointer to biases is refused: zeros are loaded
        ("tpu_v1", {"dims": RAGGED}),  # has no biases: a product with zeros comes first
        ("amx", INTERLEAVED | {"dims": RAGGED}),  # tiles begin at multiples of 16 rows: one pixel at a time
        ("rvv", {"dims": RAGGED, "dtype": "float32"}),
        ("quad", {"dims": RAGGED, "result": "int32"}),
        ("neuroncore", {"dims": RAGGED, "dtype": "bfloat16"}),  # rows of the result lie along a local row
    ],
)
def test_a_padded_convolution_starts_right(machine: str, keys: dict[str, Any], options: dict[str, Any]) -> None:
    _is_right(workload(machine, **keys, **options))


@pytest.mark.parametrize(
    ("machine", "keys"),
    [
        ("neuroncore", PLANES),
        ("neuroncore", {"dtype": "bfloat16", "stride": 2, "layout": {"inp": "N C H W%2 W/2"}}),
        ("vta", {**BLOCKED, "bias": "row", "activation": "relu", "dilation": 2}),
        ("gemmini", {"result": "int32"}),
    ],
)
def test_a_convolution_of_other_types_and_layouts_starts_right(machine: str, keys: dict[str, Any]) -> None:
    _is_right(workload(machine, **keys))


def test_tiles_begin_at_multiples_of_their_rows_in_a_memory_of_three() -> None:
    keys = {"dims": {"I": 20, "J": 20, "K": 64}, "layout": {"B": "K/4 J K%4"}, "result": "int32"}
    _is_right(workload("amx", "gemm", set={"TILES": 3}, **keys))


def _is_right(found: Workload) -> None:
    target = load_target(found.target, found.overrides)
    kernel = target.starting_kernel(found)
    evaluation = target.evaluator(found).evaluate(kernel)
    assert evaluation.correct, (evaluation.failure, kernel)


def test_pixels_that_do_not_lie_side_by_side_are_refused_with_a_layout_in_which_they_do() -> None:
    found = workload("neuroncore", **{**PLANES, "stride": 2})
    with pytest.raises(ConfigError, match="nor the pixels of a row, 2 apart, lie side by side") as refused:
        load_target(found.target, {}).starting_kernel(found)
    assert "as `N C H W%2 W/2`" in str(refused.value.hint)


def test_a_transposed_operand_may_be_stated_as_a_layout() -> None:
    found = workload("vta", "gemm", dims={"I": 32, "J": 32, "K": 32}, transpose_b=True)
    with pytest.raises(ConfigError, match="has a hole 'transpose_b'") as refused:
        load_target(found.target, {}).starting_kernel(found)
    assert "`layout: {B: J K}`" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (workload("vta", "gemm", dims={"I": 32, "J": 32, "K": 32}), "write `layout: {B: J/16 K/16 J%16 K%16}`"),
        (workload("vta", "gemm", dims={"I": 9, "J": 33, "K": 20}), "pad the tensors with zeros to `J: 48, K: 32`"),
        (workload("amx", **{**INTERLEAVED, "layout": {}}), "write `layout: {weights: R S C/4 K C%4}`"),
        (workload("amx", "gemm", dims={"I": 9, "J": 9, "K": 30}, result="int32"), "to `K: 32`"),
        (workload(FLAGGED, "gemm", dims={"I": 64, "J": 24, "K": 5}), "to `K: 8`"),
    ],
    ids=["blocks", "whole_tiles", "interleaved", "sizes", "rows_that_nothing_wrote"],
)
def test_a_wrong_start_says_what_to_write(found: Workload, words: str) -> None:
    target = load_target(found.target, {})
    assert not target.evaluator(found).evaluate(target.starting_kernel(found)).correct
    assert words in str(target.remedy(found))


def test_no_more_depth_is_told_than_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tile is 32 deep, and products would take 16."""

    def small(document: Mapping[str, Any], accelerator: object) -> Workload | None:
        return None if document["dims"]["K"] % 16 else workload(CUBE, "gemm", dims=document["dims"])

    monkeypatch.setattr(remedy, "_small", small)
    found = workload(CUBE, "gemm", dims={"I": 16, "J": 16, "K": 40})
    assert "pad the tensors with zeros to `K: 48`" in str(load_target(found.target, {}).remedy(found))


@pytest.mark.parametrize(
    ("machine", "apart", "null"),
    [("gemmini", True, True), ("vta", True, False), ("amx", False, False), ("neuroncore", False, True)],
)
def test_what_instructions_refuse_follows_from_their_requirements(machine: str, apart: bool, null: bool) -> None:
    accelerator = accelerator_of(load_target(f"simulator:{machine}", {}), "this test")
    assert rows_lie_apart(accelerator, "gemm_tile") is apart
    assert takes_null(accelerator, "gemm_begin") is null


def test_an_idiom_s_own_variables_are_not_those_that_fill_its_holes() -> None:
    accelerator = accelerator_of(load_target("simulator:neuroncore", {}), "this test")
    idiom = accelerator.idiom("gemm_tile")
    assert idiom is not None
    assert "int r =" in idiom.text
    text = fill(accelerator, "gemm_tile", {**dict.fromkeys(idiom.parameters, "1"), "A": "&A[r][0]"})
    assert "int r_of_tile = 0" in text
    parse_kernel(f"void called() {{ {text} }}")


def test_a_hole_that_is_not_known_in_an_idiom_matters_where_its_text_uses_it() -> None:
    accelerator = accelerator_of(load_target("simulator:neuroncore", {}), "this test")
    idiom = accelerator.idiom("gemm_tile")
    assert idiom is not None
    others = dict.fromkeys(idiom.parameters, "1")
    unused = replace(idiom, parameters=(*idiom.parameters, "size_h"))
    assert fill(replace(accelerator, idioms=(unused,)), "gemm_tile", others) == fill(accelerator, "gemm_tile", others)
    used = replace(unused, text=f"{idiom.text} $size_h;")
    with pytest.raises(ConfigError, match="has a hole 'size_h' that nothing fills") as caught:
        fill(replace(accelerator, idioms=(used,)), "gemm_tile", others)
    assert caught.value.hint.startswith("it is rows of an image, and not known there; known are A, B,")


def test_sums_that_no_instruction_adds_to_are_named() -> None:
    """Without `c[…] + …`, each command's products take the place of those before."""
    text = (Path(__file__).parent.parent / "transforms" / "rowwise.isa").read_text()
    machine = isa.parse(text.replace("wrap<i32>(c[d.row][j] + sum(", "wrap<i32>(sum("))
    deep, within = (workload("rowwise", "gemm", dims={"I": 8, "J": 8, "K": depth}) for depth in (24, 8))
    assert "adds to sums of products, and `K: 24` need several" in str(remedy.remedy(deep, machine))
    assert "adds to sums" not in str(remedy.remedy(within, machine))
