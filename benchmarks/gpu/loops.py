"""The model of pipelined loops on the device: products with many tiles and stages, forecast beside measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

from autocomp.targets.registry import load_target
from autocomp.targets.triton.language import parse
from autocomp.targets.triton.pipelining import Forecast, forecast, time_with_marks
from autocomp.targets.triton.rewrites.registry import rewrite
from autocomp.targets.triton.target import TritonTarget
from benchmarks.gpu.marks import summary_of_errors
from benchmarks.gpu.rows import Row

FILE = "loops.json"
TILES = (  # rows, columns, depth, warps
    (128, 256, 64, 8),
    (128, 128, 64, 8),
    (128, 128, 64, 4),
    (64, 128, 64, 4),
    (128, 64, 64, 4),
    (64, 256, 64, 4),
    (64, 64, 64, 4),
    (256, 64, 64, 8),
    (128, 128, 32, 8),
    (64, 128, 128, 4),
    (64, 64, 128, 4),
)
STAGES = (2, 3, 4)
SIZE, SMALL = 4096, 2048
KEPT_OF_MARKED = (
    *("rounds", "block_ns", "blocks", "made", "at_a_time", "clock_ghz"),
    *("slowdown", "us", "plain_us", "buffer", "shared"),
)


def measure_loops(folder: Path, target: str, threads: int) -> None:
    """Record every product and keep what the model reads."""
    device = load_target(target)
    if not isinstance(device, TritonTarget):
        raise SystemExit(f"{target} is not a GPU")
    jobs = [(tile, stages, SIZE) for tile in TILES for stages in STAGES]
    jobs += [(TILES[1], stages, SMALL) for stages in STAGES]
    with ThreadPoolExecutor(threads) as pool:
        documents = list(pool.map(lambda job: _recorded(device, *job), jobs))
    lines = ",\n".join(json.dumps(document) for document in documents)
    (folder / FILE).write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(table_of_loops(folder / FILE, device.device.capability))


def _recorded(device: TritonTarget, tile: Sequence[int], stages: int, size: int) -> dict[str, Any]:
    workload = Row("product", "matmul", {"M": size, "N": size, "K": size}).workload()
    module, kernel = parse(device.starting_kernel(workload)), "matmul_kernel"
    module = rewrite("tensor_descriptors").apply(module, {"kernel": kernel, "stores": False})
    kernel += "_descriptors"
    module = rewrite("group_programs").apply(module, {"kernel": kernel, "group": 8})
    names = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages")
    values = dict(zip(names, (*tile, stages), strict=True))
    module = rewrite("set_parameters").apply(module, {"kernel": kernel, "values": values})
    answer = device.record(module.text, workload, counters=False).answer
    return {"tile": list(tile), "size": size, **_kept(answer)}


def _kept(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a recorder's answer for one launch that the model reads."""
    launch, marked = answer["launches"][0], answer["marked"][0]
    general = {key: answer[key] for key in ("record_cycles", "empty_us", "clock_mhz", "multiprocessors")}
    kept = {key: marked[key] for key in KEPT_OF_MARKED} | {"marks": [{"loop": m["loop"]} for m in marked["marks"]]}
    kept["stays"] = [{"mark": {"kind": s["mark"]["kind"]}, "cycles": s["cycles"]} for s in marked["stays"]]
    return {**general, "launches": [launch], "marked": [kept]}


def table_of_loops(file: Path, capability: Sequence[int] = (9, 0)) -> str:
    """One line a product, then the mean and the largest error, and the correlation of the orders."""
    lines = ["| tile, warps, stages | size | measured us | forecast us | error | limit | slowdown by marks |"]
    lines.append("|---|---:|---:|---:|---:|---|---:|")
    errors, pairs, slowdowns, costs = [], [], [], []
    documents = json.loads(file.read_text(encoding="utf-8"))
    for document in documents:
        predicted, launch = forecast(document, 0, capability), document["launches"][0]
        if not isinstance(predicted, Forecast):
            lines.append(f"| {document['tile']} | {document['size']} | {launch['us']:.1f} | {predicted} | | | |")
            continue
        rows, cols, depth, warps = document["tile"]
        slowdown = document["marked"][0]["slowdown"]
        lines.append(
            f"| {rows}x{cols}x{depth}, {warps}, {launch['stages']} | {document['size']} | "
            f"{predicted.measured_us:.1f} | {predicted.us:.1f} | {predicted.error:+.1%} | "
            f"{predicted.round.critical} | {slowdown:.2f} |"
        )
        errors.append(abs(predicted.error))
        pairs.append((predicted.us, predicted.measured_us))
        slowdowns.append(slowdown - 1)
        costs.append(time_with_marks(document, 0) / document["marked"][0]["us"] - 1)
    within = sum(error <= 0.1 for error in errors)
    lines.append(
        f"\n{len(errors)} products: mean error {mean(errors):.1%}, largest {max(errors):.1%}, {within} within 10 %; "
        f"Spearman {spearman(pairs):.3f}; marks slow down by {mean(slowdowns):.1%}, at most {max(slowdowns):.1%}"
    )
    lines.append(summary_of_errors(costs))
    lines.append(f"rounds with more stages, from two: mean error {mean(errors_of_stages(documents, capability)):.1%}")
    return "\n".join(lines)


def errors_of_stages(documents: Sequence[Mapping[str, Any]], capability: Sequence[int]) -> list[float]:
    """Of the cycles of a round with three and four stages, as forecast from a recording with two."""
    rounds = {}
    for document in documents:
        predicted = forecast(document, 0, capability)
        if isinstance(predicted, Forecast):
            rounds[(*document["tile"], document["size"], predicted.round.stages)] = predicted.round
    pairs = [(rounds.get((*key, 2)), more) for (*key, stages), more in rounds.items() if stages > 2]
    return [abs(two.at(more.stages, more.blocks) / more.cycles - 1) for two, more in pairs if two]


def spearman(pairs: Sequence[tuple[float, float]]) -> float:
    """The correlation of the orders of two rows of different numbers."""
    ranks = []
    for side in (0, 1):
        order = sorted(range(len(pairs)), key=lambda i: pairs[i][side])
        ranks.append([order.index(i) for i in range(len(pairs))])
    count = len(pairs)
    return 1 - 6 * sum((a - b) ** 2 for a, b in zip(*ranks, strict=True)) / (count * (count**2 - 1))
