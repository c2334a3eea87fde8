"""`autocomp fidelity`: how true the simulator's timing is to measured cases."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import click

from autocomp.cli.options import output_options, path_option, print_json
from autocomp.errors import ConfigError


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
    from rich.table import Table

    from autocomp.cli.machine import accelerator_of
    from autocomp.fidelity import by_group, measure
    from autocomp.report import make_console
    from autocomp.report.terminal import percent

    if accelerator is None:
        traces = sorted((folder / "traces").glob("*.txt*"))
        if not traces:
            raise ConfigError(f"{folder} has no traces", hint="give a folder with cycles.csv and traces/")
        accelerator = accelerator_of(traces[0], paths)
    cases = list(measure(folder, accelerator, names, paths))
    groups = by_group(cases)
    if as_json:
        print_json(
            {
                "groups": [dataclasses.asdict(group) for group in groups],
                "cases": [{**dataclasses.asdict(case), "error": case.error} for case in cases],
            }
        )
        return
    table = Table(title="Error of simulated cycles against measured ones", title_justify="left")
    table.add_column("group", no_wrap=True)
    for heading in ("cases", "not replayed", "mean", "95 %", "worst"):
        table.add_column(heading, justify="right")
    table.add_column("worst case", overflow="fold")
    for group in groups:
        errors = (group.mean, group.p95, group.worst_error)
        figures = [percent(error if group.count else None, digits=2) for error in errors]
        table.add_row(group.group, str(group.count), str(group.unsupported), *figures, group.worst)
    make_console(sys.stdout, plain).print(table)
