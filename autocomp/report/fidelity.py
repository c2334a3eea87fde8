"""How true the simulator's timing is: tables of measured cases, and of programs that ran on the hardware too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from autocomp.report.terminal import cycles_text, percent
from autocomp.targets.simulator.fidelity import GroupError

if TYPE_CHECKING:
    from autocomp.targets.simulator.rtl.differential import Comparison


def errors_table(groups: Sequence[GroupError]) -> Table:
    """A row a group of cases."""
    table = Table(title="Error of simulated cycles against measured ones", title_justify="left")
    table.add_column("group", no_wrap=True)
    for heading in ("cases", "not replayed", "mean", "95 %", "worst"):
        table.add_column(heading, justify="right")
    table.add_column("worst case", overflow="fold")
    for group in groups:
        errors = (group.mean, group.p95, group.worst_error)
        figures = [percent(error if group.count else None, digits=2) for error in errors]
        label = group.name if group.name == group.group else f"{group.group}  {group.name}"
        table.add_row(label, str(group.count), str(group.unsupported), *figures, group.worst)
    return table


def programs_table(comparisons: Sequence[Comparison]) -> Table:
    """A row a program that differs, with its shrunk case."""
    table = Table(title="Programs that differ", title_justify="left")
    table.add_column("program", no_wrap=True)
    for heading in ("commands", "simulated", "measured"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("difference", ratio=1)
    table.add_column("case", overflow="fold")
    for found in comparisons:
        cycles = (cycles_text(found.simulated), cycles_text(found.measured))
        table.add_row(
            found.name, f"{found.commands:,}", *cycles, Text(f"{found.difference}: {found.detail}"), found.case
        )
    return table
