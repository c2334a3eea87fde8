"""`autocomp schedules`: the fastest kernels known."""

from __future__ import annotations

import sys

import click

from autocomp.cli.options import output_options, print_json, warn


@click.group()
def schedules() -> None:
    """List and show schedules: the fastest kernels known, with how they came about."""


@schedules.command("list")
@output_options
def list_(as_json: bool, plain: bool) -> None:
    """List all schedules of the user's store and the shipped one."""
    from rich.table import Table

    from autocomp.report import make_console
    from autocomp.report.terminal import cycles_text, percent
    from autocomp.schedules.store import all_schedules

    stored = all_schedules(warn)
    if as_json:
        print_json([{**vars(s.entry), "path": str(s.path)} for s in stored])
        return
    table = Table()
    for heading in ("accelerator", "operation", "dims", "cycles", "of bound", "file"):
        table.add_column(heading, justify="right" if heading in ("cycles", "of bound") else "left", overflow="fold")
    for s in stored:
        dims = " ".join(f"{name}={size}" for name, size in s.entry.dims.items())
        entry = s.entry
        table.add_row(
            entry.accelerator, entry.operation, dims, cycles_text(entry.cycles), percent(entry.ratio), s.path.name
        )
    console = make_console(sys.stdout, plain)
    console.print(table if stored else "no schedules yet; autocomp search writes one")


@schedules.command()
@click.argument("name")
@click.option("--kernel", "kernel_only", is_flag=True, help="Print the kernel alone.")
@output_options
def show(name: str, kernel_only: bool, as_json: bool, plain: bool) -> None:
    """Show one schedule: NAME is its file's name or path, or the start of either."""
    from autocomp.schedules.store import find, record_at

    stored = find(name, warn)
    record = record_at(stored)
    if as_json:
        print_json({"path": str(stored.path), **record.model_dump(mode="json")})
    elif kernel_only:
        click.echo(record.kernel, nl=False)
    else:
        click.echo(stored.text(), nl=False)
