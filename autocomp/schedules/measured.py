"""The parts of records that describe machines, workloads and evaluations."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import replace

from autocomp.schedules.arguments import binary32, bound, has_number
from autocomp.schedules.record import Operation, RecordedTarget, Result
from autocomp.targets.evaluation import Evaluation, Number
from autocomp.targets.protocol import Target
from autocomp.workload.model import Workload
from autocomp.workload.schema import usual_options

TRIALS = (1, -1)  # signs of the other values of an option for which a kernel must be correct, to have it as argument


def operation_of(workload: Workload, arguments: tuple[str, ...] = ()) -> Operation:
    """A workload's operation. A user's own operation is known by its workload's name and its reference's text."""
    text = workload.reference_text
    own = text is not None
    return Operation.model_validate(
        {
            "name": workload.name if own else workload.operation,
            "dims": dict(workload.dims),
            "options": dict(workload.options),
            "tensors": [
                {"name": t.name, "dtype": t.dtype, "shape": list(t.shape), "role": t.role} for t in workload.tensors
            ],
            "reference": None if text is None else hashlib.sha256(text.encode()).hexdigest(),
            "arguments": arguments,
        }
    )


def arguments_of(workload: Workload, target: Target, kernel: str, value: Number) -> tuple[str, ...]:
    """The options that a correct kernel takes as arguments. They are numbers other than the usual ones, which the
    kernel hands to the machine and uses for nothing else. With another in its text it is correct for that one, at the
    same `value`. Two other numbers, one of them negative, are drawn from fresh entropy, and judged by all stages.
    """
    usual = usual_options(workload.operation)
    numbers = {n: v for n, v in workload.options.items() if isinstance(v, float) and n in usual and v != usual[n]}
    return tuple(name for name in numbers if _takes(name, workload, target, kernel, value))


def _takes(name: str, workload: Workload, target: Target, kernel: str, value: Number) -> bool:
    present = {name: float(workload.options[name])}
    if not has_number(kernel, present[name]) or not target.language.hands_on(kernel, present[name]):
        return False
    for sign, exponent in zip(TRIALS, secrets.SystemRandom().sample(range(-9, 3), len(TRIALS)), strict=True):
        other = binary32(sign * (1 + secrets.randbelow(1 << 20) / (1 << 20)) * 2.0**exponent)
        asked = replace(workload, options={**workload.options, name: other})
        evaluation = target.evaluator(asked).evaluate(bound(kernel, present, {name: other}))
        if not evaluation.correct or evaluation.value != value:
            return False
    return True


def figures(evaluation: Evaluation, naive: Number) -> Result:
    """The figures that a record keeps of an evaluation with a measurement; `naive` is the starting kernel's value."""
    if evaluation.measurement is None:
        raise ValueError("a record needs a measurement")
    utilisation = evaluation.evidence.figures.get("utilisation")
    return Result(
        objective=evaluation.objective,
        value=evaluation.measurement.value,
        spread=evaluation.measurement.spread,
        naive=naive,
        bound=None if evaluation.bound is None else evaluation.bound.value,
        ratio=None if evaluation.ratio is None else round(evaluation.ratio, 4),
        utilisation=None if utilisation is None else round(utilisation, 4),
        stages={stage.stage: stage.status for stage in evaluation.stages},
    )


def machine_of(target: Target) -> RecordedTarget:
    return RecordedTarget(kind=target.kind, name=target.name, parameters=dict(target.parameters), digest=target.digest)
