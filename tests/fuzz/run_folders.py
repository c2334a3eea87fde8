"""Readers of run folders: of their log and their configuration."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from autocomp import workload as workloads
from autocomp.agents.config import Agents
from autocomp.report import RunView, make_console, print_search
from autocomp.report.page.document import run_document
from autocomp.report.page.html import render
from autocomp.report.runs.listing import comparison, listing, summary_of
from autocomp.search import Options, RunFolder
from autocomp.search.log.snapshot import Request, create, granted, restore
from autocomp.search.session import Means, run_session
from autocomp.targets import menu_file
from autocomp.targets.registry import load_target

from .folder import folder

NOW = datetime(2026, 1, 1)
BEAM = "beam"


@cache
def honest_run(strategy: str) -> Path:
    """A run of the rules agent on a small operation."""
    path = folder() / strategy
    loaded = workloads.load("tiny_gemm_edges")
    target = load_target(f"simulator:{loaded.accelerator}", loaded.overrides)
    options = Options(evaluations=6, max_steps=2)
    request = Request(loaded, target, menu_file.load(["gemm"]), Agents(), options, strategy)
    run = create(path, request, NOW)
    run_session(request, run, Means(executor="inline", cache=False))
    return path


def run_file(name: str) -> Callable[[], list[bytes]]:
    return lambda: [(honest_run(BEAM) / name).read_bytes()]


def honest_logs() -> list[bytes]:
    """Logs that have events of all kinds between them."""
    cost = {"prompt_tokens": 5, "completion_tokens": 7, "requests": 1, "cached": 0, "money": 0.5, "unsent": 0}
    others: list[dict[str, Any]] = [
        {"kind": "grant", "key": "grant", "evaluations": 3, "seconds": 1.5, "tokens": None, "money": None},
        {"kind": "charge", "call": "plan/9/0", "cost": cost},
        {"kind": "cache", "damaged": 1},
        {"kind": "expired", "key": "expired", "step": 1},
    ]
    lines = [json.dumps({**event, "t": 0.5}).encode() + b"\n" for event in others]
    logs = [(honest_run(strategy) / "events.jsonl").read_bytes() for strategy in (BEAM, "evolve")]
    return [logs[0] + b"".join(lines), logs[1]]


def changed_run(name: str, data: bytes) -> RunFolder:
    """The honest run with other content in one of its files."""
    path = folder() / "run"
    if not path.exists():
        shutil.copytree(honest_run(BEAM), path)
    for file in ("config.json", "events.jsonl"):
        (path / file).write_bytes(data if file == name else (honest_run(BEAM) / file).read_bytes())
    return RunFolder.open(path)


def read_journal(data: bytes) -> None:
    run = changed_run("events.jsonl", data)
    view = RunView.of(run.events)
    console = make_console(io.StringIO(), plain=True)
    print_search(console, view)
    console.print(listing([summary_of(run)]))
    render(run_document(run, honest_request()))


def resume_journal(data: bytes) -> None:
    """As `autocomp resume` does, without new evaluations: those cost a second each."""
    run = changed_run("events.jsonl", data)
    request = honest_request()
    run_session(request, run, Means(executor="inline", cache=True))


@cache
def honest_request() -> Request:
    """The run's request, whose machine finds out once what it is in other conditions."""
    request = restore(RunFolder.open(honest_run(BEAM)))
    setattr(request.target, "conditions", cache(request.target.conditions))  # noqa: B010
    return request


def read_config(data: bytes) -> None:
    run = changed_run("config.json", data)
    console = make_console(io.StringIO(), plain=True)
    console.print(comparison([summary_of(run)]))
    request = granted(restore(run), run, Agents())
    workloads.make_inputs(request.workload, workloads.InputSet("random", "random", 0))
