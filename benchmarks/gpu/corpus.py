"""The judge on the device itself: every cheat of the corpus must be refused, every generated kernel must hold."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from autocomp.targets.registry import load_target
from autocomp.targets.triton.target import TritonTarget
from benchmarks.gpu.rows import Row

CHEATS = Path(__file__).resolve().parents[2] / "tests" / "targets" / "triton" / "cheats"
CHEATED = {"rows": 512, "cols": 1000}  # sizes that the corpus is judged at
FIRST_CALL = {"compile", "smoke"}  # a GPU calls a kernel first to compile it, an interpreter to judge its values
HONEST = {  # one size of each operation, small enough to be judged in seconds
    "matmul": {"M": 1000, "N": 1024, "K": 512},
    "scaled_matmul": {"M": 1024, "N": 1536, "K": 512},
    "softmax": {"rows": 1000, "cols": 4096},
    "layernorm": {"rows": 1000, "cols": 4096},
    "rmsnorm": {"rows": 1000, "cols": 4096},
    "sum": {"rows": 1000, "cols": 4096},
    "cross_entropy": {"rows": 1000, "classes": 32000},
    "attention": {"batch": 1, "heads": 4, "length": 1024, "width": 64},
    "rotary": {"batch": 1, "heads": 8, "length": 1024, "width": 128},
    "fused_mlp": {"tokens": 512, "width": 512, "hidden": 1376},
}


@dataclass(frozen=True)
class Judged:
    """A kernel of the corpus: whether it is honest, and which stage refused it for what reason."""

    name: str
    honest: bool
    stage: str
    reason: str
    expected: str
    us: float | None = None

    @property
    def right(self) -> bool:
        if self.honest:
            return not self.stage
        return self.stage == self.expected or {self.stage, self.expected} <= FIRST_CALL


def judge_corpus(folder: Path, target: str, threads: int) -> None:
    """Judge everything and print one line for each kernel, and a summary."""
    device = load_target(target)
    if not isinstance(device, TritonTarget):
        raise SystemExit(f"{target} is not a GPU")
    waiting = [(path.stem, path.read_text(encoding="utf-8"), *_task(path), False) for path in sorted(CHEATS.glob("*"))]
    for operation, dims in HONEST.items():
        dtype = "float8_e4m3" if operation == "scaled_matmul" else "float16"
        known = Row(operation, operation, dims, dtype)
        waiting.append((f"generated {operation}", device.starting_kernel(known.workload()), known, "", True))
    with ThreadPoolExecutor(threads) as pool:
        verdicts = list(pool.map(lambda job: _judged(device, *job), waiting))
    for judged in verdicts:
        mark = "ok " if judged.right else "BAD"
        print(f"{mark} {judged.name}: {judged.stage or 'accepted'} {judged.reason[:150]}".rstrip())
    print(summary(verdicts))
    (folder / "corpus.json").write_text(json.dumps([asdict(judged) for judged in verdicts], indent=1), encoding="utf-8")


def summary(verdicts: Sequence[Judged]) -> str:
    cheats, honest = [j for j in verdicts if not j.honest], [j for j in verdicts if j.honest]
    refused = sum(1 for judged in cheats if judged.stage)
    return (
        f"{refused} of {len(cheats)} cheats refused, {sum(1 for j in cheats if j.right)} at the stage expected; "
        f"{sum(1 for j in honest if j.right)} of {len(honest)} honest kernels accepted"
    )


def _task(path: Path) -> tuple[Row, str]:
    text = path.read_text(encoding="utf-8")
    named: Mapping[str, str] = dict(re.findall(r"^# (operation|refused): (.+)$", text, re.MULTILINE))
    operation, dtype = named["operation"].split()
    return Row(path.stem, operation, CHEATED, dtype), named["refused"].split(":")[0]


def _judged(device: TritonTarget, name: str, text: str, known: Row, expected: str, honest: bool) -> Judged:
    evaluation = device.evaluator(known.workload()).evaluate(text)
    failure = evaluation.failure
    value = None if evaluation.value is None else float(evaluation.value)
    return Judged(name, honest, failure.stage if failure else "", failure.message if failure else "", expected, value)
