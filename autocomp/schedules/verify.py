"""Verification of records: the content against its digest, the kernel and its figures against the target's judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from autocomp import workload as workloads
from autocomp.data import decode, read_regular
from autocomp.errors import AutocompError, ConfigError
from autocomp.schedules.measured import arguments_of, figures, machine_of, operation_of
from autocomp.schedules.record import PlanStep, ScheduleRecord, from_yaml
from autocomp.search.log.snapshot import versions
from autocomp.search.session import starting_kernel
from autocomp.targets.evaluation import SCREEN, Evaluation, Measurement
from autocomp.targets.protocol import Target
from autocomp.targets.registry import load_target
from autocomp.workload.model import Workload

HOLDS = "holds"
CHANGED = "changed"  # the kernel is correct, but the machine's description or the figures are others by now
WRONG = "wrong"
CORRUPT = "corrupt"
UNKNOWN = "unknown"  # its machine or its operation is not to be found


@dataclass(frozen=True)
class Verification:
    """`message` says why a record does not hold; `renewed` is a changed record with what was measured now."""

    path: Path
    outcome: str
    message: str = ""
    renewed: ScheduleRecord | None = None


def verify(path: Path, now: datetime, extra_paths: Sequence[Path] = (), say_trusted: bool = False) -> Verification:
    """Check one record's file. Nothing of it is executed but its kernel, by the simulator. `extra_paths` are looked
    through for accelerators, and for the workloads that define operations of users' own; with `say_trusted` the user
    says that their references may run."""
    try:
        record = from_yaml(decode(read_regular(path), str(path), ConfigError), str(path))
    except (ConfigError, OSError) as error:
        return Verification(path, CORRUPT, getattr(error, "message", str(error)))
    try:
        target = load_target(record.target.spec, record.target.parameters, extra_paths, say_trusted)
        workload = workloads.as_trusted(workload_of(record, target, path, extra_paths), say_trusted)
        workloads.require_trusted(workload)
        evaluator = target.evaluator(workload)
    except AutocompError as error:
        return Verification(path, UNKNOWN, error.message)
    evaluation = evaluator.evaluate(record.kernel)
    if evaluation.failure is not None or evaluation.value is None:
        failure = evaluation.failure
        return Verification(path, WRONG, f"{failure.stage}: {failure.message}" if failure else "it did not finish")
    arguments = arguments_of(workload, target, record.kernel, evaluation.value)
    differences = _differences(record, target, evaluation)
    if arguments != record.operation.arguments:
        differences.append(f"run-time options ({', '.join(record.operation.arguments)}) -> ({', '.join(arguments)})")
    if not differences:
        return Verification(path, HOLDS)
    return Verification(
        path, CHANGED, "; ".join(differences), renewed(record, target, workload, evaluation, now, arguments)
    )


def workload_of(record: ScheduleRecord, target: Target, path: Path, extra_paths: Sequence[Path]) -> Workload:
    """The workload of a record. Raises ConfigError if it does not exist, or if its name now means another workload."""
    operation = record.operation
    parameters = record.target.parameters
    if operation.reference is None:
        document: dict[str, Any] = {"operation": operation.name, "target": record.target.spec, "dims": operation.dims}
        document |= {name: value for name, value in operation.options.items() if value is not None}
        if operation.name == "gemm" and operation.tensors:
            document["dtype"] = operation.tensors[0].dtype
        workload = workloads.parse(yaml.safe_dump(document), path, parameters)
    else:
        workload = workloads.load(operation.name, extra_paths, parameters)
    if operation_of(workload, operation.arguments) != operation:
        raise ConfigError(f"{operation.name} has another definition than when the record was made")
    return workload


def _differences(record: ScheduleRecord, target: Target, evaluation: Evaluation) -> list[str]:
    differences = []
    if record.target != machine_of(target):
        differences.append("the machine is described otherwise")
    then, now = record.result, figures(evaluation, record.result.naive)
    measured = Measurement(then.value, then.spread), Measurement(now.value, now.spread)
    objective = then.objective
    if objective != now.objective or objective.better(*measured) or objective.better(*measured[::-1]):
        differences.append(f"{objective.unit} {then.value:,} -> {now.value:,}")
    for name in ("bound", "utilisation"):
        before, after = getattr(then, name), getattr(now, name)
        if before != after:
            differences.append(f"{name} {before} -> {after}")
    return differences


def renewed(
    record: ScheduleRecord,
    target: Target,
    workload: Workload,
    evaluation: Evaluation,
    now: datetime,
    arguments: tuple[str, ...],
) -> ScheduleRecord:
    """The record with the present machine, operation and figures. The plans before the last keep the values of their
    search."""
    naive = target.evaluator(workload).evaluate(starting_kernel(workload, target), SCREEN).value
    result = figures(evaluation, naive or record.result.naive)
    plans: list[PlanStep] = [*record.plans]
    if plans:
        plans[-1] = plans[-1].model_copy(update={"value": result.value})
    measured = {"versions": versions(), "created": now.isoformat(timespec="seconds")}
    changes: dict[str, Any] = {
        "target": machine_of(target),
        "operation": operation_of(workload, arguments),
        "result": result,
        "plans": tuple(plans),
        "provenance": record.provenance.model_copy(update=measured),
    }
    return record.model_copy(update=changes)
