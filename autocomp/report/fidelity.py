"""The accuracy of the simulator's timing: tables of measured cases, and of programs that ran on the hardware too."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from autocomp.report.grid import Grid, figure, name, words
from autocomp.report.terminal import amount_text, percent
from autocomp.targets.simulator.fidelity import GroupError

if TYPE_CHECKING:
    from autocomp.targets.simulator.rtl.differential import Comparison


def errors_table(groups: Sequence[GroupError]) -> Grid:
    """A row a group of cases."""
    figures = [figure(heading) for heading in ("cases", "not replayed", "exact", "mean", "95 %", "worst")]
    grid = Grid("Error of simulated cycles against measured ones", name("group"), *figures, name("worst case"))
    for group in groups:
        errors = (group.mean, group.p95, group.worst_error)
        shown = [percent(error if group.count else None, digits=2) for error in errors]
        label = group.name if group.name == group.group else f"{group.group}  {group.name}"
        counts = (str(group.count), str(group.unsupported), str(group.exact))
        grid.add(label, *counts, *shown, group.worst)
    return grid


def programs_table(comparisons: Sequence[Comparison]) -> Grid:
    """A row a program that differs, with its shrunk case."""
    figures = [figure(heading) for heading in ("commands", "simulated", "measured")]
    grid = Grid("Programs that differ", name("program"), *figures, words("difference"), words("case"))
    for comparison in comparisons:
        cycles = (amount_text(comparison.simulated), amount_text(comparison.measured))
        grid.add(
            comparison.name,
            f"{comparison.commands:,}",
            *cycles,
            f"{comparison.difference}: {comparison.detail}",
            comparison.case,
        )
    return grid


CLOSE = 0.01  # the relative error that a summary counts beside exact cycles


def program_line(comparison: Comparison) -> str:
    """A program on both, in one line."""
    exact = "exact" if comparison.simulated == comparison.measured else f"{comparison.error:+.2%}"
    verdict = f"{comparison.difference}: {comparison.detail}" if comparison.difference else exact
    return (
        f"{comparison.name:<14} {comparison.commands:>6,} commands  {comparison.simulated:>9,} simulated  "
        f"{comparison.measured:>9,} measured  {verdict}"
    )


def summary(compared: Sequence[Comparison]) -> str:
    """The number of programs that gave the same bytes, and the accuracy of the cycles of those."""
    if not compared:
        return "no programs compared"
    timed = [comparison for comparison in compared if comparison.timed]
    commands = sum(comparison.commands for comparison in compared)
    words = f"{len(timed)} of {len(compared)} programs gave the same bytes ({commands:,} commands)"
    if not timed:
        return words
    errors = [abs(comparison.error) for comparison in timed]
    exact = sum(comparison.simulated == comparison.measured for comparison in timed)
    near = sum(error <= CLOSE for error in errors)
    return (
        f"{words}; of these, cycles are exact in {exact} ({exact / len(timed):.1%}) and within {CLOSE:.0%} in {near} "
        f"({near / len(timed):.1%}); mean error {sum(errors) / len(errors):.3%}, worst {max(errors):.2%}"
    )


class AgainstProgress:
    """The progress of a comparison, on a terminal; elsewhere its lines show it."""

    def __init__(self, console: Console, total: int) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._progress.add_task("on the hardware", total=total)

    def __enter__(self) -> AgainstProgress:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def show(self, text: str, completed: int = 0) -> None:
        self._progress.update(self._task, description=text, completed=completed)
