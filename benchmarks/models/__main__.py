"""Measure a language model as an agent.

    python -m benchmarks.models openai:MODEL[@BASE_URL] --base FOLDER [--tokens 200000] [WORKLOAD...]

searches ten workloads with the prompts of this checkout and of FOLDER, an earlier one with an environment of its own
(`make -C FOLDER .venv/.core`), at equal tokens. An agents file in place of the model states how it is asked. Prints
for each the best cycles, the share of kernels that were right at the first try, tokens and price.

    python -m benchmarks.models --recorded

replays the answers in `answers/`, which were written by hand as a capable model would. Prints the cycles of the first
answer, of the one after feedback, and of the rules agent after as many evaluations as --evaluations.

    python -m benchmarks.models --draft NAME MANUAL...

runs `autocomp isa draft` on the manuals, with a capable model's recorded answers in `drafts/NAME`, and prints its
report: `gemmini` with the README of ucb-bar/gemmini, `apple_amx` with pages of corsix/amx.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

import autocomp
from autocomp.agents.config import Agents, Member
from autocomp.search import Options
from benchmarks.endpoint import Body, Reply, completion, endpoint

HERE = Path(__file__).resolve().parents[2]
ANSWERS = Path(__file__).parent / "answers"
DRAFTS = Path(__file__).parent / "drafts"
WORKLOADS = (
    *("gemm_512", "gemm_256x256x256", "gemm_100x70x30", "gemm_17x33x65", "gemm_bias_relu"),
    *("conv_14_256", "conv_padded", "conv_strided", "tiny_gemm", "gemm_vta"),
)
RIGHT = ("correct", "screened")


@dataclass(frozen=True)
class Measured:
    """One search: the best cycles, kernels that were right at the first try of all written, tokens and price."""

    cycles: int
    right: int
    written: int
    tokens: int
    money: float


def searched(checkout: Path, workload: str, agents: Path, tokens: int, evaluations: int) -> Measured:
    """A search by a checkout's own command, without cache and earlier schedules."""
    with tempfile.TemporaryDirectory() as folder:
        own = {"AUTOCOMP_SCHEDULES": f"{folder}/store", "AUTOCOMP_SHIPPED_SCHEDULES": "0", "AUTOCOMP_CACHE": folder}
        fixed = ["--reuse", "0", "--no-cache", "--workers", "1", "--json", "--run-dir", "run"]
        budget = ["--tokens", str(tokens), "--evaluations", str(evaluations)]
        command = [checkout / ".venv/bin/autocomp", "search", workload, "--agents", agents, *budget, *fixed]
        done = subprocess.run(command, cwd=folder, env={**os.environ, **own}, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{checkout}: {workload}: {done.stderr}")
        document = json.loads(done.stdout)
        written = [c for c in candidates(Path(folder) / "run") if c["plan"] and c["plan"]["transformation"] is None]
    right = sum(1 for c in written if c["outcome"] in RIGHT and not c["repaired"])
    usage = document["usage"]
    return Measured(
        document["best_cycles"],
        right,
        len(written),
        usage["prompt_tokens"] + usage["completion_tokens"],
        usage.get("money", 0.0),
    )


def candidates(run: Path) -> list[dict[str, Any]]:
    """All kernels of a run but the start, as its log has them first."""
    events = [json.loads(line) for line in (run / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    return [e for e in events if e["kind"] == "candidate" and e["kernel"] and e["parent"] is not None]


def agents_file(model: str, folder: Path) -> Path:
    """The agents file that is given, or one that names the model."""
    if model.endswith((".yaml", ".yml")):
        return Path(model).resolve()
    file = folder / "agents.yaml"
    file.write_text(yaml.safe_dump({"planner": [{"model": model}]}))
    return file


def compare(model: str, base: Path, workloads: list[str], tokens: int, evaluations: int) -> None:
    print(
        "| workload | version | best cycles | right at the first try | tokens | price |\n|---|---|---:|---:|---:|---:|"
    )
    with tempfile.TemporaryDirectory() as folder:
        agents = agents_file(model, Path(folder))
        for workload in workloads:
            for name, checkout in (("before", base), ("now", HERE)):
                m = searched(checkout, workload, agents, tokens, evaluations)
                row = (
                    f"| {workload} | {name} | {m.cycles:,} | {m.right} of {m.written} | {m.tokens:,} | {m.money:.4g} |"
                )
                print(row, flush=True)


# --- recorded answers -----------------------------------------------------------------------------------------------


def replay(evaluations: int) -> None:
    print("| workload | first answer | after feedback | bound | rules agent |\n|---|---:|---:|---:|---:|")
    for folder in sorted(ANSWERS.iterdir()):
        print("| " + " | ".join((folder.name, *row(folder, evaluations))) + " |", flush=True)


def row(folder: Path, evaluations: int) -> Iterator[str]:
    """The cells of one workload, whose answers are in a folder of its name, with its file where it does not ship."""
    stated = folder / "workload.yaml"
    workload = str(stated) if stated.is_file() else folder.name
    left = [file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.md"))]

    def answer(body: Body) -> Reply:
        return completion(left.pop(0)) if left else Reply("{}", status=400)

    with tempfile.TemporaryDirectory() as place, endpoint(answer, ["recorded"]) as (spec,):
        os.environ["AUTOCOMP_CACHE"] = place
        agents = Agents((Member(spec),), phases=1)
        options = Options(max_steps=len(left), dropout=0.0, plans_per_parent=1, repair=False)
        run = Path(place) / "run"
        result = autocomp.search(workload, options=options, strategy="greedy", agents=agents, run=run)
        made = candidates(run)
        for candidate in (*made, *[None] * 2)[:2]:
            value = candidate and candidate["value"]
            yield "–" if candidate is None else f"{value:,}" if value else str(candidate["outcome"])
        rules = autocomp.search(workload, options=Options(evaluations=evaluations), run=Path(place) / "rules")
        yield "–" if result.bound is None else f"{result.bound:,}"
        yield f"{rules.best:,}"


def draft(name: str, manuals: list[str]) -> None:
    """A machine drafted from its manuals by recorded answers, checked and searched."""
    answers = sorted((DRAFTS / name).glob("*.isa"))
    left = [f"````isa\n{file.read_text(encoding='utf-8')}````" for file in answers]

    def answer(body: Body) -> Reply:
        return completion(left.pop(0)) if left else Reply("{}", status=400)

    with tempfile.TemporaryDirectory() as place, endpoint(answer, ["recorded"]) as (spec,):
        pages = [Path(manual).resolve() for manual in manuals]
        command = [sys.executable, "-m", "autocomp", "isa", "draft", *pages, "-o", f"{name}.isa", "--plain"]
        own = {**os.environ, "AUTOCOMP_CACHE": place}
        subprocess.run([*command, "--planner-model", spec], cwd=place, env=own, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", help="openai:MODEL[@BASE_URL], or an agents file")
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS))
    parser.add_argument("--base", type=Path, help="the earlier checkout")
    parser.add_argument("--tokens", type=int, default=200_000, help="of each search")
    parser.add_argument("--evaluations", type=int, default=20, help="of each search")
    parser.add_argument("--recorded", action="store_true", help="replay the recorded answers")
    parser.add_argument("--draft", nargs="+", metavar=("NAME", "MANUAL"), help="replay the drafts of manuals")
    arguments = parser.parse_args()
    if arguments.draft:
        draft(arguments.draft[0], arguments.draft[1:])
    elif arguments.recorded:
        replay(arguments.evaluations)
    elif arguments.model is None or arguments.base is None:
        parser.error("give a model and --base, --recorded or --draft")
    else:
        compare(arguments.model, arguments.base.resolve(), arguments.workloads, arguments.tokens, arguments.evaluations)


if __name__ == "__main__":
    main()
