"""Public programs and kernels from a local checkout: do they run as they are, or what is missing?

    python -m benchmarks.public_kernels DIR [-D NAME=NUMBER]…
    python -m benchmarks.public_kernels DIR --search [WORKLOAD] --evaluations 30

The first form runs every file with `main()` under DIR. The second takes every other C file with a function `solution`
or `test` as the start of a search of a workload, and compares it with a search from the naive kernel. Without a
workload, the kernels are matrix products of int8 of the shapes that their parameters state. Nothing that is read is
kept.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from autocomp.errors import AutocompError
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.program import run_file

MAIN = re.compile(r"\bint\s+main\s*\(")
ENTRY = re.compile(r"\bvoid\s+(?:solution|test)\s*\(")
MATRIX = r"\s*int8_t\s+\w+\[(\d+)\]\[(\d+)\]\s*"
PRODUCT = re.compile(ENTRY.pattern + ",".join([MATRIX] * 3) + r"\)")
OWN_KERNEL = re.compile(r"^kernel:.*$", re.MULTILINE)
BY_PARAMETERS = Path()  # in place of a workload's file
CLOSE = 1.05  # times the cycles that a search from the naive kernel ends at


def files(folder: Path, entry: re.Pattern[str]) -> Iterator[tuple[Path, str]]:
    for path in sorted([*folder.rglob("*.c"), *folder.rglob("*.txt")]):
        text = path.read_text(encoding="utf-8", errors="replace")
        if entry.search(text):
            yield path, text


def programs(folder: Path, machine: isa.Accelerator, definitions: dict[str, int]) -> None:
    """One line for each program; at the end, how many ended well."""
    outcomes = {"well": 0, "otherwise": 0, "not at all": 0}
    for path, text in files(folder, MAIN):
        start = time.perf_counter()
        outcome, words = _outcome(path, text, machine, definitions)
        outcomes[outcome] += 1
        print(f"{path.stem:44.44} {time.perf_counter() - start:6.1f} s  {words}", flush=True)
    total = sum(outcomes.values())
    print(f"{outcomes['well']} of {total} programs run and end with 0; {outcomes['otherwise']} end otherwise")


def _outcome(path: Path, text: str, machine: isa.Accelerator, definitions: dict[str, int]) -> tuple[str, str]:
    try:
        ended = run_file(text, path.name, machine, definitions)
    except AutocompError as error:
        line = "" if error.place is None else f"line {error.place.line}: "
        return "not at all", f"missing: {line}{error.message.splitlines()[0]}"
    notes = "".join(f"; {note}" for note in ended.notes[:1])
    if ended.error is not None:
        return "otherwise", f"stopped: line {ended.error.line}: {ended.error.message[:100]}{notes}"
    result = "well" if ended.exit_code == 0 else "otherwise"
    return result, f"exit code {ended.exit_code}, {ended.cycles:,} cycles{notes}"


def searches(folder: Path, workload: Path | None, evaluations: int) -> None:
    """The best of a search from each kernel beside that of one from the naive kernel of the same workload."""
    naive: dict[str, int | None] = {}
    beside = [] if workload is None else [f for f in workload.resolve().parent.iterdir() if f.suffix in (".c", ".py")]
    close = compared = 0
    for path, text in files(folder, ENTRY):
        name = str(path.relative_to(folder))
        given = _product(text) if workload is None else workload.read_text()
        if given is None:
            print(f"{name:44.44} no matrix product of int8 by its parameters: name a workload", flush=True)
            continue
        if given not in naive:
            naive[given] = _search(given, evaluations, beside)
            print(f"{'naive kernel':44.44} {naive[given] or 0:12,} cycles", flush=True)
        best, least = _search(given, evaluations, beside, ENTRY.sub("void solution(", text)), naive[given]
        ratio = f"{best / least:6.3f} of it" if best and least else "no correct kernel"
        compared += 1
        close += bool(best and least and best <= CLOSE * least)
        print(f"{name:44.44} {best or 0:12,} cycles  {ratio}", flush=True)
    print(f"{close} of {compared} searches end at most {CLOSE - 1:.0%} slower than from the naive kernel")


def _product(text: str) -> str | None:
    """The workload of a kernel whose parameters are those of a matrix product."""
    match = PRODUCT.search(text)
    if match is None:
        return None
    rows, depth, again, columns, *result = map(int, match.groups())
    if again != depth or result != [rows, columns]:
        return None
    return f"operation: gemm\naccelerator: gemmini\ndims: {{I: {rows}, J: {columns}, K: {depth}}}\n"


def _search(workload: str, evaluations: int, beside: Iterable[Path], kernel: str | None = None) -> int | None:
    """The cycles of the best kernel for a workload's text. Its references and kernels are among the files `beside`."""
    with tempfile.TemporaryDirectory() as folder:
        for file in beside:
            shutil.copy(file, folder)
        if kernel is not None:
            (Path(folder) / "given.c").write_text(kernel)
            workload = OWN_KERNEL.sub("", workload) + "\nkernel: given.c\n"
        (Path(folder) / "w.yaml").write_text(workload)
        given = ["search", f"{folder}/w.yaml", "--evaluations", str(evaluations), "--reuse", "0", "--workers", "1"]
        command = [sys.executable, "-m", "autocomp", *given, "--json", "--run-dir", f"{folder}/run"]
        nowhere = {**os.environ, "AUTOCOMP_SCHEDULES": f"{folder}/schedules"}  # results go with the folder
        run = subprocess.run(command, capture_output=True, text=True, check=False, env=nowhere)
    if run.returncode not in (0, 6):
        return None
    best = json.loads(run.stdout).get("best_cycles")
    return int(best) if best is not None else None


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--accelerator", default="gemmini")
    parser.add_argument("-D", dest="definitions", action="append", default=[], metavar="NAME=NUMBER")
    parser.add_argument("--search", type=Path, metavar="WORKLOAD", nargs="?", const=BY_PARAMETERS)
    parser.add_argument("--evaluations", type=int, default=30)
    given = parser.parse_args(arguments)
    if given.search is not None:
        workload = None if given.search == BY_PARAMETERS else given.search
        if workload is not None and not workload.is_file():
            parser.error(f"--search takes the file of a workload, such as workloads/conv_14_128.yaml, not {workload}")
        return searches(given.folder, workload, given.evaluations)
    pairs = (text.partition("=") for text in given.definitions)
    return programs(given.folder, isa.load(given.accelerator), {name: int(value or "1", 0) for name, _, value in pairs})


if __name__ == "__main__":
    main()
