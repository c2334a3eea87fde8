"""The worth of a related schedule to a search.

    python -m benchmarks.reuse [--seeds N] [--evaluations N] [--svg FILE] [PAIR...]

Each pair is a problem that has a schedule, the shipped one or that of a search, and a similar problem. Each seed
searches the second problem without reuse, with --evaluations, and with the schedule of the first, with a dozen. Prints
Markdown: the share of the bound that the best kernel reaches after several numbers of evaluations, as the median of the
seeds. The last column compares ten evaluations with reuse to the whole search without it. --svg draws the medians as
curves. Continues in --folder where it was interrupted.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from autocomp import workload as workloads
from autocomp.agents.config import Agents
from autocomp.data import data_dir
from autocomp.schedules.from_run import record_of
from autocomp.schedules.measured import operation_of
from autocomp.schedules.record import ScheduleRecord
from autocomp.schedules.reuse import precedents_for
from autocomp.schedules.store import Store, all_schedules, record_at
from autocomp.search import Options, RunFolder, SearchResult
from autocomp.search.log.snapshot import Request, create, restore
from autocomp.search.session import Means, run_session
from autocomp.targets import menu_file
from autocomp.targets.planning import Precedent
from autocomp.targets.registry import load_target
from autocomp.workload import Workload
from benchmarks.curves import Curve, Panel, drawing

EVALUATIONS = 40  # of a search without reuse
BEFORE = 30  # for a schedule that does not ship
WITH_REUSE = 12
FIRST = 10
SHOWN = (2, 5, 10, 20, 30, 40)  # evaluations
BEAM, PLANS = 3, 4


def gemm(rows: int, cols: int, depth: int, **parameters: int) -> dict[str, Any]:
    return {"operation": "gemm", "dims": {"I": rows, "J": cols, "K": depth}, "set": parameters}


def layer(rows: int, cols: int, depth: int) -> dict[str, Any]:
    """A 1x1 convolution of ResNet-50 before an addition."""
    return {**gemm(rows, cols, depth), "bias": "row", "scale": 2.0**-10}


def convolution(size: int, channels: int) -> dict[str, Any]:
    """A 3x3 convolution of ResNet-50."""
    dims = {"N": 1, "H": size, "W": size, "C": channels, "K": channels, "R": 3, "S": 3}
    options = {"padding": 1, "bias": "row", "activation": "relu", "scale": 2.0**-10}
    return {"operation": "conv2d", "dims": dims, **options}


PAIRS: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "1024^3 -> 512^3": (gemm(1024, 1024, 1024), gemm(512, 512, 512)),
    "12544x256x64 -> 12544x128x64": (gemm(12544, 256, 64), gemm(12544, 128, 64)),
    "ResNet-50, 3136x256x64 -> 784x512x128": (layer(3136, 256, 64), layer(784, 512, 128)),
    "ResNet-50, 28x28x128 -> 14x14x256": (convolution(28, 128), convolution(14, 256)),
    "512^3, DIM 16 -> 32": (gemm(512, 512, 512), gemm(512, 512, 512, DIM=32)),
}


@dataclass(frozen=True)
class Curves:
    """The ratio of the bound to the best cycles so far after each evaluation."""

    without: Curve
    reusing: Curve

    @property
    def reached(self) -> float:
        """The share of the whole search's result without reuse that the first evaluations with reuse reach."""
        return self.reusing[FIRST - 1] / self.without[-1]


def problem(document: Mapping[str, Any]) -> Workload:
    name = "_".join(f"{key}{size}" for key, size in {**document["dims"], **document.get("set", {})}.items())
    text = yaml.safe_dump({"accelerator": "gemmini", **document})
    return workloads.parse(text, Path(f"{document['operation']}_{name}.yaml"))


def search(
    workload: Workload, precedents: Sequence[Precedent], seed: int, evaluations: int, path: Path
) -> tuple[Request, RunFolder, SearchResult]:
    """One search in a folder, or what is there already."""
    if (path / "config.json").exists():
        folder = RunFolder.open(path)
        request = restore(folder)
    else:
        target = load_target(workload.target, workload.overrides)
        options = Options(seed, BEAM, PLANS, evaluations=evaluations, patience=evaluations, ratio=1.0)
        chosen = menu_file.load([workload.operation]).for_operation(workload.operation)
        request = Request(workload, target, chosen, Agents(), options, precedents=tuple(precedents))
        folder = create(path, request, datetime.now().astimezone())
    return request, folder, run_session(request, folder, Means())


def curve(result: SearchResult, evaluations: int) -> Curve:
    """Kernels that were not evaluated have no point; those that fail do not improve on the ones before. A search that
    ended early stays where it was."""
    ratios = ((c.evaluation.ratio or 0.0) if c.promising else 0.0 for c in result.history if c.evaluation is not None)
    points = tuple(itertools.accumulate(ratios, max))[:evaluations]
    return points + points[-1:] * (evaluations - len(points))


def shipped(workload: Workload) -> ScheduleRecord | None:
    """The schedule that ships of a workload, if there is one, on whatever description of its machine."""
    machine = load_target(workload.target, workload.overrides)
    for stored in all_schedules(print, [data_dir("schedules")]):
        record = record_at(stored)
        same_machine = (record.target.name, record.target.parameters) == (
            machine.name,
            machine.parameters,
        )
        if same_machine and record.operation == operation_of(workload):
            return record
    return None


def searched(workload: Workload, path: Path) -> ScheduleRecord:
    """The schedule that a search without reuse finds."""
    request, folder, result = search(workload, (), 0, BEFORE, path)
    return record_of(request, result, result.best, folder.kernel(result.best.kernel), datetime.now().astimezone())


def curves(pair: tuple[dict[str, Any], dict[str, Any]], seeds: int, evaluations: int, folder: Path) -> list[Curves]:
    """The curves of each seed."""
    before, after = map(problem, pair)
    place = folder / f"{before.name}-{after.name}"
    store = Store(place / "schedules")
    store.put(shipped(before) or searched(before, place / "before"))
    precedents = precedents_for(after, load_target(after.target, after.overrides), 1, print, [store.root])
    pairs: list[Curves] = []
    for seed in range(seeds):
        _, _, without = search(after, (), seed, evaluations, place / str(seed) / "without")
        _, _, reusing = search(after, precedents, seed, WITH_REUSE, place / str(seed) / "reusing")
        pairs.append(Curves(curve(without, evaluations), curve(reusing, WITH_REUSE)))
    return pairs


def medians(curves: Sequence[Curves]) -> dict[str, Curve]:
    """Of the searches without and with reuse, after each evaluation the median of the seeds."""
    curves_of = {"without": [c.without for c in curves], "with": [c.reusing for c in curves]}
    return {label: tuple(map(statistics.median, zip(*members, strict=True))) for label, members in curves_of.items()}


def rows(name: str, curves: Sequence[Curves]) -> Iterator[str]:
    """Two lines of the table."""
    for label, points in medians(curves).items():
        cells = [f"{points[count - 1]:.1%}" if count <= len(points) else "" for count in SHOWN]
        reached = f"{statistics.median(c.reached for c in curves):.1%}" if label == "with" else ""
        yield f"| {name if label == 'without' else ''} | {label} | {' | '.join(cells)} | {reached} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="*", metavar="PAIR", help=f"default: all; known: {', '.join(PAIRS)}")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS)
    parser.add_argument("--svg", type=Path, help="file for the curves")
    parser.add_argument("--folder", type=Path, default=Path("build/reuse"))
    arguments = parser.parse_args()
    heads = " | ".join(f"after {count}" for count in SHOWN)
    print(f"| from -> to | reuse | {heads} | {FIRST} with of all without |")
    print("|---|---|" + "---:|" * (len(SHOWN) + 1))
    panels: list[Panel] = []
    for name in arguments.pairs or PAIRS:
        if name not in PAIRS:
            sys.exit(f"no pair called {name!r}; known: {', '.join(PAIRS)}")
        pair_curves = curves(PAIRS[name], arguments.seeds, arguments.evaluations, arguments.folder)
        print("\n".join(rows(name, pair_curves)), flush=True)
        panels.append(Panel(name, {f"{label} reuse": points for label, points in medians(pair_curves).items()}))
    if arguments.svg:
        arguments.svg.write_text(drawing(panels), encoding="utf-8")


if __name__ == "__main__":
    main()
