"""python -m benchmarks.feedback [--evaluations N] [--seeds N] [WORKLOAD...]

Does it help the rules planner to know the critical path and what the simulator answers to what-ifs? Beam searches with
it and without it get the same number of evaluations, with equal seeds, and no patience. Prints Markdown: the median of
the best cycles over the seeds after a third and after all of the evaluations, with the least and the most.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from autocomp.agents.factory import make_agents
from autocomp.report.runs.run import RunView
from autocomp.search import Options
from autocomp.search.executors import make_executor
from autocomp.search.log.journal import Journal
from autocomp.search.log.snapshot import create
from autocomp.search.search import Search
from autocomp.search.session import make_problem, strategy_of
from benchmarks.searching import NO_PATIENCE, request_for

WORKLOADS = ("gemm_100x70x30", "tiny_gemm")
EVALUATIONS = 24
SEEDS = 3
FORMS = ("with", "without")


@dataclass(frozen=True)
class Outcome:
    workload: str
    form: str
    third: int  # best cycles after a third of the evaluations
    best: int
    seconds: float


def outcome(name: str, form: str, seed: int, evaluations: int) -> Outcome:
    """One search in this process."""
    options = Options(seed=seed, evaluations=evaluations, patience=NO_PATIENCE, max_steps=NO_PATIENCE)
    request = request_for(name, options)
    problem = make_problem(request, make_agents(request.agents, request.target))
    problem = replace(problem, agents=replace(problem.agents, diagnoses=form == "with"))
    executor = make_executor("inline", 1)
    with tempfile.TemporaryDirectory() as scratch:
        folder = create(Path(scratch) / "run", request, datetime.now())
        journal = Journal(folder.events)
        started = time.process_time()
        try:
            result = Search(problem, strategy_of(request), options, folder, journal, executor, executor, None).run()
        finally:
            journal.close()
            executor.shutdown()
        seconds = time.process_time() - started
        candidates = RunView.of(folder.events).candidates.values()
    assert result.best.value is not None
    early = [c["value"] for c in list(candidates)[: 1 + evaluations // 3] if c["value"]]
    return Outcome(name, form, min(early), result.best.value, seconds)


def table(results: Sequence[Outcome]) -> Iterator[str]:
    """A line a workload and form."""
    yield "| workload | critical path | after a third | after all | least to most | CPU seconds |"
    yield "|---|---|---:|---:|---:|---:|"
    for name, form in dict.fromkeys((o.workload, o.form) for o in results):
        group = [o for o in results if (o.workload, o.form) == (name, form)]
        cycles = [o.best for o in group]
        yield (
            f"| `{name}` | {form} | {statistics.median(o.third for o in group):,.0f} "
            f"| {statistics.median(cycles):,.0f} | {min(cycles):,} to {max(cycles):,} "
            f"| {statistics.median(o.seconds for o in group):.0f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=WORKLOADS)
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    given = parser.parse_args()
    results = []
    for name in given.workloads:
        for seed in range(given.seeds):
            for form in FORMS:
                results.append(outcome(name, form, seed, given.evaluations))
                print(f"{name} seed {seed} {form}: {results[-1].best:,} ({results[-1].seconds:.0f} s)", file=sys.stderr)
    print(f"{given.evaluations} evaluations, {given.seeds} seeds, rules agent, beam\n")
    print("\n".join(table(results)))


if __name__ == "__main__":
    main()
