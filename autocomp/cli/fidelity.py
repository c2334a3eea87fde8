"""`autocomp fidelity`: how true the simulator's timing is to measured cases."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autocomp.cli.options import output_options, path_option, print_json
from autocomp.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table

    from autocomp.fidelity import GroupError


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--accelerator", default=None, help="Its description (default: the one that has the traces' commands).")
@click.option("--case", "names", multiple=True, help="Only this case; repeatable.")
@path_option
@output_options
def fidelity(
    folder: Path, accelerator: str | None, names: tuple[str, ...], paths: tuple[Path, ...], as_json: bool, plain: bool
) -> None:
    """Replay the measured cases in DIR (cycles.csv and traces/), and print the error of each group."""
    from autocomp.fidelity import by_group, measure, not_replayed, rank_correlation
    from autocomp.report import make_console

    cases = list(measure(folder, accelerator or _accelerator_of(folder, paths), names, paths))
    if not cases:
        raise ConfigError(f"{folder} has no case {', '.join(names)}")
    groups, correlation = by_group(cases), rank_correlation(cases)
    if as_json:
        print_json(
            {
                "groups": [{**dataclasses.asdict(group), "name": group.name} for group in groups],
                "spearman": correlation,
                "cases": [{**dataclasses.asdict(case), "error": case.error} for case in cases],
            }
        )
        return
    console = make_console(sys.stdout, plain)
    console.print(_table(groups))
    if correlation is not None:
        console.print(f"Spearman rank correlation over the GEMM schedules: {correlation:.4f}")
    for reason, count in not_replayed(cases).items():
        console.print(f"not replayed: {count}: {reason}", markup=False, soft_wrap=True)


def _accelerator_of(folder: Path, paths: tuple[Path, ...]) -> str:
    """The accelerator that has all commands of the first trace for which there is just one."""
    from autocomp.cli.machine import accelerator_of

    traces = sorted((folder / "traces").glob("*.txt*"))
    refused = ConfigError(f"{folder} has no traces", hint="give a folder with cycles.csv and traces/")
    for trace in traces:
        try:
            return accelerator_of(trace, paths)
        except ConfigError as error:
            refused = error
    raise refused


def _table(groups: Sequence[GroupError]) -> Table:
    from rich.table import Table

    from autocomp.report.terminal import percent

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
