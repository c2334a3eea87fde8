"""How fast a simulation is, on one core: functional, timing, both, and the way from text to bytecode.

The last column is a ratio in the same run: simulating, with cycles, against NumPy's float32 product of the same sizes.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import numpy as np
from autocomp.simulator import Options, run_program
from rich.console import Console
from rich.table import Table

from autocomp import isa, kernel
from benchmarks.gemm_kernels import gemm_kernel

SIZES = [(256, 256, 256), (512, 512, 512), (12544, 64, 256), (3136, 128, 512), (1024, 1024, 1024)]


def best_seconds(work: Callable[[], object], repeats: int) -> float:
    """The shortest of several runs: what the machine can do when nothing else disturbs it."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(sizes: tuple[int, int, int], repeats: int) -> list[str]:
    i, j, k = sizes
    accelerator = isa.load("gemmini", {})
    tables = isa.lower(accelerator)
    text = gemm_kernel(i, j, k)
    random = np.random.default_rng(0)
    tensors = {
        "A": random.integers(-128, 128, (i, k), dtype=np.int8),
        "B": random.integers(-128, 128, (k, j), dtype=np.int8),
        "C": np.zeros((i, j), np.int8),
    }

    def compiled() -> object:
        return kernel.link(kernel.compile(kernel.parse(text), accelerator, {}), tables)

    program = kernel.link(kernel.compile(kernel.parse(text), accelerator, {}), tables)
    result = run_program(tables.machine, program, tensors, Options())
    exact = tensors["A"].astype(np.float64) @ tensors["B"].astype(np.float64)
    assert result.error is None, result.error
    assert result.timing is not None
    assert np.array_equal(result.outputs["C"], np.clip(exact, -128, 127).astype(np.int8)), "the kernel is wrong"

    functional = best_seconds(lambda: run_program(tables.machine, program, tensors, Options(timing=False)), repeats)
    both = best_seconds(lambda: run_program(tables.machine, program, tensors, Options()), repeats)
    left, right = tensors["A"].astype(np.float32), tensors["B"].astype(np.float32)
    numpy = best_seconds(lambda: left @ right, repeats)
    return [
        f"{i} x {j} x {k}",
        f"{result.command_count:,}",
        f"{result.timing.cycles:,}",
        f"{i * j * k / 256 / result.timing.cycles:.1%}",
        f"{1000 * best_seconds(compiled, repeats):.1f}",
        f"{1000 * functional:.1f}",
        f"{1000 * (both - functional):.1f}",
        f"{1000 * both:.1f}",
        f"{result.command_count / both / 1e6:.2f}",
        f"{both / numpy:.0f}",
    ]


def main() -> None:
    table = Table(title="Simulator speed, one core, best of several runs")
    for column in (
        "I x J x K",
        "instructions",
        "cycles",
        "utilisation",
        "compile ms",
        "functional ms",
        "timing ms",
        "both ms",
        "M instr/s",
        "x NumPy f32",
    ):
        table.add_column(column, justify="right")
    for sizes in SIZES:
        table.add_row(*measure(sizes, repeats=5))
    console = Console(width=140)
    console.print(table)
    console.print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
