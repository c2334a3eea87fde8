"""The model of groups of warps beside what an NVIDIA H200 measured: 19 kernels, recorded, so that no GPU is needed."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean
from typing import Any

from autocomp.targets.triton.recorder.loops import depth_of, work_of_loops
from autocomp.targets.triton.specialised import GroupForecast, Turn, group_forecast, is_specialised

HOPPER = (9, 0)
RECORDED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "recorded" / "groups.json").read_text(encoding="utf-8")
)
SPECIALISED = """\
tt.func public @k(%a: !tt.ptr<f16>) {
  %ready = ttg.local_alloc : () -> !ttg.memdesc<5x1xi64, #shared1, #smem, mutable>
  ttg.warp_specialize(%ready)
  default {
    %0 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<64x64xf32>) : i32 {
      %1 = ttng.warp_group_dot %x, %y, %c : !ttg.memdesc<64x32xf8E4> * !ttg.memdesc<32x64xf8E4> -> tensor<64x64xf32>
      %2 = arith.addf %1, %acc : tensor<64x64xf32>
      scf.yield %2 : tensor<64x64xf32>
    }
    ttg.warp_yield
  }
  partition0(%b: i32) num_warps(1) {
    scf.for %i = %c0 to %n step %c1  : i32 {
      ttng.async_tma_copy_global_to_local %d[%i] %t : !tt.tensordesc<tensor<64x32xf8E4>> -> !ttg.memdesc<64x32xf8E4>
    }
    ttg.warp_return
  }
  tt.return
}
"""


def told(kernel: dict[str, Any]) -> GroupForecast:
    forecast = group_forecast(kernel, 0, HOPPER)
    assert isinstance(forecast, GroupForecast), forecast
    return forecast


def test_the_time_of_kernels_by_groups_of_warps_is_forecast_within_a_tenth() -> None:
    errors = [abs(told(kernel).error) for kernel in RECORDED]
    assert mean(errors) < 0.04
    assert max(errors) < 0.1


def test_few_stages_limit_by_latency_and_many_by_products() -> None:
    limits = {(k["row"], k["groups"], k["chain"], told(k).turn.stages): told(k).turn.critical for k in RECORDED}
    assert limits[("fused_mlp_2048x2048x5504", 2, 1, 2)] == "latency"
    assert limits[("fused_mlp_2048x2048x5504", 2, 1, 4)] == "products"


def test_a_second_product_in_flight_pays_for_groups_that_scale() -> None:
    single = next(k for k in RECORDED if (k["groups"], k["chain"], k["launches"][0]["depth"]) == (2, 1, 5))
    pair = next(k for k in RECORDED if (k["groups"], k["chain"], k["launches"][0]["depth"]) == (2, 2, 5))
    forecast = told(single)
    saved = forecast.saved_by(forecast.turn.with_chain(2))
    measured = 1 - pair["launches"][0]["us"] / single["launches"][0]["us"]
    assert abs(saved - measured) < 0.05


def test_tensor_cores_that_add_are_idle_only_where_copies_arrive_late() -> None:
    turn = Turn(products=1024, between=0, copies=683, stages=4, chain=1, adds=True)
    assert (turn.critical, turn.idle) == ("products", 0)
    assert turn.with_stages(2).critical == "latency"


def test_the_model_says_when_it_does_not_apply() -> None:
    kernel = RECORDED[0]
    assert "no figures for compute capability 8.0" in str(group_forecast(kernel, 0, (8, 0)))
    unrecorded = {**kernel, "marked": [{"error": "nothing"}]}
    assert "no groups were recorded" in str(group_forecast(unrecorded, 0, HOPPER))
    loops = {n: {**work, "functions": 1} for n, work in kernel["launches"][0]["loops"].items()}
    other = {**kernel, "launches": [{**kernel["launches"][0], "loops": loops}]}
    assert "more than sums" in str(group_forecast(other, 0, HOPPER))


def test_loops_that_copy_and_loops_that_multiply_are_told_apart() -> None:
    loops = work_of_loops(SPECIALISED)
    assert is_specialised({"loops": loops})
    assert loops["0"] == {"operations": 262_144, "products": 1, "bits": 8, "bytes": 0, "sums": 1, "functions": 0}
    assert loops["1"]["bytes"] == 2048
    assert depth_of(SPECIALISED) == 5
