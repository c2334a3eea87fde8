"""From a finished search to its record."""

from __future__ import annotations

import hashlib
from datetime import datetime
from pathlib import Path
from typing import Any

from autocomp.agents.config import describe
from autocomp.agents.protocol import LineageStep
from autocomp.schedules.record import PlanStep, ScheduleRecord
from autocomp.search import SearchResult
from autocomp.search.snapshot import Request, versions
from autocomp.search.targets import plan_to_json
from autocomp.workload.model import Workload


def record_of(request: Request, result: SearchResult, kernel: str, created: datetime) -> ScheduleRecord:
    """The record of the best kernel of a search; `kernel` is its text."""
    best = result.best
    evaluation = best.evaluation
    if evaluation is None or not evaluation.correct:
        raise ValueError("only a correct kernel is a schedule")
    return ScheduleRecord.model_validate(
        {
            "accelerator": {
                "name": request.accelerator.full_name,
                "parameters": dict(request.accelerator.parameters),
                "digest": request.accelerator.digest,
            },
            "operation": _operation(request.workload),
            "result": {
                "cycles": best.cycles,
                "naive_cycles": result.naive.cycles,
                "bound_cycles": evaluation.bound.cycles,
                "ratio": round(evaluation.ratio, 4),
                "utilisation": round(evaluation.utilisation, 4),
                "stages": {stage.stage: stage.status for stage in evaluation.stages},
            },
            "plans": [_plan(step) for step in result.history.lineage(best)],
            "provenance": {
                "strategy": request.strategy,
                "seed": request.options.seed,
                "planner": describe(request.agents.planner),
                "coder": describe(request.agents.coders),
                "evaluations": result.evaluations,
                "versions": versions(),
                "created": created.isoformat(timespec="seconds"),
            },
            "kernel": kernel,
        }
    )


def _plan(step: LineageStep) -> dict[str, Any]:
    """What a replay needs; what an author expected and whom it copied is the run's own."""
    plan = plan_to_json(step.plan)
    return {**{name: plan[name] for name in PlanStep.model_fields if name in plan}, "cycles": step.cycles}


def _operation(workload: Workload) -> dict[str, Any]:
    """What is computed. A user's own operation is known by its workload's name and its reference's text."""
    own = workload.reference_source is not None
    reference = None
    if own:
        text = Path(str(workload.reference_source).rsplit(":", 1)[0]).read_bytes()
        reference = hashlib.sha256(text).hexdigest()
    return {
        "name": workload.name if own else workload.operation,
        "dims": dict(workload.dims),
        "options": dict(workload.options),
        "tensors": [
            {"name": t.name, "dtype": t.dtype, "shape": list(t.shape), "role": t.role} for t in workload.tensors
        ],
        "reference": reference,
    }
