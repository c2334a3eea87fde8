"""The cost of one judgement, beside another version of this package: the kernel of a shipped schedule, in turns.

    python -m benchmarks.judging --base FOLDER [--rounds 5] [--schedule PATH]

FOLDER is a checkout of the other version with its own `.venv`. Each round judges the kernel once with either version,
in a process of its own, and counts the processor time of the judgement. The last line is the ratio of the medians.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

from autocomp.schedules import lookup

HERE = Path(__file__).parents[1]
# What the base calls differently: its evaluator's place, and what it calls the value.
JUDGE = """
import json, sys, time
from autocomp import workload
loaded, text = workload.load(sys.argv[2]), open(sys.argv[1]).read()
try:
    from autocomp.targets.simulator import isa
    from autocomp.targets.simulator.target import SimulatorTarget
    machine = isa.load("gemmini")
    judge = lambda: SimulatorTarget(machine).evaluator(loaded).evaluate(text)
except ImportError:
    from autocomp import isa
    from autocomp.evaluate import evaluate_kernel
    machine = isa.load("gemmini")
    judge = lambda: evaluate_kernel(text, loaded, machine)
judge()
start = time.process_time()
found = judge()
value = found.value if hasattr(found, "value") else found.cycles
print(json.dumps({"seconds": time.process_time() - start, "correct": found.correct, "cycles": value}))
"""


def judged(version: Path, kernel: Path, workload: str) -> dict[str, float]:
    """Seconds of processor time, cycles and the verdict of one version."""
    command = [str(version / ".venv" / "bin" / "python"), "-c", JUDGE, str(kernel), workload]
    done = subprocess.run(command, cwd=version, capture_output=True, text=True, check=True)
    times: dict[str, float] = json.loads(done.stdout)
    return times


def kernel_of(schedule: Path | None) -> str:
    """The kernel of a schedule's file; without one, the shipped kernel of the default workload."""
    if schedule is not None:
        return str(yaml.safe_load(schedule.read_text(encoding="utf-8"))["kernel"])
    match = lookup("gemm", {"I": 512, "J": 512, "K": 512}, "gemmini", options={"bias": "none"})
    assert match is not None
    return match.kernel()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--schedule", type=Path)
    parser.add_argument("--workload", default="gemm_512x512x512")
    options = parser.parse_args(arguments)
    seconds: dict[str, list[float]] = {"base": [], "this": []}
    with tempfile.TemporaryDirectory() as folder:
        kernel = Path(folder) / "kernel.c"
        kernel.write_text(kernel_of(options.schedule), encoding="utf-8")
        for number in range(options.rounds):
            for name, version in {"base": options.base, "this": HERE}.items():
                times = judged(version, kernel, options.workload)
                seconds[name].append(times["seconds"])
                print(f"round {number + 1}, {name}: {times['seconds']:.3f} s, {times['cycles']:,} cycles", flush=True)
                if not times["correct"]:
                    raise SystemExit(f"the {name} version refuses the kernel")
    median = {name: statistics.median(values) for name, values in seconds.items()}
    print(
        f"median: base {median['base']:.3f} s, this {median['this']:.3f} s; ratio {median['this'] / median['base']:.2f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
