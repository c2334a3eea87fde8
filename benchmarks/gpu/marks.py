"""The cost of marks: the slowdown of launches of several kinds of kernels that are recorded on the device."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

from autocomp.targets.registry import load_target
from autocomp.targets.triton.language import Module, parse
from autocomp.targets.triton.pipelining import time_with_marks
from autocomp.targets.triton.rewrites.registry import rewrite
from autocomp.targets.triton.routes import routes
from autocomp.targets.triton.target import TritonTarget
from autocomp.targets.triton.transformations import SEQUENCE, applied
from autocomp.workload import Workload
from benchmarks.gpu.rows import row

FILE = "marks.json"
WITHIN = 0.02
ROUTED = ("attention_2x32x4096x128", "softmax_4096x4096", "softmax_8192x8192", "fused_mlp_2048x2048x5504")
PRODUCT, STAGES = "matmul_4096", (2, 3)
TILE = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 8}


def measure_marks(folder: Path, target: str, threads: int) -> None:
    """Record every kernel, keep what each launch took with marks and without, and print it."""
    device = load_target(target)
    if not isinstance(device, TritonTarget):
        raise SystemExit(f"{target} is not a GPU")
    jobs = [*_products(device), *_routed(device)]
    with ThreadPoolExecutor(threads) as pool:
        launches_seen = [one for launches in pool.map(lambda job: _recorded(device, *job), jobs) for one in launches]
    (folder / FILE).write_text(json.dumps(launches_seen, indent=1), encoding="utf-8")
    print(table_of_marks(folder / FILE))


def _products(device: TritonTarget) -> Iterator[tuple[str, Module, Workload]]:
    """Plain products with descriptors, of each number of stages."""
    workload = row(PRODUCT).workload()
    for stages in STAGES:
        module, kernel = parse(device.starting_kernel(workload)), "matmul_kernel"
        module = rewrite("tensor_descriptors").apply(module, {"kernel": kernel, "stores": False})
        values = {**TILE, "num_stages": stages}
        module = rewrite("set_parameters").apply(module, {"kernel": f"{kernel}_descriptors", "values": values})
        yield f"{PRODUCT}, {stages} stages", module, workload


def _routed(device: TritonTarget) -> Iterator[tuple[str, Module, Workload]]:
    """Other operations after the first route that stays in Triton's own language."""
    for name in ROUTED:
        workload = row(name).workload()
        start = parse(device.starting_kernel(workload))
        for route in routes(start, device.device.setting(workload)):
            module = applied(start, SEQUENCE, {"steps": [list(step) for step in route.steps]})
            if "gluon" not in module.text and "warp_specialize" not in module.text:
                yield name, module, workload
                break


def _recorded(device: TritonTarget, name: str, module: Module, workload: Workload) -> list[dict[str, Any]]:
    answer = device.record(module.text, workload, counters=False).answer
    launches = []
    for position, (launch, marked) in enumerate(zip(answer["launches"], answer["marked"], strict=True)):
        one = {"kernel": name, "launch": position + 1, "us": launch["us"], "marks": len(marked.get("marks", ()))}
        if "error" not in marked:
            one |= {"marked_us": marked["us"], "expected_us": time_with_marks(answer, position)}
        launches.append(one | {key: marked[key] for key in ("slowdown", "error") if key in marked})
    return launches


def table_of_marks(file: Path) -> str:
    """One line a launch, then the mean and the largest slowdown, and the errors of the expected time with marks."""
    lines = [
        "| kernel | launch | us | marks | slowdown | with marks | expected |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    costs, errors = [], []
    for one in json.loads(file.read_text(encoding="utf-8")):
        told = f"| {one['kernel']} | {one['launch']} | {one['us']:.1f} | {one['marks']} |"
        if "error" in one:
            lines.append(f"{told} {one['error']} | | |")
            continue
        costs.append(one["slowdown"] - 1)
        errors.append(one["expected_us"] / one["marked_us"] - 1)
        lines.append(
            f"{told} {costs[-1]:.1%} | {one['marked_us']:.1f} | {one['expected_us']:.1f} ({errors[-1]:+.1%}) |"
        )
    if costs:
        lines.append(f"\n{len(costs)} launches: slowed down by {mean(costs):.1%} on average, {max(costs):.1%} at most")
        lines.append(summary_of_errors(errors))
    return "\n".join(lines)


def summary_of_errors(errors: Sequence[float]) -> str:
    sizes = [abs(error) for error in errors]
    within = sum(size <= WITHIN for size in sizes)
    return (
        f"time with marks: mean error {mean(sizes):.1%}, largest {max(sizes):.1%}, {within} of {len(sizes)} within "
        f"{WITHIN:.0%}"
    )
