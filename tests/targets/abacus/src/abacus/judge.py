"""The abacus itself: it computes, is never quite as fast as the last time, and fails now and then."""

from __future__ import annotations

import random
import secrets
from collections.abc import Collection, Mapping
from itertools import count
from typing import Any

import numpy as np

from abacus.words import parse
from autocomp.errors import DeviceError, KernelError
from autocomp.targets.evaluation import PHASES, Bound, Evaluation, Evidence, Measurement, Objective, Phase, Stage
from autocomp.targets.evaluation import StageVerdict as Verdict
from autocomp.targets.protocol import Evaluator
from autocomp.workload import Workload
from autocomp.workload.inputs import make_inputs
from autocomp.workload.model import InputSet
from autocomp.workload.reference import compute

RATE = Objective("products/s", "higher")
NOISE = 0.01
STAGES = (Stage("reads", "screen", "the kernel parses"), Stage("computes", "screen"), Stage("computes again", "prove"))
_uses = count(1)  # of the device, by this process


class AbacusJudge(Evaluator):
    """Every `fails`-th evaluation comes to nothing; 0: none does."""

    stages = STAGES
    version = "1"
    device = "abacus"

    def __init__(self, workload: Workload, roof: float, fails: int) -> None:
        self.workload, self.roof, self.fails = workload, roof, fails

    def evaluate(self, kernel: str, phases: Collection[Phase] = PHASES, seed: int | None = None) -> Evaluation:
        seed = secrets.randbits(32) if seed is None else seed
        if self.fails and next(_uses) % self.fails == 0:
            raise DeviceError("a bead is stuck")
        return self._judged(kernel, phases, seed)

    def _judged(self, kernel: str, phases: Collection[Phase], seed: int) -> Evaluation:
        wanted = [stage.name for stage in STAGES if stage.phase in phases]
        verdicts: list[Verdict] = []
        figures: dict[str, int] = {}
        for name in wanted:
            message, line = "", None
            if not any(verdict.status == "failed" for verdict in verdicts):
                try:
                    figures = parse(kernel)
                    message = "" if name == "reads" else self._mistakes(figures, seed + len(verdicts))
                except KernelError as error:
                    message, line = error.message, error.place.line if error.place else None
                verdicts.append(Verdict(name, "failed" if message else "passed", message, line))
            else:
                verdicts.append(Verdict(name, "skipped"))
        passed = all(verdict.status == "passed" for verdict in verdicts)
        measured = measure(figures, self.roof, seed) if passed else None
        return Evaluation(tuple(verdicts), RATE, measured, Bound(self.roof), evidence(figures), seed=seed)

    def _mistakes(self, figures: Mapping[str, int], seed: int) -> str:
        """Compute block by block; what does not fill a block is never computed."""
        arrays = make_inputs(self.workload, InputSet("draw", "random", seed))
        wanted = compute(self.workload, arrays)["C"]
        result: Any = arrays["C"].copy()
        rows, columns = ((size // figures[f]) * figures[f] for size, f in zip(wanted.shape, figures, strict=False))
        result[:rows, :columns] = wanted[:rows, :columns]
        wrong = int(np.count_nonzero(result != wanted))
        return f"{wrong} of {wanted.size} elements are wrong" if wrong else ""


def measure(figures: Mapping[str, int], roof: float, seed: int) -> Measurement:
    """Larger blocks are faster, up to 16 x 16; no two measurements agree."""
    share = min(16, figures["rows"]) * min(16, figures["columns"]) * min(4, figures["beads"]) / 1024
    noise = random.Random(seed)
    samples = tuple(share * 0.9 * roof * (1 + noise.uniform(-NOISE, NOISE)) for _ in range(3))
    return Measurement(sum(samples) / 3, NOISE * max(samples), samples)


def evidence(figures: Mapping[str, int]) -> Evidence:
    return Evidence(figures=dict(figures), story=("Short blocks waste time between them.",) if figures else ())
