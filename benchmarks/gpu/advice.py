"""Does advice from a profile help the rules? Searches with it and without it, at equal evaluations and equal seeds.

The menu has no routes: those already are what measurements on such devices taught, so that a search with them has
little to learn from a profile. Starts and winners are measured side by side at the end.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from autocomp.agents.config import Agents
from autocomp.agents.factory import make_agents
from autocomp.search import Options, SearchResult
from autocomp.search.executors import make_executor
from autocomp.search.log.journal import Journal
from autocomp.search.log.snapshot import Request, create
from autocomp.search.search import Search
from autocomp.search.session import make_problem, strategy_of
from autocomp.targets import menu_file
from autocomp.targets.registry import load_target
from autocomp.targets.triton.transformations import SEQUENCE
from benchmarks.gpu.rows import row

ROWS = (
    "attention_2x32x4096x128",
    "fused_mlp_2048x2048x5504",
    "matmul_4096",
    "softmax_8192x8192",
    "layernorm_8192x8192",
    "rotary_2x32x2048x128",
    "cross_entropy_8192x32000",
    "scaled_matmul_1024x4608x7168",
)
FORMS = ("without", "with")
COLUMNS = ("start", *FORMS)
PLANS, BEAM, NO_PATIENCE = 3, 2, 10_000


@dataclass(frozen=True)
class Effort:
    """Of each search: evaluations, and kernels under evaluation at a time."""

    evaluations: int
    threads: int
    seed: int = 0


def compare_all(folder: Path, names: Sequence[str], effort: Effort, target: str, at_once: int) -> None:
    """Compare on every row, each in a process of its own."""
    waiting, running = list(names or ROWS), []
    while waiting or running:
        while waiting and len(running) < at_once:
            name = waiting.pop(0)
            command = [sys.executable, "-m", "benchmarks.gpu", "advised", name, "--out", str(folder)]
            command += ["--evaluations", str(effort.evaluations), "--threads", str(effort.threads), "--target", target]
            log = (folder / f"{name}.advice.log").open("wb")
            running.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT))
        running = [process for process in running if process.poll() is None]
        time.sleep(0.2)
    print(table(folder))


def compare(name: str, folder: Path, effort: Effort, target_name: str) -> None:
    """Both searches on one row; their kernels and what led to them go into the folder."""
    workload, target = row(name).workload(), load_target(target_name)
    menu = menu_file.load(["triton"])
    menu = replace(menu, options=tuple(option for option in menu.options if option.transformation != SEQUENCE))
    options = Options(
        seed=effort.seed,
        evaluations=effort.evaluations,
        plans_per_parent=PLANS,
        beam=BEAM,
        dropout=0.0,
        patience=NO_PATIENCE,
    )
    request = Request(workload, target, menu, Agents(), options, "beam")
    document: dict[str, Any] = {"row": name, "searches": {}}
    kernels = [target.starting_kernel(workload)]
    for form in FORMS:
        begun = time.monotonic()
        result, kernel = _search(request, folder / "runs" / f"{name}_{form}", form == "with", effort.threads)
        kernels.append(kernel)
        (folder / f"{name}.{form}.py").write_text(kernel, encoding="utf-8")
        document["searches"][form] = _told(result, time.monotonic() - begun)
    measured = target.evaluator(workload).measure_beside(kernels)
    for what, one in zip(COLUMNS, measured, strict=True):
        document[what] = None if one is None else {"us": one.value, "spread": one.spread}
    document["when"] = datetime.now().astimezone().isoformat(timespec="seconds")
    (folder / f"{name}.advice.json").write_text(json.dumps(document, indent=1), encoding="utf-8")


def _search(request: Request, place: Path, advised: bool, threads: int) -> tuple[SearchResult, str]:
    problem = make_problem(request, make_agents(request.agents, request.target))
    problem = replace(problem, agents=replace(problem.agents, diagnoses=advised))
    folder = create(place, request, datetime.now().astimezone())
    executor, journal = make_executor(f"threads:{threads}", 1), Journal(folder.events)
    try:
        search = Search(problem, strategy_of(request), request.options, folder, journal, executor, executor, None)
        result = search.run()
    finally:
        journal.close()
        executor.shutdown()
    return result, folder.kernel(result.best.kernel)


def _told(result: SearchResult, seconds: float) -> dict[str, Any]:
    lineage = [
        {"option": step.plan.option, "text": step.plan.text, "us": step.value}
        for step in result.history.lineage(result.best)
    ]
    return {
        "us": result.best.value,
        "evaluations": result.evaluations,
        "seconds": round(seconds, 1),
        "reason": result.reason,
        "lineage": lineage,
    }


def table(folder: Path) -> str:
    """One line a row, then what led to the kernel with advice."""
    lines = ["| operation | start | without advice | with advice | ratio |", "|---|---:|---:|---:|---:|"]
    steps = []
    for file in sorted(folder.glob("*.advice.json")):
        one = json.loads(file.read_text(encoding="utf-8"))
        cells = ["" if one[what] is None else f"{one[what]['us']:.1f} ± {one[what]['spread']:.1f}" for what in COLUMNS]
        told = all(one[form] for form in FORMS)
        ratio = f"{one['without']['us'] / one['with']['us']:.3f}" if told else ""
        lines.append(f"| {one['row']} | {' | '.join(cells)} | {ratio} |")
        for form in FORMS:
            search = one["searches"][form]
            steps.append(f"\n{one['row']}, {form} ({search['evaluations']} evaluations):")
            steps += [f"- {step['us']:.1f} us by {step['option']}: {step['text']}" for step in search["lineage"]]
    return "\n".join((*lines, *steps))
