"""python -m benchmarks.kernels [OPTIONS] [WORKLOAD...]; `--help` lists the options

How close the rules agent comes to the bound and to the vendor library, from the naive kernel. Of several seeds the
table shows the median; `--curve` adds the best cycles against evaluations and seconds, `--svg FILE` draws them.
`--without TRANSFORMATION` leaves an option out (`benchmarks.ablation` does so with each); `--set NAME=N` changes the
machine. With `--evaluations` in place of `--seconds`, results do not depend on how busy the machine is.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil
from pathlib import Path

from autocomp.search import Options, SearchResult
from autocomp.search.executors import available_cores
from autocomp.search.journal import Event
from autocomp.search.session import Means
from autocomp.search.snapshot import Request
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.start.library import library_kernel
from autocomp.workload import Workload
from benchmarks.curves import Panel, drawing
from benchmarks.searching import request_for, search

EXO = (
    "gemm_512x512x512",
    "gemm_12544x256x64",
    "gemm_12544x64x256",
    "gemm_3136x512x128",
    "gemm_3136x128x512",
    "gemm_784x1024x256",
)
OTHERS = (
    "gemm_32x2048x2048",
    "gemm_1024x1024x1024",
    "gemm_256x256x256",
    "gemm_6272x256x64",
    "gemm_12544x128x64",
    "gemm_12544x256x128",
    "gemm_128x1024x1024",
    "gemm_64x1024x1024",
    "gemm_32x1024x1024",
    "gemm_100x70x30",
    "gemm_1x1000x2048",
    "gemm_17x33x65",
    "gemm_4096x16x16",
    "gemm_transposed_a",
    "gemm_transposed_b",
    "gemm_bias_relu",
)
_SECONDS = 120.0  # a search, if no budget is given
CONVOLUTIONS = (
    "conv_14_128",
    "conv_14_256",
    "conv_28_128",
    "conv_56_64",
    "conv_stem",
    "conv_pointwise",
    "conv_strided",
    "conv_padded",
    "conv_depthwise",
    "conv_pooled",
)
QUICK = ("gemm_512x512x512", "gemm_32x1024x1024", "gemm_100x70x30")


@dataclass(frozen=True)
class Row:
    """One search. `curve` holds (evaluations, seconds, best cycles so far) whenever the best changed."""

    workload: str
    seed: int
    bound_cycles: int
    naive_cycles: int
    fsm_cycles: int | None  # of the vendor library; None where it cannot do this
    best_cycles: int
    evaluations: int
    seconds: float
    curve: tuple[tuple[int, float, int], ...]


def row(name: str, budget: Options, without: Collection[str], overrides: Mapping[str, int | float]) -> Row:
    request, result, events = search_without(name, budget, without, overrides)
    bound = result.best.evaluation.bound.cycles if result.best.evaluation and result.best.evaluation.bound else 1
    library = _library_cycles(request.workload, request.accelerator)
    counts = result.naive.cycles, library, result.best.cycles, result.evaluations, round(result.seconds, 1)
    return Row(name, budget.seed, bound, *counts, tuple(_curve(events)))


def search_without(
    name: str, budget: Options, without: Collection[str], overrides: Mapping[str, int | float]
) -> tuple[Request, SearchResult, Sequence[Event]]:
    """A search of which the menu lacks some transformations: what was asked, what came of it, and its log."""
    request = request_for(name, budget, overrides=overrides)
    general = request.menu.for_operation(request.workload.operation)
    options = tuple(option for option in general.options if option.transformation not in without)
    request = replace(request, menu=replace(general, options=options))
    return request, *search(request, Means(available_cores(), cache=False))


def _curve(events: Sequence[Event]) -> Iterator[tuple[int, float, int]]:
    best: int | None = None
    evaluated = 0
    for event in events:
        if event["kind"] != "candidate" or event.get("cycles") is None:
            continue
        evaluated += 1
        if event["outcome"] in ("correct", "passed smoke") and (best is None or event["cycles"] < best):
            best = event["cycles"]
            yield evaluated, event["t"], best


def _library_cycles(workload: Workload, accelerator: Accelerator) -> int | None:
    text = library_kernel(workload, accelerator)
    found = (
        None if text is None else SimulatorEvaluator(accelerator, workload).evaluate(text, stages=("check", "smoke"))
    )
    return found.cycles if found is not None and found.correct else None


def panel(found: Row) -> Panel:
    """The share of the bound that a search had come to, by evaluations and by seconds on the same axis."""
    by_evaluations = {count: best for count, _, best in found.curve}
    by_seconds = {max(1, ceil(at)): best for _, at, best in found.curve}  # the last, and so the best, in each second
    ends = {"evaluations": (by_evaluations, found.evaluations), "seconds": (by_seconds, ceil(found.seconds))}
    curves = {name: tuple(_shares(best, found.bound_cycles, last)) for name, (best, last) in ends.items()}
    return Panel(found.workload, curves, axis="")


def _shares(best: Mapping[int, int], bound: int, last: int) -> Iterator[float]:
    share = 0.0
    for number in range(1, last + 1):
        share = bound / best[number] if number in best else share
        yield share


def table(rows: Sequence[Row]) -> Iterator[str]:
    """A line a workload, of the seed with the median result."""
    yield "| workload | bound | naive | FSM | found | of the bound | against FSM | evaluations | seconds |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for name in dict.fromkeys(found.workload for found in rows):
        group = sorted((found for found in rows if found.workload == name), key=lambda found: found.best_cycles)
        shown = group[len(group) // 2]
        library = f"{shown.fsm_cycles:,}" if shown.fsm_cycles else "–"
        against = f"{shown.fsm_cycles / shown.best_cycles:.3f}" if shown.fsm_cycles else "–"
        yield (
            f"| `{name}` | {shown.bound_cycles:,} | {shown.naive_cycles:,} | {library} | {shown.best_cycles:,} "
            f"| {shown.bound_cycles / shown.best_cycles:.1%} | {against} "
            f"| {shown.evaluations} | {statistics.median(found.seconds for found in group):.0f} |"
        )


def _override(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    return name, int(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--curve", action="store_true")
    parser.add_argument("--svg", type=Path, help="file for the curves of each workload's first seed")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--evaluations", type=int)
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--set", dest="overrides", type=_override, action="append", default=[])
    given = parser.parse_args()
    names = given.workloads or (QUICK if given.quick else EXO + OTHERS + CONVOLUTIONS)
    rows = []
    for name in names:
        for seed in range(1 if given.quick else given.seeds):
            seconds = given.seconds if given.seconds or given.evaluations else _SECONDS
            budget = Options(seed=seed, seconds=seconds, evaluations=given.evaluations)
            rows.append(row(name, budget, given.without, dict(given.overrides)))
            print(f"{name} seed {seed}: {rows[-1].best_cycles:,}", file=sys.stderr)
    if given.svg:
        given.svg.write_text(drawing([panel(found) for found in rows if found.seed == 0]), encoding="utf-8")
    if given.json:
        print(json.dumps([asdict(found) for found in rows], indent=2))
        return
    print("\n".join(table(rows)))
    for found in rows if given.curve else ():
        print(f"\n{found.workload}, seed {found.seed}: evaluations, seconds, best cycles")
        print("\n".join(f"{count:6} {at:8.1f} {best:12,}" for count, at, best in found.curve))


if __name__ == "__main__":
    main()
