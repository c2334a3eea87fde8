"""`autocomp menu`: the optimisations that planners choose from."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from autocomp.cli.options import output_options, path_option, print_json


@click.group()
def menu() -> None:
    """List and show optimisation menus."""


@menu.command("list")
@path_option
@output_options
def list_(paths: tuple[Path, ...], as_json: bool, plain: bool) -> None:
    """List the menus that --menu finds by name."""
    from rich.table import Table

    from autocomp.agents import menu as menus
    from autocomp.cli.listing import named_files
    from autocomp.report import make_console

    files = named_files("menus", ".yaml", paths)
    counts = {name: len(menus.load([str(file)], paths).options) for name, file in files.items()}
    if as_json:
        print_json([{"name": name, "options": counts[name], "path": str(file)} for name, file in files.items()])
        return
    table = Table()
    table.add_column("menu")
    table.add_column("options", justify="right")
    table.add_column("file", overflow="fold")
    for name, file in files.items():
        table.add_row(name, str(counts[name]), str(file))
    make_console(sys.stdout, plain).print(table)


@menu.command()
@click.argument("names", nargs=-1, required=True)
@path_option
@output_options
def show(names: tuple[str, ...], paths: tuple[Path, ...], as_json: bool, plain: bool) -> None:
    """Show the options of the menus NAMES, merged in this order."""
    import dataclasses

    from rich.table import Table
    from rich.text import Text

    from autocomp.agents import menu as menus
    from autocomp.report import make_console

    merged = menus.load(names, paths)
    if as_json:
        print_json({"name": merged.name, "options": [dataclasses.asdict(option) for option in merged.options]})
        return
    table = Table()
    for heading in ("option", "title", "transformation", "against"):
        table.add_column(heading, overflow="fold")
    for option in merged.options:
        table.add_row(
            option.id, Text(option.title), option.transformation or "-", ", ".join(option.applies.causes) or "-"
        )
    make_console(sys.stdout, plain).print(table)
