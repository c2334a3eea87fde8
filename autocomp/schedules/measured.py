"""What records keep of machines, workloads and evaluations."""

from __future__ import annotations

import hashlib

from autocomp.schedules.record import Machine, Operation, Result
from autocomp.targets.evaluation import Evaluation
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


def figures(evaluation: Evaluation, cycles: int, naive_cycles: int) -> Result:
    """What a record keeps of an evaluation."""
    return Result(
        cycles=cycles,
        naive_cycles=naive_cycles,
        bound_cycles=int(evaluation.bound.value) if evaluation.bound else 0,
        ratio=round(evaluation.ratio or 0.0, 4),
        utilisation=round(evaluation.evidence.figures.get("utilisation", 0.0), 4),
        stages={stage.stage: stage.status for stage in evaluation.stages},
    )


def machine_of(target: Target) -> Machine:
    return Machine(name=target.name, parameters=dict(target.parameters), digest=target.digest)
