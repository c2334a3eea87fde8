"""The model of groups of warps on the device: products with other groups, chains and stages, forecast and measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

from autocomp.targets.registry import load_target
from autocomp.targets.triton.language import parse
from autocomp.targets.triton.routes import routes
from autocomp.targets.triton.specialised import GroupForecast, group_forecast, is_specialised
from autocomp.targets.triton.target import TritonTarget
from autocomp.targets.triton.transformations import SEQUENCE, applied
from benchmarks.gpu.loops import KEPT_OF_MARKED, spearman
from benchmarks.gpu.rows import row

FILE = "groups.json"
SCALED = ("scaled_matmul_1024x4608x7168", "scaled_matmul_6144x1536x7168")
JOINED = "fused_mlp_2048x2048x5504"
WAYS = ((2, 2, 5), (2, 2, 3), (2, 1, 5), (2, 1, 2), (3, 1, 4), (3, 1, 2), (1, 1, 4), (1, 2, 4))  # groups, chain, stages
STAGES = (4, 3, 2)
ROWS = 64  # of one group


def measure_groups(folder: Path, target: str, threads: int) -> None:
    """Record every kernel and keep what the model reads."""
    device = load_target(target)
    if not isinstance(device, TritonTarget):
        raise SystemExit(f"{target} is not a GPU")
    jobs = [(name, *way) for name in SCALED for way in WAYS] + [(JOINED, 2, 1, stages) for stages in STAGES]
    with ThreadPoolExecutor(threads) as pool:
        kernels = list(pool.map(lambda job: _recorded(device, *job), jobs))
    lines = ",\n".join(json.dumps(kernel) for kernel in kernels)
    (folder / FILE).write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(table_of_groups(folder / FILE, device.device.capability))


def _recorded(device: TritonTarget, name: str, groups: int, chain: int, stages: int) -> dict[str, Any]:
    """A kernel by the first route that has groups of warps and no small tiles, with other numbers."""
    workload = row(name).workload()
    start = parse(device.starting_kernel(workload))
    fitting = (r for r in routes(start, device.device.setting(workload)) if "warp_groups" in dict(r.steps))
    route = next(route for route in fitting if "finish_wave" not in dict(route.steps))
    steps: list[list[Any]] = []
    for step, parameters in route.steps:
        given = dict(parameters)
        if step == "warp_groups":
            given |= {"groups": groups, "chain": chain, "stages": stages}
        elif step == "set_parameters" and name != JOINED:
            given["values"] = {**given["values"], "BLOCK_M": ROWS * groups}
        steps.append([step, given])
    answer = device.record(applied(start, SEQUENCE, {"steps": steps}).text, workload, counters=False).answer
    return {"row": name, "groups": groups, "chain": chain, **_kept(answer)}


def _kept(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a recorder's answer that the model reads, for the launch by groups of warps."""
    position = next(i for i, launch in enumerate(answer["launches"]) if is_specialised(launch))
    launch, marked = answer["launches"][position], answer["marked"][position]
    kept = {key: marked[key] for key in (*KEPT_OF_MARKED, "most", "longest_ns")}
    kept["marks"] = [{"loop": mark["loop"]} for mark in marked["marks"]]
    return {"launches": [launch], "marked": [kept]}


def table_of_groups(file: Path, capability: Sequence[int] = (9, 0)) -> str:
    """One line a kernel, then the mean and the largest error, and the correlation of the orders."""
    lines = ["| operation | groups, chain, stages | measured us | forecast us | error | limit | idle |"]
    lines.append("|---|---|---:|---:|---:|---|---:|")
    errors, pairs = [], []
    for kernel in json.loads(file.read_text(encoding="utf-8")):
        told = group_forecast(kernel, 0, capability)
        way = f"{kernel['groups']}, {kernel['chain']}, {kernel['launches'][0]['depth']}"
        if not isinstance(told, GroupForecast):
            lines.append(f"| {kernel['row']} | {way} | {kernel['launches'][0]['us']:.1f} | {told} | | | |")
            continue
        lines.append(
            f"| {kernel['row']} | {way} | {told.measured_us:.1f} | {told.us:.1f} | {told.error:+.1%} | "
            f"{told.turn.critical} | {told.turn.idle:.0%} |"
        )
        errors.append(abs(told.error))
        pairs.append((told.us, told.measured_us))
    within = sum(error <= 0.1 for error in errors)
    lines.append(
        f"\n{len(errors)} kernels: mean error {mean(errors):.1%}, largest {max(errors):.1%}, {within} within 10 %; "
        f"Spearman {spearman(pairs):.3f}"
    )
    return "\n".join(lines)
