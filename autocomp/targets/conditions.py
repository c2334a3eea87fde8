"""Kernels that have to hold in several conditions: the machine itself, and the same machine in other circumstances."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from autocomp.errors import ConfigError
from autocomp.targets.evaluation import PHASES, SCREEN, Evaluation, Measurement, Number, Phase, StageVerdict
from autocomp.targets.protocol import Evaluator, Target

if TYPE_CHECKING:
    from autocomp.workload.model import Workload

NOMINAL = "nominal"  # the machine as it was asked for


def conditions_of(target: Target, stated: Sequence[str]) -> dict[str, Target]:
    """The machine in other circumstances, by name: as stated, each as `NAME=NUMBER,NAME=NUMBER`, else those that the
    target itself knows. Raises ConfigError."""
    return {text: target.varied(parameters_of(text)) for text in stated} or dict(target.conditions())


class WorstOf(Evaluator):
    """Judges kernels on the machine itself, and measures them in other conditions too: the worst measurement counts.

    The evaluation has the evidence of the condition in which the kernel is worst, since that is what has to be
    improved, and the values in all of them.
    """

    def __init__(self, target: Target, workload: Workload, conditions: Mapping[str, Target]) -> None:
        self.nominal = target.evaluator(workload)
        self.others = {name: other.evaluator(workload) for name, other in conditions.items()}
        self.stages = self.nominal.stages
        self.device = self.nominal.device
        self.keeps = self.nominal.keeps
        parts = [f"{name} {other.digest} {self.others[name].version}" for name, other in conditions.items()]
        self.version = hashlib.sha256("\n".join([self.nominal.version, *parts]).encode()).hexdigest()

    def evaluate(self, kernel: str, phases: Collection[Phase] = PHASES, seed: int | None = None) -> Evaluation:
        evaluation = self.nominal.evaluate(kernel, phases, seed)
        if evaluation.measurement is None or evaluation.failure is not None:
            return evaluation
        each = {NOMINAL: evaluation}
        for name, evaluator in self.others.items():
            other = evaluator.evaluate(kernel, SCREEN, evaluation.seed)
            if other.failure is not None or other.measurement is None:
                return replace(evaluation, stages=_failed(evaluation, other, name), measurement=None)
            each[name] = other
        rank = evaluation.objective.rank
        values = {name: one.value for name, one in each.items() if one.value is not None}
        judged = replace(evaluation, conditions=values, seconds=sum(one.seconds for one in each.values()))
        worst = each[judged.worst or NOMINAL]
        bounds = [one.bound for one in each.values() if one.bound is not None]
        strictest = max(bounds, key=lambda bound: rank(bound.value), default=None)
        return replace(judged, measurement=worst.measurement, bound=strictest, evidence=worst.evidence)


def nominal(evaluation: Evaluation) -> Evaluation:
    """The evaluation with the value on the machine itself, without those in other conditions."""
    if NOMINAL not in evaluation.conditions:
        return evaluation
    return replace(evaluation, measurement=Measurement(evaluation.conditions[NOMINAL]), conditions={})


def _failed(evaluation: Evaluation, other: Evaluation, condition: str) -> tuple[StageVerdict, ...]:
    """The verdicts on a kernel that fails in one condition alone."""
    failure = other.failure
    if failure is None:
        first = evaluation.stages[0]
        failure = replace(first, status="failed", message="the kernel was not measured")
    message = f"in the condition {condition!r}: {failure.message}"
    return tuple(
        replace(verdict, status="failed", message=message, line=failure.line)
        if verdict.stage == failure.stage
        else verdict
        for verdict in evaluation.stages
    )


def parameters_of(condition: str) -> dict[str, Number]:
    """The parameters that a condition sets, written as `NAME=NUMBER,NAME=NUMBER`. Raises ConfigError."""
    parameters: dict[str, Number] = {}
    for part in condition.split(","):
        match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*=\s*(-?\d+(?:\.\d+)?)\s*", part)
        if match is None:
            raise ConfigError(
                f"{condition!r} is not a condition", hint="write it as NAME=NUMBER,…, as in MEM_LATENCY=120,HOST=1"
            )
        number = match.group(2)
        parameters[match.group(1)] = float(number) if "." in number else int(number)
    return parameters
