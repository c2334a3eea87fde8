"""The speed of a simulation, on one core: functional, timing, both, and the way from text to bytecode.

Each size is measured in processor time, in a process of its own, with one thread for NumPy. The ratio compares, in one
run, a simulation with cycles to NumPy's float32 product of the same sizes. `--json` prints the same as one object.

    python -m benchmarks.simulator_speed --base FOLDER [--rounds 3] [--sizes 256,256,256 512,512,512]

compares the times with another version: FOLDER is a checkout with its own `.venv`. Each round measures every size with
either version in turn, in processes of their own; each time is the shortest of all, of the processor.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from autocomp.simulator import SimulationOptions, _core, run_program
from rich.console import Console
from rich.table import Table

from autocomp.targets.simulator import isa, kernel
from benchmarks.gemm_kernels import gemm_kernel

# The GEMMs of Exo's evaluation on the 16x16 machine, as I, J, K, and milliseconds that TAIDL's generated functional
# oracle needs for them on a Xeon with 32 cores, without timing: 130 for the first, 78 to 211 for the others.
EXO = [
    (512, 512, 512),
    (12544, 256, 64),
    (12544, 64, 256),
    (3136, 512, 128),
    (3136, 128, 512),
    (784, 1024, 256),
]
ORACLE = {EXO[0]: "130", **dict.fromkeys(EXO[1:], "78-211")}
GROWTH = [(n, n, n) for n in (256, 512, 1024, 2048)]
SECONDS = 2.0  # of repeating one measurement
HERE = Path(__file__).parents[1]
COMPARED = ("functional", "timing", "both")
# Runs in either version; older ones have the compiler elsewhere, and another name for the options.
TIMES = """
import json, sys, time
import numpy as np
from autocomp import simulator
Options = simulator.Options if hasattr(simulator, "Options") else simulator.SimulationOptions
try:
    from autocomp.targets.simulator import isa, kernel
except ImportError:
    from autocomp import isa, kernel
from benchmarks.gemm_kernels import gemm_kernel
i, j, k = map(int, sys.argv[1:])
accelerator = isa.load("gemmini", {})
tables = isa.lower(accelerator)
program = kernel.link(kernel.compile(kernel.parse(gemm_kernel(i, j, k)), accelerator, {}), tables)
shapes = {"A": (i, k), "B": (k, j), "C": (i, j)}
tensors = {name: np.ones(shape, np.int8) for name, shape in shapes.items()}
def milliseconds(timing):
    start = time.process_time()
    simulator.run_program(tables.machine, program, tensors, Options(timing=timing))
    return 1000 * (time.process_time() - start)
milliseconds(True)
times = [(milliseconds(False), milliseconds(True)) for _ in range(10)]
print(json.dumps(dict(zip(("functional", "both"), map(min, zip(*times))))))
"""
COLUMNS = {
    "sizes": "I x J x K",
    "commands": "instructions",
    "cycles": "cycles",
    "utilisation": "array %",
    "parse_ms": "parse ms",
    "compile_ms": "compile ms",
    "functional_ms": "functional ms",
    "timing_ms": "timing ms",
    "both_ms": "both ms",
    "oracle_ms": "TAIDL ms",
    "functional_rate": "M/s",
    "timing_rate": "M/s timing",
    "numpy_ratio": "x NumPy f32",
    "peak_mb": "peak MB",
}


@dataclass(frozen=True)
class Measurement:
    """Times in milliseconds, the best of several; rates in millions of instructions a second."""

    sizes: tuple[int, int, int]
    commands: int
    cycles: int
    utilisation: float  # of the array's peak, in percent
    parse_ms: float
    compile_ms: float  # checking and compiling to bytecode
    functional_ms: float
    timing_ms: float  # what cycles add to it
    both_ms: float
    oracle_ms: str
    functional_rate: float
    timing_rate: float
    numpy_ratio: float
    peak_mb: float  # of the process that ran it, Python and tensors included


def best_ms(*works: Callable[[], object]) -> list[float]:
    """The least processor time of several runs of each, in turns."""
    times: list[list[float]] = [[] for _ in works]
    while len(times[0]) < 3 or (sum(map(sum, times)) < SECONDS * len(works) and len(times[0]) < 20):
        for work, taken in zip(works, times, strict=True):
            start = time.process_time()
            work()
            taken.append(time.process_time() - start)
    return [1000 * min(taken) for taken in times]


def measure(sizes: tuple[int, int, int]) -> Measurement:
    i, j, k = sizes
    accelerator = isa.load("gemmini", {})
    tables = isa.lower(accelerator)
    text = gemm_kernel(i, j, k)
    tree = kernel.parse(text)
    program = kernel.link(kernel.compile(tree, accelerator, {}), tables)
    random = np.random.default_rng(0)
    tensors = {
        "A": random.integers(-128, 128, (i, k), dtype=np.int8),
        "B": random.integers(-128, 128, (k, j), dtype=np.int8),
        "C": np.zeros((i, j), np.int8),
    }

    def simulate(timing: bool) -> object:
        return run_program(tables.machine, program, tensors, SimulationOptions(timing=timing))

    result = run_program(tables.machine, program, tensors, SimulationOptions())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    left, right = tensors["A"].astype(np.float32), tensors["B"].astype(np.float32)
    assert result.error is None, result.error
    assert result.timing is not None
    exact = np.clip(tensors["A"].astype(np.float64) @ tensors["B"].astype(np.float64), -128, 127)
    assert np.array_equal(result.outputs["C"], exact.astype(np.int8)), "the kernel is wrong"
    functional, both = best_ms(lambda: simulate(False), lambda: simulate(True))
    timing = both - functional
    parse, compiled, product = best_ms(
        lambda: kernel.parse(text),
        lambda: kernel.link(kernel.compile(tree, accelerator, {}), tables),
        lambda: left @ right,
    )
    return Measurement(
        sizes=sizes,
        commands=result.command_count,
        cycles=result.timing.cycles,
        utilisation=100 * i * j * k / 256 / result.timing.cycles,
        parse_ms=parse,
        compile_ms=compiled,
        functional_ms=functional,
        timing_ms=timing,
        both_ms=both,
        oracle_ms=ORACLE.get(sizes, ""),
        functional_rate=result.command_count / functional / 1000,
        timing_rate=result.command_count / timing / 1000,
        numpy_ratio=both / product,
        peak_mb=peak,
    )


def measure_apart(sizes: tuple[int, int, int]) -> Measurement:
    """In a process of its own, so that its peak memory is its own."""
    command = [sys.executable, "-m", "benchmarks.simulator_speed", "--one", *map(str, sizes)]
    return Measurement(**{**run_apart(command), "sizes": sizes})


def run_apart(command: list[str], folder: Path | None = None) -> dict[str, object]:
    """The object that a process prints, which has one thread for NumPy and runs in `folder`, or here."""
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, **one}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed in {folder or Path.cwd()}:\n{done.stderr}")
    document: dict[str, object] = json.loads(done.stdout)
    return document


def compare(base: Path, every: list[tuple[int, int, int]], rounds: int) -> Table:
    """Milliseconds of processor time of both versions, and their ratios."""
    out = Table(title=f"Milliseconds of processor time: {base}, this version, and the ratio")
    for heading in ("I x J x K", *COMPARED):
        out.add_column(heading, justify="right", no_wrap=True)
    for sizes in every:
        turns = [[times_of(version, sizes) for version in (base, HERE)] for _ in range(rounds)]
        cells = []
        for name in COMPARED:
            before, after = (min(times[name] for times in column) for column in zip(*turns, strict=True))
            cells.append(f"{before:.1f} {after:.1f} {after / before:.2f}")
        out.add_row(shown(sizes), *cells)
    return out


def times_of(version: Path, sizes: tuple[int, int, int]) -> dict[str, float]:
    """The shortest times of a version, in milliseconds of processor time."""
    python = version.resolve() / ".venv" / "bin" / "python"
    times = run_apart([str(python), "-c", TIMES, *map(str, sizes)], version)
    functional, both = (float(str(times[name])) for name in ("functional", "both"))
    return {"functional": functional, "timing": both - functional, "both": both}


def shown(value: object) -> str:
    match value:
        case float():
            return f"{value:.1f}"
        case int():
            return f"{value:,}"
        case tuple():
            return " x ".join(map(str, value))
    return str(value)


def table(title: str, measurements: list[Measurement]) -> Table:
    out = Table(title=title)
    for heading in COLUMNS.values():
        out.add_column(heading, justify="right", no_wrap=True)
    for m in measurements:
        out.add_row(*(shown(getattr(m, name)) for name in COLUMNS))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one object instead of tables")
    parser.add_argument("--one", type=int, nargs=3, metavar=("I", "J", "K"), help="measure here, print JSON")
    parser.add_argument("--base", type=Path, metavar="FOLDER", help="compare with the version of this checkout")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", nargs="+", metavar="I,J,K", help="those to compare, instead of all")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(asdict(measure(tuple(arguments.one)))))
        return
    if arguments.base is not None:
        given = [(i, j, k) for i, j, k in (map(int, sizes.split(",")) for sizes in arguments.sizes or [])]
        Console(width=120).print(compare(arguments.base, given or [*EXO, *GROWTH], arguments.rounds))
        return
    exo, growth = ([measure_apart(sizes) for sizes in group] for group in (EXO, GROWTH))
    code = _core.machine_codes()[-1]
    if arguments.json:
        groups = {"exo": exo, "growth": growth}
        print(json.dumps({"machine_code": code, **{k: [asdict(m) for m in v] for k, v in groups.items()}}, indent=2))
        return
    console = Console(width=200)
    console.print(table(f"The GEMMs of Exo, one core, {code}; TAIDL: functional only, 32 cores", exo))
    console.print(table("Growth", growth))


if __name__ == "__main__":
    main()
