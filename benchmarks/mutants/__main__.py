"""Mutants of correct kernels: what the judge says of each, beside a comparison on many more inputs.

    python -m benchmarks.mutants [--mutants 5000] [--seed 0] [--workers 2] [--inputs 50] [--output FILE]

Each kernel of `kernels/` is changed at random until there are enough mutants. Its first line, `// workload: …`, states
its problem as the name of a shipped workload, or as the keys of a file, separated by bars. A file without further lines
means the kernel that a search would start from.
A mutant that the judge accepts runs on `--inputs` more draws of all kinds, each watched for memory discipline. One
that is wrong or out of order on any of them was accepted wrongly: none may be. `--output` keeps each verdict as a line
of JSON; started again with it and the same seed, the check goes on where it ended, as long as it is the same judge.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from random import Random

from autocomp.targets.protocol import Evaluator
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.evaluate.further import mistake
from autocomp.targets.simulator.evaluate.version import code_version
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.target import SimulatorTarget
from autocomp.workload import Workload, derived_seed, load, parse
from benchmarks.mutants.mutate import Mutable

KERNELS = Path(__file__).parent / "kernels"
HEAD = "// workload: "


@dataclass(frozen=True)
class Mutant:
    number: int
    kernel: str  # the file's name
    change: str
    text: str
    seed: int  # of its judgement


@dataclass(frozen=True)
class Verdict:
    """`outcome` is the stage that refused the mutant, or accepted; `wrong` says what more inputs showed."""

    mutant: Mutant
    outcome: str
    wrong: str | None


@cache
def problem(name: str) -> tuple[Evaluator, str]:
    """The evaluator of a kernel's workload, and the kernel's text."""
    head, _, text = (KERNELS / name).read_text(encoding="utf-8").partition("\n")
    document = head.removeprefix(HEAD)
    if ":" in document:
        workload: Workload = parse(document.replace(" | ", "\n"), KERNELS / f"{name}.yaml")
    else:
        workload = load(document)
    machine = isa.load(workload.accelerator, workload.overrides)
    return SimulatorTarget(machine).evaluator(workload, name), text.strip() or starting_kernel(workload, machine)


def mutants(count: int, seed: int) -> Iterator[Mutant]:
    """The same for the same seed, the kernels in turn; no text twice."""
    names = sorted(path.name for path in KERNELS.glob("*.c"))
    kernels = {name: Mutable(kernel.parse(problem(name)[1])) for name in names}
    random, seen, number = Random(seed), set(), 0
    while number < count:
        name = names[number % len(names)]
        made = kernels[name].mutant(random)
        text = kernel.print_kernel(made[1]) if made is not None else ""
        if made is None or (name, text) in seen:
            continue
        seen.add((name, text))
        yield Mutant(number, name, made[0], text, derived_seed(seed, "mutant", number))
        number += 1


def judged(made: Mutant, inputs: int) -> Verdict:
    evaluator, _ = problem(made.kernel)
    evaluation = evaluator.evaluate(made.text, seed=made.seed)
    if evaluation.failure is not None:
        return Verdict(made, evaluation.failure.stage, None)
    return Verdict(made, "accepted", mistake(evaluator, made.text, made.seed, inputs))


def kept(path: Path | None, version: str) -> list[Verdict]:
    """The verdicts that a file holds of the same judge. Ends the program where it is another's."""
    lines = path.read_text(encoding="utf-8").splitlines() if path is not None and path.exists() else []
    documents = [json.loads(line) for line in lines if line.endswith("}")]
    if any(document["version"] != version for document in documents):
        sys.exit(f"{path} holds verdicts of another version of the judge: choose another file")
    return [Verdict(Mutant(**document["mutant"]), document["outcome"], document["wrong"]) for document in documents]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--inputs", type=int, default=50)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    for name in sorted(path.name for path in KERNELS.glob("*.c")):
        evaluator, text = problem(name)
        evaluation = evaluator.evaluate(text)
        assert evaluation.correct, (name, evaluation.failure)
    version = code_version()
    started, verdicts = time.monotonic(), kept(options.output, version)
    done = {verdict.mutant.number for verdict in verdicts}
    with ProcessPoolExecutor(options.workers) as pool, (options.output or Path(os.devnull)).open("a") as output:
        made = [mutant for mutant in mutants(options.mutants, options.seed) if mutant.number not in done]
        for verdict in pool.map(judged, made, [options.inputs] * len(made), chunksize=8):
            verdicts.append(verdict)
            print(json.dumps({"version": version, **asdict(verdict)}), file=output, flush=True)
            if verdict.wrong:
                print(f"ACCEPTED WRONGLY: {verdict.mutant}\n{verdict.mutant.text}\n{verdict.wrong}", flush=True)
    return report(verdicts, time.monotonic() - started)


def report(verdicts: list[Verdict], seconds: float) -> int:
    """Prints what became of all mutants; the exit code says whether a wrong one was accepted."""
    outcomes = Counter(verdict.outcome for verdict in verdicts)
    wrong = sum(verdict.wrong is not None for verdict in verdicts)
    kernels = len({verdict.mutant.kernel for verdict in verdicts})
    print(f"{len(verdicts):,} mutants of {kernels} kernels in {seconds:,.0f} s")
    for outcome, count in outcomes.most_common():
        print(f"  {'refused by ' if outcome != 'accepted' else ''}{outcome:<12} {count:6,}")
    print(f"accepted and right on all further inputs: {outcomes['accepted'] - wrong:,}; accepted and wrong: {wrong:,}")
    by_change = Counter(verdict.mutant.change for verdict in verdicts)
    kept = Counter(verdict.mutant.change for verdict in verdicts if verdict.outcome == "accepted")
    for change, count in sorted(by_change.items()):
        print(f"  {change:<28} {count:5,} mutants, {kept[change]:4,} accepted")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
