"""From a finished search to its record."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from autocomp.agents.config import describe
from autocomp.schedules.measured import arguments_of, figures, machine_of, operation_of
from autocomp.schedules.record import PlanStep, Provenance, ScheduleRecord
from autocomp.search import SearchResult
from autocomp.search.candidate import Candidate
from autocomp.search.log.snapshot import Request, versions
from autocomp.search.targets import plan_document
from autocomp.targets.conditions import nominal
from autocomp.targets.planning import LineageStep


def record_of(
    request: Request, result: SearchResult, best: Candidate, kernel: str, created: datetime
) -> ScheduleRecord:
    """The record of the kernel that a search keeps; `kernel` is its text."""
    evaluation, naive = best.evaluation, result.naive.evaluation
    if evaluation is None or not evaluation.correct or naive is None:
        raise ValueError("only a correct kernel is a schedule")
    evaluation, naive = nominal(evaluation), nominal(naive)  # a record is of the machine itself
    value = evaluation.value or 0
    arguments = arguments_of(request.workload, request.target, kernel, value)
    return ScheduleRecord(
        target=machine_of(request.target),
        operation=operation_of(request.workload, arguments),
        result=figures(evaluation, naive.value or 0),
        plans=tuple(PlanStep.model_validate(_plan(step)) for step in result.history.lineage(best)),
        provenance=Provenance(
            strategy=request.strategy,
            seed=request.options.seed,
            planner=describe(request.agents.planner),
            coder=describe(request.agents.coders),
            evaluations=result.evaluations,
            versions=versions(),
            created=created.isoformat(timespec="seconds"),
        ),
        kernel=kernel,
    )


def _plan(step: LineageStep) -> dict[str, Any]:
    """The part of a step that a replay needs. An author's expectation and the peer it copied stay with the run."""
    plan = plan_document(step.plan)
    return {**{name: plan[name] for name in PlanStep.model_fields if name in plan}, "value": step.value}
