"""An evaluation for a model: figures, and in words what limits the kernel. The one place that reads evaluations
for prompts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from autocomp.targets.evaluation import Cause, Evaluation, LineCost, Number
from autocomp.targets.planning import Context

HOTTEST_LINES = 8
WORTH = 0.02  # share of the measurement below which a cause is not told
LEAST = 0.001  # that is told of a line
_NUMBER = re.compile(r" *\d+ \|( |$)")


@dataclass(frozen=True)
class Feedback:
    """`stalls` gives for each part of the machine its causes with their amount and share of the measurement, largest
    first, those that matter. `causes` are what the target's glossary says of them; `story` says in words what limits
    the kernel; `lines` are those that cost most. They are `exclusive` where their costs add up to the measurement."""

    evaluation: Evaluation
    stalls: tuple[tuple[str, tuple[tuple[str, Number, float], ...]], ...]
    causes: tuple[tuple[str, Cause], ...]
    story: tuple[str, ...]
    lines: tuple[LineCost, ...]
    exclusive: bool

    @property
    def whole(self) -> Number:
        """The cost of all lines."""
        return sum(line.cost for line in self.lines)

    @property
    def hottest(self) -> tuple[LineCost, ...]:
        return tuple(line for line in self.lines if line.cost > WORTH * self.whole)[:HOTTEST_LINES]


def feedback(context: Context) -> Feedback:
    """All that a prompt says of the context's kernel."""
    evaluation = context.evaluation
    story = context.target.story(evaluation, context.diagnosis)
    stalls = _stalls(evaluation)
    closer = () if context.diagnosis is None else _told(context.diagnosis.lines)
    known = Feedback(evaluation, stalls, (), story, closer or evaluation.evidence.lines, bool(closer))
    named = {cause for _, causes in stalls for cause, _, _ in causes} | {
        cause for line in known.hottest for cause in line.causes
    }
    glossary = tuple((name, cause) for name, cause in context.target.glossary.items() if name in named)
    return replace(known, causes=glossary)


def _told(lines: tuple[LineCost, ...]) -> tuple[LineCost, ...]:
    """Lines whose costs add up, without what rounds to nothing."""
    least = LEAST * sum(line.cost for line in lines)
    kept = (line for line in lines if line.cost >= least)
    return tuple(replace(line, causes={c: n for c, n in line.causes.items() if n >= least}) for line in kept)


def annotated(kernel: str, known: Feedback) -> str:
    """The kernel with line numbers, and what each line costs beside it: its share where costs add up, else the cost."""
    lines = kernel.rstrip("\n").splitlines()
    costs = {
        entry.line: f"{entry.cost / known.whole:.1%}" if known.exclusive else f"{entry.cost:,}" for entry in known.lines
    }
    width = len(str(len(lines)))
    column = max((len(text) for text in costs.values()), default=0)
    return "\n".join(
        f"{number:>{width}} | {costs.get(number, ''):>{column}} | {line}".rstrip()
        for number, line in enumerate(lines, 1)
    )


def numbered(kernel: str) -> str:
    """The kernel with line numbers."""
    lines = kernel.rstrip("\n").splitlines()
    width = len(str(len(lines)))
    return "\n".join(f"{number:>{width}} | {line}".rstrip() for number, line in enumerate(lines, 1))


def unnumbered(kernel: str) -> str:
    """The kernel without line numbers, where an answer copied them from the question."""
    lines = kernel.splitlines()
    if not all(_NUMBER.match(line) for line in lines if line.strip()):
        return kernel
    return "\n".join(_NUMBER.sub("", line) for line in lines) + "\n"


def relevance(context: Context) -> Mapping[str, float]:
    """For each option that names causes: the share of the measurement that these account for in this kernel."""
    return {
        option.id: context.target.weight(option.applies.causes, context.evaluation, context.diagnosis)
        for option in context.menu.options
        if option.applies.causes
    }


def occurring_causes(context: Context) -> frozenset[str]:
    """The causes of waiting that cost this kernel anything."""
    named = {cause for option in context.menu.options for cause in option.applies.causes}
    return frozenset(c for c in named if context.target.weight((c,), context.evaluation, context.diagnosis) > 0)


def _stalls(evaluation: Evaluation) -> tuple[tuple[str, tuple[tuple[str, Number, float], ...]], ...]:
    total = evaluation.value or 1
    return tuple(
        (part, tuple((cause, amount, amount / total) for cause, amount in _ranked(causes) if amount >= WORTH * total))
        for part, causes in evaluation.evidence.working.items()
    )


def _ranked(causes: Mapping[str, Number]) -> list[tuple[str, Number]]:
    return sorted(((c, n) for c, n in causes.items() if n), key=lambda item: (-item[1], item[0]))
