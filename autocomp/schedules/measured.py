"""What records keep of machines, workloads and evaluations."""

from __future__ import annotations

import hashlib

from autocomp.schedules.record import Machine, Operation, Result
from autocomp.targets.evaluation import Evaluation, Number
from autocomp.targets.protocol import Target
from autocomp.workload.model import Workload


def operation_of(workload: Workload) -> Operation:
    """What is computed. A user's own operation is known by its workload's name and its reference's text."""
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
        }
    )


def figures(evaluation: Evaluation, naive: Number) -> Result:
    """What a record keeps of an evaluation with a measurement; `naive` is the starting kernel's value."""
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


def machine_of(target: Target) -> Machine:
    return Machine(kind=target.kind, name=target.name, parameters=dict(target.parameters), digest=target.digest)
