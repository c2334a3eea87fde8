"""Energy by component of the fastest kernel, that of least energy, and that of the least energy-delay product.

    python -m benchmarks.energy [MACHINE ...] [--evaluations N] [--size N | --convolution] [--workers N]

A row is a search without a model for one objective, of the machine's square GEMM or its convolution. The components are
those that the description's energies name. A kernel that a search for another objective found counts too where it is
better by this one.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rich.console import Console
from rich.table import Table

from autocomp.search import Options
from autocomp.search.session import Means
from autocomp.targets.evaluation import Evaluation
from autocomp.targets.registry import load_target
from autocomp.workload import Workload
from benchmarks.machines import cases, convolutions
from benchmarks.searching import request_for, search

OBJECTIVES = ("cycles", "energy", "edp")
MACHINES = ("vta", "tpu_v1", "neuroncore", "amx", "rvv")  # those that state energies
COMPONENT = "nJ_"  # what figures of components begin with


def best(workload: Workload, options: Options, means: Means) -> Mapping[str, Evaluation]:
    """The best kernel by each objective, judged by it, of those that are best in a search for one of them."""
    request = request_for(workload, options)
    kernels = {search(replace(request, target=request.target.pursuing(name)), means).kernel for name in OBJECTIVES}
    target = load_target(workload.target, {})
    results = {}
    for name in OBJECTIVES:
        judged = [target.pursuing(name).evaluator(workload).evaluate(kernel) for kernel in sorted(kernels)]
        results[name] = min(judged, key=lambda evaluation: evaluation.value or float("inf"))
    return results


def row(machine: str, workload: Workload, objective: str, evaluation: Evaluation) -> list[str]:
    """Cells for one kernel: cycles, energy, the share of the bound by its objective, and components by size."""
    figures = evaluation.evidence.figures
    cycles = figures["cycles"] if objective != "cycles" else evaluation.value or 0
    parts = {name.removeprefix(COMPONENT): value for name, value in figures.items() if name.startswith(COMPONENT)}
    total = sum(parts.values()) or 1
    ranked = sorted(parts.items(), key=lambda item: -item[1])
    words = ", ".join(f"{name} {value / total:.0%}" for name, value in ranked)
    return [
        machine,
        workload.name,
        objective,
        f"{cycles:,.0f}",
        f"{figures['nJ']:,.0f}",
        f"{evaluation.ratio or 0:.1%}",
        words,
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "machines", nargs="*", metavar="MACHINE", help=f"of {', '.join(MACHINES)}; all if none is named"
    )
    parser.add_argument("--evaluations", type=int, default=12)
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--size", type=int, help="rows, columns and depth of the GEMM; the machine's if none")
    other.add_argument("--convolution", action="store_true", help="the machine's convolution instead of its GEMM")
    parser.add_argument("--workers", type=int, default=1)
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.machines if name not in MACHINES]
    if unknown:
        parser.error(f"{unknown[0]!r} states no energies; those that do: {', '.join(MACHINES)}")
    table = Table(title=f"at most {chosen.evaluations} evaluations for each objective, rules agent, seed 0")
    for heading in ("machine", "workload", "least", "cycles", "nJ", "of bound", "components"):
        table.add_column(heading, justify="right" if heading in ("cycles", "nJ", "of bound") else "left")
    means = Means(chosen.workers, None, False)
    for machine in chosen.machines or MACHINES:
        sizes = (chosen.size,) if chosen.size else ()
        workload = next(convolutions(machine) if chosen.convolution else cases(machine, sizes))
        kernels = best(workload, Options(evaluations=chosen.evaluations), means)
        for objective, evaluation in kernels.items():
            table.add_row(*row(machine, workload, objective, evaluation))
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
