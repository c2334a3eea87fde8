"""The limits of a kernel, in sentences and as shares of its cycles: from its evaluation, or from its critical path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autocomp.errors import CandidateFailure, KernelError
from autocomp.targets.evaluation import Bound, Evaluation, Evidence, LineCost, Number
from autocomp.targets.profile import PathSegment
from autocomp.targets.simulator.evaluate.objectives import cycles_of
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.profile.limits import Limits, limits
from autocomp.targets.simulator.stalls import BUSY, HOST, activity
from autocomp.workload.model import Workload

STRETCHES = 4  # of the critical path
ANSWERS = 4  # to what-ifs, those that save most
_WORTH_NAMING = 0.05  # share of the cycles
_WORTH_SAVING = 0.005
_REACHED = 0.99  # share of the bound


@dataclass(frozen=True)
class Diagnosis(Evidence):
    """The evidence from the critical path of the first commands; `lines` have the cycles that they are on it."""

    limits: Limits | None = None


def diagnose(kernel: str, workload: Workload, accelerator: Accelerator) -> Diagnosis | None:
    """The diagnosis of a kernel; None for one that does not run to its end, as its evaluation has said."""
    try:
        known = limits(kernel, workload, accelerator)
    except (CandidateFailure, KernelError):
        return None
    return Diagnosis(lines=_lines(kernel, known), limits=known)


def _lines(kernel: str, limits: Limits) -> tuple[LineCost, ...]:
    """The lines of the critical path, the longest first. `count` is the number of its stretches."""
    text = kernel.splitlines()
    by_line: dict[int, list[PathSegment]] = {}
    for segment in limits.path:
        by_line.setdefault(segment.line, []).append(segment)
    costs = []
    for line, segments in by_line.items():
        causes: dict[str, Number] = {}
        for segment in segments:
            causes[segment.cause] = causes.get(segment.cause, 0) + segment.cycles
        shown = text[line - 1].strip() if 0 < line <= len(text) else ""
        costs.append(LineCost(line, shown, sum(s.count for s in segments), sum(causes.values()), dict(_ranked(causes))))
    return tuple(sorted(costs, key=lambda cost: (-cost.cost, cost.line)))


def limits_of(diagnosis: Evidence | None) -> Limits | None:
    return diagnosis.limits if isinstance(diagnosis, Diagnosis) else None


def story(evaluation: Evaluation, diagnosis: Evidence | None) -> tuple[str, ...]:
    """Of the critical path where that is known."""
    known = limits_of(diagnosis)
    return tuple(_story(evaluation) if known is None else _story_of_the_path(evaluation, known))


def _ranked(causes: Mapping[str, Number]) -> list[tuple[str, Number]]:
    return sorted(((c, n) for c, n in causes.items() if n), key=lambda item: (-item[1], item[0]))


def _story(evaluation: Evaluation) -> Iterator[str]:
    """The unit that sets the pace, what it waits for, and how far the bound is away."""
    if not evaluation.value or not evaluation.evidence.parts:
        return
    total = cycles_of(evaluation)
    busy = {unit: causes.get("Busy", 0) / total for unit, causes in evaluation.evidence.parts.items()}
    pace = max(busy, key=lambda unit: (busy[unit], unit))
    yield f"Unit {pace} is the busiest, {busy[pace]:.0%} of the time; in the rest it does this:"
    for cause, cycles in _ranked(evaluation.evidence.parts[pace]):
        if cause != "Busy" and cycles >= _WORTH_NAMING * total:
            yield f"{cycles / total:.0%} of the time it {activity(cause)} ({cause})"
    yield _roof(evaluation, busy[pace])


def _story_of_the_path(evaluation: Evaluation, limits: Limits) -> Iterator[str]:
    """The critical path in sentences: what it consists of, what would shorten it, and how far away the bound is."""
    if limits.commands < evaluation.evidence.figures.get("commands", 0):
        yield f"of the first {limits.commands:,} commands, which take {limits.cycles:,} cycles:"
    for segment in limits.path[:STRETCHES]:
        if segment.share >= _WORTH_NAMING:
            yield f"{segment.share:.0%} of the critical path: {segment.words}"
    for answer in limits.what_if[:ANSWERS]:
        if answer.saved >= _WORTH_SAVING:
            yield f"{answer.words}, the kernel would take {answer.saved:.0%} fewer cycles"
    unit, cause = max(limits.shares, key=lambda key: limits.shares[key])
    busy = evaluation.evidence.parts.get(unit, {}).get(BUSY, 0)
    yield _roof(evaluation, busy / cycles_of(evaluation), cause)


def _roof(evaluation: Evaluation, busy: float, cause: str = BUSY) -> str:
    """The distance to the bound, and its cause. `busy` is the share of the time that the unit which sets the pace
    works, and `cause` that of most cycles of the critical path."""
    parts = (evaluation.bound or Bound(0)).parts
    if "compute" not in parts:
        return f"{evaluation.ratio or 0.0:.0%} of the bound is reached"
    if (evaluation.ratio or 0.0) >= _REACHED:
        return f"{evaluation.ratio:.1%} of the bound is reached, and hardly anything is left to gain"
    limit = "computation" if parts.get("compute", 0) >= parts.get("memory", 0) else "DRAM traffic"
    kind = "work that could be done in fewer cycles" if busy > 0.8 else "waiting, which independent work can hide"
    if cause == HOST:
        kind = "code of the kernel that runs on the host"
    return (
        f"the bound is set by {limit}, and {evaluation.ratio or 0.0:.0%} of it is reached: most of the rest is {kind}"
    )
