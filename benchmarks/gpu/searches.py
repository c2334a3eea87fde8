"""One search for each row, several at a time: they take turns on the device and compile beside each other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from autocomp.agents.config import Agents
from autocomp.search import Options, RunFolder
from autocomp.search.log.journal import read_events
from autocomp.search.log.snapshot import Request, create
from autocomp.search.session import Means, run_session
from autocomp.targets import menu_file
from autocomp.targets.registry import load_target
from benchmarks.gpu.rows import ROWS, row

GRACE = 60.0  # seconds that a search may take beyond its own, to judge and measure its leaders again
PLANS, BEAM, PATIENCE = 12, 3, 3  # a plain kernel has a dozen routes; what is fast by then is refined


@dataclass(frozen=True)
class Budget:
    """Of each row: evaluations, seconds, and kernels under evaluation at a time. `targets` are devices, which rows take
    in turns."""

    evaluations: int = 80
    threads: int = 2
    targets: tuple[str, ...] = ("triton",)
    seconds: float | None = None


def search_all(folder: Path, names: Sequence[str], budget: Budget, seconds: float, at_once: int) -> None:
    """Search for every row in a process of its own. Those still waiting share what is left of `seconds`."""
    chosen = [known for known in ROWS if not names or known.name in names or known.operation in names]
    waiting = [known.name for known in chosen]
    running: dict[str, subprocess.Popen[bytes]] = {}
    begun = time.monotonic()
    ends = begun + seconds
    while (waiting or running) and time.monotonic() < ends + GRACE:
        while waiting and len(running) < at_once and time.monotonic() < ends:
            turns = -(-len(waiting) // at_once)
            name = waiting.pop(0)
            command = [sys.executable, "-m", "benchmarks.gpu", "one", name, "--out", str(folder)]
            command += ["--evaluations", str(budget.evaluations), "--threads", str(budget.threads)]
            command += ["--seconds", str((ends - time.monotonic()) / turns)]
            command += ["--target", budget.targets[(len(chosen) - len(waiting)) % len(budget.targets)]]
            log = (folder / f"{name}.log").open("wb")
            running[name] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        for name, process in list(running.items()):
            if process.poll() is not None:
                del running[name]
        time.sleep(0.2)
    for name, process in running.items():
        print(f"{name}: ended before its time", file=sys.stderr)
        os.killpg(process.pid, 9)


def search_one(name: str, folder: Path, budget: Budget) -> None:
    """One search; its best kernel and its lineage go into the folder."""
    chosen = row(name)
    workload = chosen.workload()
    target = load_target(budget.targets[0])
    options = Options(
        evaluations=budget.evaluations,
        seconds=budget.seconds,
        plans_per_parent=PLANS,
        beam=BEAM,
        dropout=0.0,
        patience=PATIENCE,
    )
    request = Request(workload, target, menu_file.load(["triton"]), Agents(), options, "beam")
    run, request = _begun(folder / "runs" / name, request)
    begun = time.monotonic()
    result = run_session(request, run, Means(executor=f"threads:{budget.threads}", cache=False))
    best = result.best
    kernel = run.kernel(best.kernel)
    (folder / f"{name}.py").write_text(kernel, encoding="utf-8")
    document = {
        "row": name,
        "us": best.value,
        "spread": best.evaluation.measurement.spread if best.evaluation and best.evaluation.measurement else None,
        "start_us": result.naive.value,
        "evaluations": result.evaluations,
        "outcomes": dict(result.history.outcomes()),
        "seconds": round(time.monotonic() - begun, 1),
        "reason": result.reason,
        "lineage": [
            {"option": step.plan.option, "text": step.plan.text, "us": step.value}
            for step in result.history.lineage(best)
        ],
        "device": target.greeting,
        "when": datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    (folder / f"{name}.json").write_text(json.dumps(document, indent=1), encoding="utf-8")


def _begun(path: Path, request: Request) -> tuple[RunFolder, Request]:
    """A new run, or the one that was begun in this folder, with as many seconds on top of those it has used."""
    if not path.is_dir():
        return create(path, request, datetime.now().astimezone()), request
    folder = RunFolder.open(path)
    events = read_events(folder.events)[0] if folder.events.exists() else []
    used = float(events[-1].get("t", 0.0)) if events else 0.0
    seconds = None if request.options.seconds is None else used + request.options.seconds
    return folder, replace(request, options=request.options.replace(seconds=seconds))
