"""What records keep of machines, workloads and evaluations."""

from __future__ import annotations

import hashlib

from autocomp.schedules.record import Machine, Operation, Result
from autocomp.targets.simulator.evaluate.model import Evaluation
from autocomp.targets.simulator.isa.model import Accelerator
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
        bound_cycles=evaluation.bound.cycles,
        ratio=round(evaluation.ratio, 4),
        utilisation=round(evaluation.utilisation, 4),
        stages={stage.stage: stage.status for stage in evaluation.stages},
    )


def machine_of(accelerator: Accelerator) -> Machine:
    return Machine(name=accelerator.full_name, parameters=dict(accelerator.parameters), digest=accelerator.digest)
