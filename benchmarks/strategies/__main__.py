"""python -m benchmarks.strategies [--evaluations N] [--seeds N] [--workers N] [WORKLOAD...]

Every strategy gets the same number of evaluations on every workload, and no patience: it stops when they are spent, or
when it has nothing left. Prints Markdown: the median of the best cycles over the seeds, with the least and the most.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autocomp.search import Options
from autocomp.search.executors import available_cores
from autocomp.search.session import Means
from autocomp.search.strategies import STRATEGIES
from benchmarks.searching import NO_PATIENCE, request_for, search

WORKLOADS = ("gemm_100x70x30",)
EVALUATIONS = 20
SEEDS = 5


@dataclass(frozen=True)
class Outcome:
    workload: str
    strategy: str
    seed: int
    naive: int
    best: int
    evaluations: int
    seconds: float


def outcomes(names: Sequence[str], evaluations: int, seeds: int, means: Means) -> Iterator[Outcome]:
    """All runs, one after the other; verdicts that one run has made are not made again for another."""
    for name in names:
        for strategy in STRATEGIES:
            for seed in range(seeds):
                options = Options(seed=seed, evaluations=evaluations, patience=NO_PATIENCE, max_steps=NO_PATIENCE)
                started = time.monotonic()
                result = search(request_for(name, options, strategy=strategy), means).result
                seconds = time.monotonic() - started
                best = result.best.value
                yield Outcome(name, strategy, seed, result.naive.value, best, result.evaluations, seconds)


def table(results: Sequence[Outcome]) -> Iterator[str]:
    """A line a workload and strategy."""
    yield "| workload | strategy | median cycles | least to most | median gain | evaluations | median seconds |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for name, strategy in dict.fromkeys((o.workload, o.strategy) for o in results):
        group = [o for o in results if (o.workload, o.strategy) == (name, strategy)]
        cycles = [o.best for o in group]
        median = statistics.median(cycles)
        made = statistics.median(o.evaluations for o in group)
        seconds = statistics.median(o.seconds for o in group)
        yield (
            f"| `{name}` | `{strategy}` | {median:,.0f} | {min(cycles):,} to {max(cycles):,} "
            f"| {group[0].naive / median:.2f}x | {made:.0f} | {seconds:.0f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=WORKLOADS)
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--workers", type=int, default=available_cores())
    given = parser.parse_args()
    results = []
    for outcome in outcomes(given.workloads, given.evaluations, given.seeds, Means(given.workers)):
        print(f"{outcome.workload} {outcome.strategy} seed {outcome.seed}: {outcome.best:,}", file=sys.stderr)
        results.append(outcome)
    print(f"{given.evaluations} evaluations, {given.seeds} seeds, rules agent\n")
    print("\n".join(table(results)))


if __name__ == "__main__":
    main()
