"""The results of a run's experiments, as a document for those who plan the next ones."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

from autocomp.search.candidate import Candidate, History
from autocomp.targets.planning import Experience

LATEST = 12  # experiments told one by one; what came before is summed up by option
NO_CHANGE = 0.005  # relative


def findings(history: History) -> str:
    """The document, in Markdown; empty before the first experiment."""
    tried = [c for step in history.rounds for c in step.candidates if c.plan is not None and c.parent is not None]
    if not tried:
        return ""
    best = history.best
    goal = best.objective
    summary = f"The best kernel {goal.verb} {best.value} {goal.unit}; the naive one {goal.past} {history.root.value}."
    lines = ["# Findings", "", summary]
    lines += [
        "",
        "## By option",
        "",
        "| option | tried | faster | best speed-up | did not work |",
        "|---|---|---|---|---|",
    ]
    lines += map(_option, by_option(history, tried))
    lines += ["", "## Latest experiments", ""]
    lines += [_experiment(history, candidate) for candidate in tried[-LATEST:]]
    return "\n".join(lines) + "\n"


def by_option(history: History, tried: Iterable[Candidate]) -> tuple[Experience, ...]:
    """The outcomes of candidates that have plans, by their options; free plans have the option ""."""
    groups: dict[str, list[float | None]] = defaultdict(list)
    for candidate in tried:
        if candidate.plan is not None:
            groups[candidate.plan.option].append(history.gain(candidate))
    return tuple(_experience(option, gains) for option, gains in sorted(groups.items()))


def _experience(option: str, gains: list[float | None]) -> Experience:
    """`gains` are the speed-ups over the parents: None of candidates that do not hold, 0 where it is undefined."""
    held = [gain for gain in gains if gain]
    mean = math.exp(math.fsum(map(math.log, held)) / len(held)) if held else None
    faster = sum(1 for gain in held if gain > 1 + NO_CHANGE)
    return Experience(option, len(gains), faster, len(gains) - len(held), mean, max(held, default=None))


def _option(option: Experience) -> str:
    best = "-" if option.best is None else f"{option.best:.2f}x"
    return f"| {option.option or '(free)'} | {option.tried} | {option.faster} | {best} | {option.failed} |"


def _experiment(history: History, candidate: Candidate) -> str:
    plan = candidate.plan
    assert plan is not None
    expected = f", expected {plan.gain[0]:.2f}x to {plan.gain[1]:.2f}x" if plan.gain else ""
    what = f"{plan.option or 'free plan'} on kernel {candidate.parent}{expected}"
    return f"- {what}: {_result(history, candidate)}. {plan.text}"


def _result(history: History, candidate: Candidate) -> str:
    if not candidate.promising:
        return f"{candidate.outcome}{': ' + candidate.message if candidate.message else ''}"
    speedup = history.gain(candidate)
    if speedup is None:
        return f"{candidate.value} {candidate.objective.unit}, from a kernel that turned out to be wrong"
    word = "no change" if abs(speedup - 1) <= NO_CHANGE else "faster" if speedup > 1 else "slower"
    return f"{word}, {speedup:.2f}x ({candidate.value} {candidate.objective.unit})"
