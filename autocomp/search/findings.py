"""The results of a run's experiments, as a document for those who plan the next ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from autocomp.search.candidate import Candidate, History

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
    lines += _by_option(history, tried)
    lines += ["", "## Latest experiments", ""]
    lines += [_experiment(history, candidate) for candidate in tried[-LATEST:]]
    return "\n".join(lines) + "\n"


def _by_option(history: History, tried: list[Candidate]) -> Iterator[str]:
    groups: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in tried:
        assert candidate.plan is not None
        groups[candidate.plan.option or "(free)"].append(candidate)
    for option, members in sorted(groups.items()):
        speedups = [gain for gain in map(history.gain, members) if gain is not None]
        faster = sum(1 for s in speedups if s > 1 + NO_CHANGE)
        best = f"{max(speedups):.2f}x" if speedups else "-"
        yield f"| {option} | {len(members)} | {faster} | {best} | {len(members) - len(speedups)} |"


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
