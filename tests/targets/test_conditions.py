"""Kernels that have to hold in several conditions: the worst one counts, and each is told."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import pytest

from autocomp.errors import ConfigError
from autocomp.targets.conditions import NOMINAL, WorstOf, nominal, parameters_of
from autocomp.targets.evaluation import (
    PHASES,
    PROVE,
    Bound,
    Evaluation,
    Evidence,
    Measurement,
    Number,
    Objective,
    Phase,
    Stage,
    StageVerdict,
)
from autocomp.targets.protocol import Evaluator

CYCLES = Objective("cycles")
STAGES = (Stage("runs", "screen"), Stage("holds", "prove"))


@dataclass
class Fixed(Evaluator):
    """Measures every kernel alike; None: it fails."""

    value: Number | None
    limit: Number = 1
    objective: Objective = CYCLES
    stages = STAGES
    version = "1"

    def evaluate(self, kernel: str, phases: Collection[Phase] = PHASES, seed: int | None = None) -> Evaluation:
        chosen = [stage.name for stage in STAGES if stage.phase in phases]
        failed = self.value is None
        verdicts = tuple(
            StageVerdict(name, "failed" if failed and name == "runs" else "passed", "it hangs" if failed else "", 3)
            for name in chosen
        )
        measured = Measurement(self.value) if self.value is not None and "runs" in chosen else None
        evidence = Evidence({"measured": self.value or 0})
        return Evaluation(verdicts, self.objective, measured, Bound(self.limit), evidence, 1.0)


@dataclass
class Machine:
    """As much of a target as measures kernels."""

    measures: Fixed
    digest: str = "0"

    def evaluator(self, workload: Any) -> Fixed:
        return self.measures


def judge(itself: Fixed, **others: Fixed) -> WorstOf:
    machines = {name: Machine(measures, name) for name, measures in others.items()}
    return WorstOf(Machine(itself), None, machines)  # type: ignore[arg-type]


@pytest.mark.parametrize(("direction", "worst", "bound"), [("lower", 30, 7), ("higher", 10, 4)])
def test_the_worst_measurement_counts_with_its_evidence(direction: str, worst: int, bound: int) -> None:
    objective = Objective("things", direction)  # type: ignore[arg-type]
    found = judge(Fixed(20, 5, objective), far=Fixed(30, 7, objective), near=Fixed(10, 4, objective)).evaluate("kernel")
    assert found.correct
    assert (found.value, found.bound, found.evidence.figures) == (worst, Bound(bound), {"measured": worst})
    assert found.conditions == {NOMINAL: 20, "far": 30, "near": 10}
    assert found.worst == ("far" if direction == "lower" else "near")
    assert found.seconds == 3.0
    assert nominal(found).value == 20


def test_a_kernel_that_fails_in_one_condition_fails() -> None:
    found = judge(Fixed(20), far=Fixed(None)).evaluate("kernel")
    assert not found.correct
    assert found.failure is not None
    assert (found.failure.message, found.failure.line) == ("in the condition 'far': it hangs", 3)
    assert found.measurement is None


def test_a_kernel_that_fails_on_the_machine_itself_is_measured_nowhere_else() -> None:
    assert judge(Fixed(None), far=Fixed(20)).evaluate("kernel").conditions == {}


def test_the_stages_that_measure_nothing_judge_on_the_machine_itself() -> None:
    found = judge(Fixed(20), far=Fixed(None)).evaluate("kernel", PROVE)
    assert found.correct
    assert [verdict.stage for verdict in found.stages] == ["holds"]


def test_the_version_says_what_the_conditions_are() -> None:
    judges = [judge(Fixed(1)), judge(Fixed(1), far=Fixed(1)), judge(Fixed(1), near=Fixed(1))]
    assert len({one.version for one in judges}) == 3


def test_a_condition_is_parameters_with_values() -> None:
    assert parameters_of("MEM_LATENCY=120, HOST=1,SCALE=0.5") == {"MEM_LATENCY": 120, "HOST": 1, "SCALE": 0.5}
    for text in ("", "MEM_LATENCY", "MEM_LATENCY=far", "=3", "A=1,,B=2"):
        with pytest.raises(ConfigError, match="not a condition"):
            parameters_of(text)
