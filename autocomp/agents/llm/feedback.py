"""What an evaluation tells a model: figures, and in words where the cycles go. The one place that reads evaluations
for prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autocomp.agents.rules.profile import profile
from autocomp.targets.menu import Menu, MenuOption
from autocomp.targets.simulator.evaluate.model import Evaluation, LineCycles
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.profile.limits import Limits

HOTTEST_LINES = 8
STRETCHES = 4  # of the critical path
ANSWERS = 4  # to what-ifs, those that save most
_WORTH_NAMING = 0.05  # share of the cycles
_IN_WORDS: Mapping[str, str] = {
    "Idle": "for commands: none of its own is in the queue",
    "Host": "for the host, which has not issued its next command yet",
    "QueueFull": "because the queue in front of it is full",
    "ReadAfterWrite": "for data that an earlier command is still producing",
    "WriteAfterRead": "until earlier commands have read what it is to overwrite",
    "WriteAfterWrite": "until an earlier command has written the same rows",
    "Semaphore": "at a semaphore",
    "Bus": "for the DRAM bus, which carries other transfers",
    "MemoryLatency": "for the first data of its requests to arrive from DRAM",
    "BankConflict": "for a memory bank that another access holds",
    "Pairing": "for the second half of a pair of commands",
    "Drain": "for its pipeline to run empty before a change of configuration",
    "Pipeline": "for results that are still in its pipeline",
    "Fence": "at a fence",
}


@dataclass(frozen=True)
class Feedback:
    """`stalls` gives for each unit its causes with cycles and share of the makespan, largest first; `story` says in
    words what limits the kernel; `lines` are the hottest lines."""

    evaluation: Evaluation
    stalls: tuple[tuple[str, tuple[tuple[str, int, float], ...]], ...]
    story: tuple[str, ...]
    lines: tuple[LineCycles, ...]


def feedback(evaluation: Evaluation, limits: Limits | None = None) -> Feedback:
    """What there is to say of an evaluation; the story is of the critical path where that is known."""
    story = tuple(_story(evaluation) if limits is None else _story_of_the_path(evaluation, limits))
    return Feedback(evaluation, _stalls(evaluation), story, evaluation.lines[:HOTTEST_LINES])


def annotated(kernel: str, evaluation: Evaluation) -> str:
    """The kernel with line numbers, and beside each line that issues commands the cycles these waited in all."""
    lines = kernel.rstrip("\n").splitlines()
    waits = {entry.line: f"{entry.wait_cycles:,}" for entry in evaluation.lines}
    width = len(str(len(lines)))
    column = max((len(text) for text in waits.values()), default=0)
    return "\n".join(
        f"{number:>{width}} | {waits.get(number, ''):>{column}} | {line}".rstrip()
        for number, line in enumerate(lines, 1)
    )


def relevance(
    menu: Menu, evaluation: Evaluation, accelerator: Accelerator, limits: Limits | None = None
) -> Mapping[str, float]:
    """For each option that names causes: the share of the cycles that these account for in this kernel."""
    found = profile(evaluation, accelerator, limits)

    def share(option: MenuOption) -> float:
        return min(1.0, found.weight(option.applies.causes))

    return {option.id: share(option) for option in menu.options if option.applies.causes}


def _stalls(evaluation: Evaluation) -> tuple[tuple[str, tuple[tuple[str, int, float], ...]], ...]:
    total = evaluation.cycles or 1
    return tuple(
        (unit, tuple((cause, cycles, cycles / total) for cause, cycles in _ranked(causes)))
        for unit, causes in evaluation.unit_cycles.items()
    )


def _ranked(causes: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(((c, n) for c, n in causes.items() if n), key=lambda item: (-item[1], item[0]))


def _story(evaluation: Evaluation) -> Iterator[str]:
    """The unit that sets the pace, what it waits for, where, and how far the bound is away."""
    total = evaluation.cycles
    if not total or not evaluation.unit_cycles:
        return
    busy = {unit: causes.get("Busy", 0) / total for unit, causes in evaluation.unit_cycles.items()}
    pace = max(busy, key=lambda unit: (busy[unit], unit))
    yield f"Unit {pace} is the busiest, {busy[pace]:.0%} of the time; in the rest it waits:"
    for cause, cycles in _ranked(evaluation.unit_cycles[pace]):
        if cause != "Busy" and cycles >= _WORTH_NAMING * total:
            yield f"{cycles / total:.0%} of the time {_IN_WORDS.get(cause, cause)} ({cause})"
    if evaluation.lines and evaluation.lines[0].wait_cycles:
        worst = evaluation.lines[0]
        cause = max(worst.causes, key=lambda name: worst.causes[name], default="")
        yield f"the commands of line {worst.line} wait longest" + (
            f", mostly {_IN_WORDS.get(cause, cause)}" if cause else ""
        )
    yield _roof(evaluation, busy[pace])


def _story_of_the_path(evaluation: Evaluation, limits: Limits) -> Iterator[str]:
    """What the critical path consists of, what would shorten it, and how far the bound is away."""
    if limits.commands < evaluation.commands:
        yield f"of the first {limits.commands:,} commands, which take {limits.cycles:,} cycles:"
    for segment in limits.path[:STRETCHES]:
        if segment.share >= _WORTH_NAMING:
            yield f"{segment.share:.0%} of the critical path: {segment.words}"
    for answer in limits.what_if[:ANSWERS]:
        yield f"{answer.words}, the kernel would take {max(0.0, answer.saved):.0%} fewer cycles"
    busy = evaluation.unit_cycles.get(max(limits.shares, key=lambda key: limits.shares[key])[0], {}).get("Busy", 0)
    yield _roof(evaluation, busy / max(1, evaluation.cycles or 1))


def _roof(evaluation: Evaluation, busy: float) -> str:
    bound = evaluation.bound
    limit = "computation" if bound.compute_cycles >= bound.memory_cycles else "DRAM traffic"
    kind = "work that could be done in fewer cycles" if busy > 0.8 else "waiting that could overlap with work"
    return f"the bound is set by {limit}, and {evaluation.ratio:.0%} of it is reached: most of the rest is {kind}"
