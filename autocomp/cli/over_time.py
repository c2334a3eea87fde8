"""The activity of a kernel's units and memories over time, as `run` and the end of a search show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autocomp.errors import CandidateFailure, KernelError

if TYPE_CHECKING:
    from rich.console import Console

    from autocomp.targets.evaluation import Evaluation, Number
    from autocomp.targets.profile import OverTime
    from autocomp.targets.protocol import Target
    from autocomp.workload import Workload

MOST_DRAWN = 1_000_000  # commands: 3 s and half a gigabyte for their record


def shape_of(text: str, workload: Workload, target: Target, evaluation: Evaluation) -> OverTime | None:
    """By a run of its own, which records each command; None for a kernel that is wrong, moves no data, does not come to
    its end, or has more than MOST_DRAWN commands."""
    if not target.records or not evaluation.correct or _commands(evaluation) > MOST_DRAWN:
        return None
    try:
        return target.record(text, workload).over_time()
    except (CandidateFailure, KernelError):
        return None


def print_shape(console: Console, shape: OverTime | None, evaluation: Evaluation) -> None:
    """The table. For a long kernel, a line that says why the table is left out."""
    from autocomp.report import print_over_time

    if shape is not None:
        print_over_time(console, shape)
    elif evaluation.correct and _commands(evaluation) > MOST_DRAWN:
        console.print(
            f"Units and memories over time are not drawn for {_commands(evaluation):,} commands, which are more than "
            f"{MOST_DRAWN:,}; `autocomp profile` draws any number.",
            markup=False,
        )


def _commands(evaluation: Evaluation) -> Number:
    return evaluation.evidence.figures.get("commands", 0)
