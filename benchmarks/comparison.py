"""Compare what two checkouts give: python -m benchmarks.comparison --base FOLDER [WORKLOAD=EVALUATIONS...]

Both search the same workloads with the same seed and number of evaluations, without cache and earlier schedules, and
judge the same shipped schedules. Prints a row for each: the cycles there and here, and whether the kernels are equal.
FOLDER is a checkout with an environment of its own (`make -C FOLDER .venv/.core`). Exits with 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from autocomp.yaml_text import read_yaml

HERE = Path(__file__).resolve().parents[1]
SEARCHES = ("gemm_512=5", "gemm_12544x64x256=5", "gemm_100x70x30=20", "tiny_gemm=20", "conv_padded=12")


def searched(checkout: Path, workload: str, evaluations: int) -> tuple[int, str]:
    """The cycles of the best kernel that a checkout finds, and the kernel."""
    with tempfile.TemporaryDirectory() as folder:
        own = {"AUTOCOMP_SCHEDULES": f"{folder}/store", "AUTOCOMP_SHIPPED_SCHEDULES": "0", "AUTOCOMP_CONFIG": folder}
        fixed = ["--reuse", "0", "--no-cache", "--workers", "1", "--json", "--run-dir", "run"]
        command = [checkout / ".venv/bin/autocomp", "search", workload, "--evaluations", str(evaluations), *fixed]
        done = subprocess.run(command, cwd=folder, env={**os.environ, **own}, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{checkout}: {workload}: {done.stderr}")
        return json.loads(done.stdout)["best_cycles"], (Path(folder) / "run" / "best.c").read_text(encoding="utf-8")


def records(checkout: Path) -> Mapping[str, tuple[int, str]]:
    """The cycles and the kernel of each shipped schedule, by its file."""
    results = {}
    for file in sorted((checkout / "schedules").rglob("*.yaml")):
        document, _ = read_yaml(file.read_text(encoding="utf-8"), str(file))
        assert isinstance(document, dict)
        results[str(file.relative_to(checkout))] = (document["result"]["value"], document["kernel"])
    return results


def rows(base: Path, wanted: list[str]) -> Iterator[tuple[str, int | None, int | None, bool]]:
    for entry in wanted:
        workload, _, evaluations = entry.partition("=")
        there, here = (searched(checkout, workload, int(evaluations or 20)) for checkout in (base, HERE))
        yield f"search {workload}, {evaluations or 20} evaluations", there[0], here[0], there == here
    old, new = records(base), records(HERE)
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        yield name, before and before[0], after and after[0], before == after


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("searches", nargs="*", default=list(SEARCHES), help="WORKLOAD=EVALUATIONS")
    parser.add_argument("--base", type=Path, required=True, help="the other checkout")
    arguments = parser.parse_args()
    different = 0
    print("| what | there | here | the same |\n|---|---:|---:|---|")
    for name, there, here, same in rows(arguments.base.resolve(), arguments.searches):
        different += not same
        print(f"| {name} | {_number(there)} | {_number(here)} | {'yes' if same else 'no'} |", flush=True)
    sys.exit(f"{different} differ" if different else 0)


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


if __name__ == "__main__":
    main()
