"""`python -m benchmarks.gpu`: search for every row, then measure all columns of the table on the same device.

    python -m benchmarks.gpu search --out results/ --evaluations 80
    python -m benchmarks.gpu table --out results/ --autokernel ../autokernel
    python -m benchmarks.gpu show --out results/
    python -m benchmarks.gpu corpus --out results/
    python -m benchmarks.gpu loops --out results/
    python -m benchmarks.gpu groups --out results/
    python -m benchmarks.gpu marks --out results/
    python -m benchmarks.gpu advice --out results/ --evaluations 10
    python -m benchmarks.gpu problems level1/1-18,40 --out results/ --evaluations 8
    python -m benchmarks.gpu starts level1/1-100

Each command keeps its results in the folder of `--out`.
"""

from __future__ import annotations

import argparse
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "what",
        choices=(
            *("search", "table", "show", "corpus", "loops", "groups", "marks", "advice", "problems", "starts"),
            *("one", "row", "problem", "advised"),  # parts of search, table, problems and advice
        ),
    )
    parser.add_argument("names", nargs="*", help="rows or operations (default: all)")
    parser.add_argument("--out", type=Path, default=Path("runs/gpu"))
    parser.add_argument("--evaluations", type=int, default=80)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--at-once", type=int, default=8, help="rows at a time")
    parser.add_argument("--threads", type=int, default=2, help="kernels of a row at a time")
    parser.add_argument("--target", action="append", help="a device as in autocomp search --target; several take turns")
    parser.add_argument("--autokernel", type=Path, default=None, help="a checkout of AutoKernel, for its starters")
    given = parser.parse_args()
    targets = tuple(given.target or ("triton",))
    given.out.mkdir(parents=True, exist_ok=True)
    if given.what == "show":
        from benchmarks.gpu.show import table

        print(table(given.out))
    elif given.what == "corpus":
        from benchmarks.gpu.corpus import judge_corpus

        judge_corpus(given.out, targets[0], given.threads)
    elif given.what == "loops":
        from benchmarks.gpu.loops import measure_loops

        measure_loops(given.out, targets[0], given.threads)
    elif given.what == "groups":
        from benchmarks.gpu.groups import measure_groups

        measure_groups(given.out, targets[0], given.threads)
    elif given.what == "marks":
        from benchmarks.gpu.marks import measure_marks

        measure_marks(given.out, targets[0], given.threads)
    elif given.what in ("advice", "advised"):
        from benchmarks.gpu.advice import Effort, compare, compare_all

        effort = Effort(given.evaluations, given.threads)
        if given.what == "advised":
            compare(given.names[0], given.out, effort, targets[0])
        else:
            compare_all(given.out, given.names, effort, targets[0], given.at_once)
    elif given.what in ("problems", "starts", "problem"):
        from benchmarks.gpu import kernelbench

        if given.what == "problem":
            kernelbench.run_problem(given.out, given.names[0], given.evaluations)
            return
        level, _, span = given.names[0].partition("/")
        numbers = []
        for part in span.split(","):
            first, _, last = part.partition("-")
            numbers += [str(number) for number in range(int(first), int(last or first) + 1)]
        if given.what == "starts":
            kernelbench.count_starts(level, numbers)
        else:
            kernelbench.run_all(given.out, level, numbers, given.evaluations, given.seconds, given.at_once)
    elif given.what in ("search", "one"):
        from benchmarks.gpu.searches import Budget, search_all, search_one

        budget = Budget(given.evaluations, given.threads, targets, given.seconds)
        if given.what == "one":
            search_one(given.names[0], given.out, budget)
        else:
            search_all(given.out, given.names, budget, given.seconds, given.at_once)
    else:
        from benchmarks.gpu.table import measure_all, measure_row

        if given.what == "row":
            measure_row(given.names[0], given.out, given.autokernel, targets[0])
        else:
            measure_all(given.out, given.names, given.autokernel, given.at_once, given.seconds, targets)


main()
