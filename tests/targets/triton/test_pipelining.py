"""The model of pipelined loops beside what an NVIDIA H200 measured: 36 products, recorded, so that no GPU is needed."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from autocomp.targets.triton.pipelining import (
    BESIDE_COPIES,
    BESIDE_PRODUCTS,
    BLOCK_CYCLES,
    Forecast,
    best_stages,
    forecast,
    time_with_marks,
)
from autocomp.targets.triton.recorder.loops import work_of_loops
from autocomp.targets.triton.recorder.records import Block, Warp, clock_of
from autocomp.targets.triton.residency import blocks_at_a_time, room_beside

HOPPER = (9, 0)
SHARED = 233_472  # bytes of one multiprocessor
RECORDED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "recorded" / "products.json").read_text(encoding="utf-8")
)
LOOP = """\
tt.func public @k(%a: !tt.ptr<f16>) {
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<64x64xf32>) : i32 {
    %1 = ttng.warp_group_dot %x, %y, %acc : !ttg.memdesc<64x32xf16> * !ttg.memdesc<32x64xf16> -> tensor<64x64xf32>
    ttng.async_tma_copy_global_to_local %d[%i] %b, %t : tensor<64x32xf16> -> !ttg.memdesc<64x32xf16>
    scf.yield %1 : tensor<64x64xf32>
  }
  tt.return
}
"""


def told(document: dict[str, Any]) -> Forecast:
    found = forecast(document, 0, HOPPER)
    assert isinstance(found, Forecast), found
    return found


def ranks(values: list[float]) -> list[int]:
    order = sorted(range(len(values)), key=lambda i: values[i])
    return [order.index(i) for i in range(len(values))]


def test_the_time_of_a_product_is_forecast_within_a_tenth() -> None:
    errors = [abs(told(document).error) for document in RECORDED]
    assert mean(errors) < 0.05
    assert sum(error <= 0.1 for error in errors) >= 35
    assert max(errors) < 0.13


def test_the_order_of_products_is_forecast() -> None:
    pairs = [(told(document).us, document["launches"][0]["us"]) for document in RECORDED]
    expected, measured = ranks([us for us, _ in pairs]), ranks([us for _, us in pairs])
    count = len(pairs)
    distance = sum((a - b) ** 2 for a, b in zip(expected, measured, strict=True))
    assert 1 - 6 * distance / (count * (count**2 - 1)) > 0.95


def test_rounds_with_more_stages_are_forecast_from_two() -> None:
    of = {(*document["tile"], document["size"], document["launches"][0]["stages"]): document for document in RECORDED}
    errors = []
    for (*key, stages), document in of.items():
        if stages > 2:
            two, more = told(of[(*key, 2)]), told(document)
            errors.append(abs(two.round.at(stages, more.round.blocks) / more.round.cycles - 1))
    assert mean(errors) < 0.09


def test_a_loop_that_waits_for_copies_is_advised_more_stages() -> None:
    launch = RECORDED[0]["launches"][0]
    found = told(RECORDED[0])
    assert found.round.critical == "latency"
    stages, saved = best_stages(found, launch, SHARED) or (0, 0.0)
    assert (stages, round(saved, 1)) == (3, 0.4)


def test_a_loop_that_keeps_tensor_cores_busy_needs_no_more_stages() -> None:
    found = told(RECORDED[1])
    assert found.round.critical == "products"
    assert best_stages(found, RECORDED[1]["launches"][0], SHARED) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rounds": {}}, "no loop was recorded"),
        ({"marks": [{"loop": 0}, {"loop": 1}]}, "several loops"),
        ({"at_a_time": 9}, "changed how many blocks"),
    ],
)
def test_the_model_says_why_it_does_not_apply(change: dict[str, Any], reason: str) -> None:
    document = {**RECORDED[0], "marked": [{**RECORDED[0]["marked"][0], **change}]}
    assert reason in str(forecast(document, 0, HOPPER))


def test_a_device_without_figures_has_no_model() -> None:
    assert "capability 7.5" in str(forecast(RECORDED[0], 0, (7, 5)))


def test_the_work_of_a_round_is_read_from_the_shapes_of_its_tiles() -> None:
    work = work_of_loops(LOOP)["0"]
    assert (work["operations"], work["bits"], work["bytes"]) == (2 * 64 * 32 * 64, 16, 64 * 32 * 2)


def test_records_get_the_shared_memory_that_no_block_misses() -> None:
    needs = {"warps": 4, "registers": 90, "shared": 73_752}
    room = room_beside(needs, SHARED)
    assert room == 2048
    assert blocks_at_a_time({**needs, "shared": 73_752 + room}, SHARED) == blocks_at_a_time(needs, SHARED)
    assert room_beside({**needs, "shared": 115_712}, SHARED) == 0


def test_the_clock_is_told_by_blocks_that_follow_each_other_on_a_multiprocessor() -> None:
    def block(number: int, begun: int, clock: int) -> Block:
        return Block(number, 7, begun, begun + 9_000, (Warp(((0, False, clock),), 0),))

    assert clock_of([block(0, 0, 1_000), block(1, 10_000, 16_000)]) == 1.5
    assert clock_of([block(0, 0, 1_000)]) == 0.0


def test_copies_by_pointers_name_no_kind_of_their_target() -> None:
    copy = "ttg.async_copy_global_to_local %p, %s mask %m : tensor<64x32x!tt.ptr<f16>, #b> -> <64x32xf16, #shared>"
    text = LOOP.replace(next(line.strip() for line in LOOP.splitlines() if "async_tma_copy" in line), copy)
    assert work_of_loops(text)["0"]["bytes"] == 64 * 32 * 2


@pytest.mark.parametrize(
    ("functions", "product", "shown"),
    [(0, 700.0, BESIDE_PRODUCTS), (0, 100.0, BESIDE_COPIES), (2, 700.0, 1.0)],
    ids=["waits for products", "waits for copies", "computes"],
)
def test_the_time_with_marks_adds_the_part_of_their_cost_that_shows(
    functions: int, product: float, shown: float
) -> None:
    loops = {"0": {"operations": 1, "functions": functions}}
    launch = {"grid": [264], "warps": 4, "at_a_time": 1, "loops": loops}
    stays = [{"mark": {"kind": kind}, "cycles": cycles} for kind, cycles in (("Wait", 300.0), ("Product", product))]
    marked = {"made": 4000, "blocks": 10, "clock_ghz": 2.0, "plain_us": 50.0, "stays": stays}  # 100 records a warp
    answer = {"launches": [launch], "marked": [marked], "multiprocessors": 132, "record_cycles": 30.0}
    cycles = BLOCK_CYCLES + 100 * shown * 30.0
    assert time_with_marks(answer, 0) == pytest.approx(50.0 + 2 * cycles / 2.0 / 1e3)
