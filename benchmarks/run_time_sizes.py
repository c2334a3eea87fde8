"""Sizes at run time: the exported function that takes them, against a kernel searched for each of them.

    python -m benchmarks.run_time_sizes SCHEDULE... --sizes N... [--evaluations E]

The schedules are of one operation, and differ in the size of their first dimension. Prints Markdown, a row a size: the
cycles of the function's calls and of the kernel of any size alone. `searched for it` is the best kernel that a search
of E evaluations finds for this very size. All are measured on the simulator.
"""

from __future__ import annotations

import argparse
from collections import Counter

import autocomp
from autocomp.export import Schedule, of_record
from autocomp.export.any_size import AnySize, any_size_cycles, resized
from autocomp.export.dispatch import Dispatch, dispatches
from autocomp.schedules.store import find, record_at
from autocomp.targets.registry import load_target
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.target import accelerator_of

EVALUATIONS = 8
COLUMNS = ("size", "calls", "cycles", "any size alone", "searched for it", "ratio")


def row(operation: Dispatch, size: int, evaluations: int, accelerator: Accelerator) -> str:
    """The figures of one size of the first dimension."""
    first = operation.schedules[0]
    dims = {**first.dims, next(iter(first.dims)): size}
    fallback = operation.fallback
    alone = any_size_cycles(fallback, dims, accelerator) if isinstance(fallback, AnySize) else None
    cycles, calls = 0, Counter[str]()
    for call in operation.calls(dims):
        if call.schedule is not None:
            cycles += call.schedule.cycles
            calls[str(call.schedule.dims[next(iter(dims))])] += 1
        elif isinstance(fallback, AnySize):
            cycles += any_size_cycles(fallback, call.dims, accelerator)
            calls["any"] += 1
    workload = resized(first, accelerator, dims)
    searched = autocomp.lookup_or_adapt(workload, evaluations=evaluations, keep=False).record.result.value
    by = " + ".join(f"{count} x {name}" for name, count in calls.items())
    figures = [f"{cycles:,}", "-" if alone is None else f"{alone:,}", f"{searched:,.0f}", f"{cycles / searched:.2f}"]
    return f"| {size} | {by} | {' | '.join(figures)} |"


def _schedules(names: list[str]) -> tuple[list[Schedule], Accelerator]:
    records = [record_at(find(name, print)) for name in names]
    accelerator = accelerator_of(load_target(records[0].target.spec, records[0].target.parameters), "exporting")
    return [of_record(record, name, accelerator) for record, name in zip(records, names, strict=True)], accelerator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("schedules", nargs="+", metavar="SCHEDULE")
    parser.add_argument("--sizes", type=int, nargs="+", required=True)
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS)
    arguments = parser.parse_args()
    schedules, accelerator = _schedules(arguments.schedules)
    (operation,) = dispatches(schedules, accelerator)
    print(f"| {' | '.join(COLUMNS)} |\n|---:|---|{'---:|' * (len(COLUMNS) - 2)}")
    for size in arguments.sizes:
        print(row(operation, size, arguments.evaluations, accelerator), flush=True)


if __name__ == "__main__":
    main()
