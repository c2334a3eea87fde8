"""The results of searches without a model on the machines that ship, from their naive kernels.

    python -m benchmarks.machines [MACHINE ...] [--evaluations N] [--seconds S] [--objective NAME ...] [--size N ...]
        [--convolution]

A row is a search of N evaluations, and at most S seconds, of a GEMM or, with `--convolution`, of a 3 x 3 convolution.
It shows the share of the bound that was reached, the number of wrong candidates, and what the busiest unit of the best
kernel waits for. If the machine states energies, it shows the best kernel's. Beside it is the share that a kernel
written by hand reaches, where `benchmarks/by_hand` has one. `--by-hand` prints these kernels alone.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from autocomp.errors import AutocompError
from autocomp.search import Options
from autocomp.search.executors import available_cores
from autocomp.search.session import Means
from autocomp.targets.evaluation import Evaluation
from autocomp.targets.registry import load_target
from autocomp.workload import Workload, parse
from benchmarks.searching import request_for, search

# What a machine's GEMM needs besides its sizes.
GEMMS: Mapping[str, Mapping[str, Any]] = {
    "vta": {"layout": {"B": "J/16 K/16 J%16 K%16"}},
    "tpu_v1": {"scale": 0.0078125},
    "neuroncore": {"dtype": "bfloat16", "transpose_a": True},
    "amx": {"result": "int32", "layout": {"B": "K/4 J K%4"}},
    "rvv": {"dtype": "float32"},
    "tiny": {"scale": 0.0078125},
    "quad": {"scale": 0.0078125},
    "gemmini": {"scale": 0.0078125},
}
SIZES: Mapping[str, Sequence[int]] = {
    "tiny": (64,),
    "quad": (64,),
    "rvv": (128,),
    "vta": (256,),
    "amx": (256,),
    "tpu_v1": (512,),
    "neuroncore": (512,),
    "gemmini": (256,),
}
# What a machine's 3 x 3 convolution needs besides its sizes, and these: a side of the result, channels, filters.
CONVOLUTIONS: Mapping[str, tuple[Mapping[str, Any], tuple[int, int, int]]] = {
    "vta": ({"layout": {"weights": "R S K/16 C/16 K%16 C%16"}}, (14, 64, 64)),
    "tpu_v1": ({"scale": 0.0078125}, (14, 256, 256)),
    "neuroncore": ({"dtype": "bfloat16", "layout": {"inp": "N C H W"}}, (16, 128, 256)),
    "amx": ({"result": "int32", "layout": {"weights": "R S C/4 K C%4"}}, (16, 64, 64)),
    "rvv": ({"dtype": "float32"}, (8, 16, 128)),
    "tiny": ({"scale": 0.03125}, (16, 16, 16)),
    "quad": ({"scale": 0.03125}, (16, 16, 16)),
    "gemmini": ({"scale": 0.0078125}, (14, 64, 64)),
}
WAITING = 2  # causes that are shown
COLUMNS: Mapping[str, int] = {  # headings and widths
    "machine": -10,
    "workload": -20,
    "objective": -9,
    "naive": 9,
    "best": 16,
    "of bound": 8,
    "by hand": 7,
    "nJ": 9,
    "evaluations": 11,
    "s": 4,
    "waits for": -1,
}
BY_HAND = Path(__file__).with_name("by_hand")


def cases(machine: str, sizes: Sequence[int]) -> Iterator[Workload]:
    """A square GEMM of each size, and one of twice the rows, three quarters of the columns and half the depth."""
    for size in sizes or SIZES[machine]:
        for dims in ({"I": size, "J": size, "K": size}, {"I": 2 * size, "J": size * 3 // 4, "K": size // 2}):
            document = {"operation": "gemm", "accelerator": machine, "dims": dims, **GEMMS[machine]}
            name = "gemm_" + "x".join(str(extent) for extent in dims.values())
            yield parse(yaml.safe_dump(document), Path(f"{name}.yaml"))


def convolutions(machine: str) -> Iterator[Workload]:
    """The convolution of a machine; its images are padded in DRAM."""
    keys, (side, channels, filters) = CONVOLUTIONS[machine]
    dims = {"N": 1, "H": side + 2, "W": side + 2, "C": channels, "K": filters, "R": 3, "S": 3}
    document = {"operation": "conv2d", "accelerator": machine, "dims": dims, **keys}
    yield parse(yaml.safe_dump(document), Path(f"conv_{side}x{side}x{channels}x{filters}.yaml"))


def by_hand(machine: str, workload: Workload) -> Evaluation | None:
    """The judgement of the kernel that a person wrote for a machine and a workload, or None. Raises SystemExit for one
    that is not correct."""
    path = BY_HAND / f"{machine}_{workload.name}.c"
    if not path.is_file():
        return None
    evaluation = load_target(workload.target, {}).evaluator(workload).evaluate(path.read_text())
    if not evaluation.correct:
        raise SystemExit(f"{path.name} is not correct")
    return evaluation


def kernels_by_hand(machines: Sequence[str]) -> Table:
    """The kernels that people wrote, each with its cycles and its share of the bound."""
    table = Table("machine", "workload", "cycles", "of bound", title="kernels written by hand")
    for machine in machines:
        for workload in itertools.chain(cases(machine, ()), convolutions(machine)):
            kernel = by_hand(machine, workload)
            if kernel is not None:
                table.add_row(machine, workload.name, f"{kernel.value or 0:,.0f}", f"{kernel.ratio or 0.0:.1%}")
    return table


def line(cells: Sequence[str]) -> str:
    """Cells of one search in columns; negative widths begin at the left."""
    widths = COLUMNS.values()
    pairs = zip(cells, widths, strict=True)
    return " ".join(cell.ljust(-width) if width < 0 else cell.rjust(width) for cell, width in pairs).rstrip()


def row(machine: str, workload: Workload, objective: str, options: Options, means: Means) -> list[str]:
    """Cells of one search."""
    started = time.perf_counter()
    request = request_for(workload, options)
    try:
        result = search(replace(request, target=request.target.pursuing(objective)), means)
    except AutocompError as error:
        return [machine, workload.name, objective, *["-"] * 7, error.message]
    best, evaluation = result.result.best, result.result.best.evaluation
    assert evaluation is not None
    energy = evaluation.evidence.figures.get("nJ")
    written = by_hand(machine, workload)
    return [
        machine,
        workload.name,
        objective,
        f"{result.result.naive.value:,.0f}",
        f"{best.value:,.0f} {best.objective.unit}",
        f"{evaluation.ratio or 0.0:.1%}",
        "-" if written is None else f"{written.ratio or 0.0:.1%}",
        "-" if energy is None else f"{energy:,.0f}",
        f"{result.result.evaluations}, {result.wrong} wrong",
        f"{time.perf_counter() - started:.0f}",
        waiting(evaluation),
    ]


def waiting(evaluation: Evaluation) -> str:
    """The busiest unit of a kernel, how busy it is, and what it waits for."""
    parts = evaluation.evidence.parts
    unit = max(parts, key=lambda name: parts[name].get("Busy", 0), default="")
    if not unit:
        return ""
    total = sum(parts[unit].values()) or 1
    ranked = sorted(((value, cause) for cause, value in parts[unit].items() if cause != "Busy" and value), reverse=True)
    causes = [f"{cause} {value / total:.0%}" for value, cause in ranked[:WAITING]]
    return ", ".join([f"{unit} busy {parts[unit].get('Busy', 0) / total:.0%}", *causes])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("machines", nargs="*", metavar="MACHINE", help=f"of {', '.join(GEMMS)}; all if none is named")
    parser.add_argument("--evaluations", type=int, default=60)
    parser.add_argument("--seconds", type=float, help="that a search begins steps in; unlimited if not given")
    parser.add_argument("--objective", action="append", default=[], help="cycles, energy or edp; repeatable")
    parser.add_argument("--size", type=int, action="append", default=[], help="repeatable; the machine's if none")
    parser.add_argument("--workers", type=int, default=available_cores())
    parser.add_argument("--convolution", action="store_true", help="a convolution for each machine instead of GEMMs")
    parser.add_argument("--by-hand", action="store_true", help="the kernels written by hand alone, without a search")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.machines if name not in GEMMS]
    if unknown:
        parser.error(f"unknown machine {unknown[0]!r}; known: {', '.join(GEMMS)}")
    if chosen.by_hand:
        Console(width=200).print(kernels_by_hand(chosen.machines or list(GEMMS)))
        return
    limit = "" if chosen.seconds is None else f" in {chosen.seconds:g} seconds"
    print(f"at most {chosen.evaluations} evaluations{limit} from the naive kernel, rules agent, seed 0", flush=True)
    print(line(list(COLUMNS)), flush=True)
    options = Options(evaluations=chosen.evaluations, seconds=chosen.seconds)
    for machine in chosen.machines or GEMMS:
        for workload in convolutions(machine) if chosen.convolution else cases(machine, chosen.size):
            for objective in chosen.objective or ["cycles"]:
                cells = row(machine, workload, objective, options, Means(chosen.workers, None, False))
                print(line(cells), flush=True)  # a search may take minutes


if __name__ == "__main__":
    main()
