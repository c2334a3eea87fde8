"""Public programs and kernels from a local checkout: do they run as they are, or what is missing?

    python -m benchmarks.public_kernels DIR [-D NAME=NUMBER]…
    python -m benchmarks.public_kernels DIR --search [WORKLOAD] --evaluations 30

The first form runs every file with `main()` under DIR. The second takes every other C file with a function `solution`
or `test` as the start of a search of a workload, and compares it with a search from the naive kernel. Without a
workload, the kernels are matrix products or convolutions of int8 of the shapes that their parameters state, and may use
the names that the harness of such kernels gives to sizes and tensors. Nothing that is read is kept.
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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from autocomp.errors import AutocompError
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.program import run_file

MAIN = re.compile(r"\bint\s+main\s*\(")
ENTRY = re.compile(r"\bvoid\s+(?:solution|test)\s*\(")
PARAMETER = re.compile(r"(int8_t|int32_t)\s+(\w+)((?:\[\d+\])+)")
LANGUAGE = re.compile(r"\A\s*c\s*\n")  # of a block of code in Markdown, which some files begin with
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
    naive: dict[str, int | str] = {}
    beside = [] if workload is None else [f for f in workload.resolve().parent.iterdir() if f.suffix in (".c", ".py")]
    close = compared = 0
    for path, text in files(folder, ENTRY):
        name = str(path.relative_to(folder))
        problem = by_parameters(text) if workload is None else (workload.read_text(), {})
        if problem is None:
            print(f"{name:44.44} neither a matrix product nor a convolution of int8: name a workload", flush=True)
            continue
        given, names = problem
        if given not in naive:
            naive[given] = _search(given, evaluations, beside)
            print(f"{'naive kernel':44.44} {_shown(naive[given])}", flush=True)
        best, least = _search(given, evaluations, beside, _kernel(text, names)), naive[given]
        compared += 1
        ratio = ""
        if isinstance(best, int) and isinstance(least, int):
            ratio = f"  {best / least:6.3f} of it"
            close += best <= CLOSE * least
        print(f"{name:44.44} {_shown(best)}{ratio}", flush=True)
    print(f"{close} of {compared} searches end at most {CLOSE - 1:.0%} slower than from the naive kernel")


def _shown(result: int | str) -> str:
    return f"{result:12,} cycles" if isinstance(result, int) else result.splitlines()[0]


def by_parameters(text: str) -> tuple[str, dict[str, int | str]] | None:
    """The workload of a kernel whose parameters are those of a matrix product, or of a convolution with a bias for each
    filter, and what the harness of such kernels names; None for other kernels."""
    found = PARAMETER.findall(_heading(text))
    tensors = [name for _, name, _ in found]
    match [[int(number) for number in re.findall(r"\d+", extents)] for _, _, extents in found]:
        case [[i, k], [depth, j], [rows, columns]] if (rows, columns, depth) == (i, j, k):
            sizes = {"MAT_DIM_I": i, "MAT_DIM_J": j, "MAT_DIM_K": k, "A_TRANSPOSE": 0, "B_TRANSPOSE": 0}
            return _workload(f"gemm\ndims: {{I: {i}, J: {j}, K: {k}}}"), {**sizes, **_named("ABC", tensors)}
        case [[n, h, w, c], [r, s, depth, k], [1, biases], [images, p, q, results]] if (
            depth,
            biases,
            images,
            results,
        ) == (c, k, n, k) and p > 1:
            stride = (h - r) // (p - 1)
            sizes = {"N": n, "INP_ROWS": h, "INP_COLS": w, "C": c, "K": k, "P": p, "Q": q, "R": r, "STRIDE": stride}
            dims = f"{{N: {n}, H: {h}, W: {w}, C: {c}, K: {k}, R: {r}, S: {s}}}"
            names = _named(("INP", "WEIGHT", "BIAS", "OUTPUT"), tensors)
            return _workload(f"conv2d\ndims: {dims}\nstride: {stride}\nbias: row"), {**sizes, **names}
    return None


def _heading(text: str) -> str:
    """The parameters of a kernel."""
    start = ENTRY.search(text)
    return "" if start is None else text[start.end() : text.find("{", start.end())]


def _workload(rest: str) -> str:
    return f"accelerator: gemmini\noperation: {rest}\n"


def _named(letters: Iterable[str], tensors: Iterable[str]) -> dict[str, str]:
    return {f"{letter}_MATRIX_NAME": name for letter, name in zip(letters, tensors, strict=True)}


def _kernel(text: str, names: Mapping[str, int | str]) -> str:
    """The text as a kernel, with those names of the harness that it uses."""
    text = ENTRY.sub("void solution(", LANGUAGE.sub("", text))
    own = {name for _, name, _ in PARAMETER.findall(_heading(text))}
    used = {name for name in names if name not in own and re.search(rf"\b{name}\b", text)}
    return "".join(f"#define {name} {names[name]}\n" for name in names if name in used) + text


def _search(workload: str, evaluations: int, beside: Iterable[Path], kernel: str | None = None) -> int | str:
    """The cycles of the best kernel for a workload's text, or the error of the search. The references and kernels that
    the workload names are among the files `beside`."""
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
    answer = json.loads(run.stdout or "{}")
    best = answer.get("best_cycles")
    return int(best) if best is not None else str(answer.get("error") or run.stderr or "no correct kernel")


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
