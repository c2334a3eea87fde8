"""The cost of an evaluation by the size of the array: a naive GEMM on a systolic machine from 16 x 16 to 256 x 256.

    python -m benchmarks.array_sizes [--size N] [--repeat R]

Prints seconds of processor time for all five stages of one evaluation, and those of the 16 x 16 reference machine in
the same run. The last column is the ratio of the fastest repetitions of both.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.target import SimulatorTarget
from autocomp.workload import Workload, parse

REFERENCE, SYSTOLIC = "gemmini", "tpu_v1"
SIZES = (16, 32, 64, 96, 128, 192, 256)


def gemm(size: int) -> Workload:
    text = f"operation: gemm\naccelerator: {REFERENCE}\ndims: {{I: {size}, J: {size}, K: {size}}}\nscale: 0.01\n"
    return parse(text, Path("array_sizes.yaml"))


def seconds(accelerator: Accelerator, workload: Workload) -> tuple[float, int]:
    """Processor time of one evaluation of the naive kernel, and its cycles. Raises SystemExit if it is not correct."""
    kernel = starting_kernel(workload, accelerator)
    begin = time.process_time()
    evaluation = SimulatorTarget(accelerator).evaluator(workload).evaluate(kernel)
    spent = time.process_time() - begin
    if not evaluation.correct or evaluation.value is None:
        raise SystemExit(f"{accelerator.full_name}: the naive kernel fails: {evaluation.failure}")
    return spent, int(evaluation.value)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=512, help="rows, columns and depth of the product")
    parser.add_argument("--repeat", type=int, default=3, help="evaluations of each machine, in turns")
    options = parser.parse_args(arguments)
    workload = gemm(options.size)
    machines = {f"{REFERENCE}, 16 x 16": isa.load(REFERENCE)}
    machines |= {f"{SYSTOLIC}, {size} x {size}": isa.load(SYSTOLIC, {"DIM": size}) for size in SIZES}
    results: dict[str, list[tuple[float, int]]] = {name: [] for name in machines}
    for _ in range(options.repeat):
        for name, accelerator in machines.items():
            results[name].append(seconds(accelerator, workload))
    table = Table(title=f"evaluation of a naive {options.size} x {options.size} x {options.size} GEMM")
    for heading in ("machine", "cycles", "seconds", "x reference"):
        table.add_column(heading, justify="left" if heading == "machine" else "right")
    reference = min(results[f"{REFERENCE}, 16 x 16"])[0]
    for name, times in results.items():
        table.add_row(name, f"{times[0][1]:,}", f"{min(times)[0]:.2f}", f"{min(times)[0] / reference:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
