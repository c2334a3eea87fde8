"""The schedules that a search begins with: those of the most similar problems."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from autocomp.schedules.index import Entry, Stored
from autocomp.schedules.record import ScheduleRecord
from autocomp.schedules.store import Warn, all_schedules, record_at
from autocomp.targets.distance import octaves
from autocomp.targets.planning import LineageStep, Plan, Precedent
from autocomp.targets.protocol import Target
from autocomp.workload.model import Workload

NEGLIGIBLE = 0.005  # of the value


def precedents_for(
    workload: Workload, target: Target, count: int, warn: Warn, roots: Sequence[Path] | None = None
) -> tuple[Precedent, ...]:
    """The `count` nearest schedules of the same operation on the same family of machines.

    The distance is the sum of |log2| of the ratios of the sizes and of the machine's parameters, plus 1 for each
    option of the operation that differs. Of equal distances the schedule nearer to its bound counts. The schedule of
    the very problem (distance 0) is none of them, so that a repeated search is the same search.
    """
    operation = workload.name if workload.reference_source is not None else workload.operation
    near = [
        (_distance(stored.entry, workload, target.parameters), stored)
        for stored in all_schedules(warn, roots)
        if stored.entry.operation == operation
        and _family(stored.entry.target) == _family(f"{target.kind}:{target.name}")
        and stored.entry.dims.keys() == workload.dims.keys()
    ]
    near = [(distance, stored) for distance, stored in near if distance > 0]
    near.sort(key=lambda records: (records[0], -(records[1].entry.ratio or 0.0), records[1].entry.path))
    return tuple(_precedent(stored, distance) for distance, stored in near[:count])


def _family(spec: str) -> list[str]:
    """The family of machines between which schedules are carried over: the kind, and the name without its variant."""
    return spec.split(":")[:2]


def _precedent(stored: Stored, distance: float) -> Precedent:
    record = record_at(stored)
    return Precedent(
        stored.entry.path,
        record.digest,
        _problem(stored.entry),
        round(distance, 3),
        record.result.ratio or 0.0,
        _lineage(record),
    )


def _lineage(record: ScheduleRecord) -> tuple[LineageStep, ...]:
    """The plans with the value after each and its gain, without those at the end that hardly gained anything together:
    they are particulars of that problem."""
    objective, best = record.result.objective, record.result.value
    enough = [objective.within(step.value, best, 1 + NEGLIGIBLE) for step in record.plans]
    worthwhile = enough.index(True) + 1 if any(enough) else len(record.plans)
    befores = (record.result.naive, *(step.value for step in record.plans))
    return tuple(
        LineageStep(
            Plan(step.option, step.text, step.transformation, step.parameters, step.author),
            step.value,
            objective.gain(before, step.value),
        )
        for step, before in zip(record.plans[:worthwhile], befores, strict=False)
    )


def _problem(entry: Entry) -> str:
    dims = ", ".join(f"{name} = {size}" for name, size in entry.dims.items())
    options = "".join(f", {name} = {value}" for name, value in entry.options.items())
    return f"{entry.operation} with {dims}{options} on {entry.target.partition(':')[2]}"


def _distance(entry: Entry, workload: Workload, parameters: Mapping[str, int | float]) -> float:
    sizes = math.fsum(octaves(size, entry.dims[name]) for name, size in workload.dims.items())
    options = entry.options_as(workload.options)
    return sizes + math.fsum(_of_parameters(entry.parameters, parameters)) + _of_options(options, workload.options)


def _of_parameters(one: Mapping[str, float], other: Mapping[str, float]) -> Iterator[float]:
    """Parameters that only one of two descriptions of a machine has say nothing of how far they are apart."""
    for name in one.keys() & other.keys():
        yield octaves(one[name], other[name])


def _of_options(one: Mapping[str, object], other: Mapping[str, object]) -> int:
    return sum(1 for name in one.keys() | other.keys() if one.get(name) != other.get(name))
