"""`autocomp isa`: read and check descriptions of accelerators."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from autocomp.cli.options import json_option, output_options, path_option, print_json, set_option


@click.group()
def isa() -> None:
    """Read and check descriptions of accelerators."""


@isa.command()
@click.argument("name")
@click.option("--markdown", is_flag=True, help="Print the page as Markdown source.")
@set_option
@path_option
@output_options
def show(
    name: str,
    markdown: bool,
    overrides: dict[str, int | float],
    paths: tuple[Path, ...],
    as_json: bool,
    plain: bool,
) -> None:
    """Print the reference page of the accelerator NAME (a file, or the name of a shipped one)."""
    from autocomp import isa as language

    accelerator = language.load(name, overrides, paths)
    page = language.reference(accelerator, markdown)
    if as_json:
        print_json(
            {
                "name": accelerator.name,
                "doc": accelerator.doc,
                "parameters": dict(accelerator.parameters),
                "constants": dict(accelerator.constants),
                "instructions": [i.name for i in accelerator.instructions],
                "aliases": [a.name for a in accelerator.aliases],
                "memories": {
                    m.name: {"rows": m.rows, "cols": m.cols, "element": m.element} for m in accelerator.memories
                },
                "digest": accelerator.digest,
                "path": accelerator.path,
                "reference": page,
            }
        )
        return
    click.echo(page, file=sys.stdout)


@isa.command()
@click.argument("file")
@set_option
@path_option
@json_option
def check(file: str, overrides: dict[str, int | float], paths: tuple[Path, ...], as_json: bool) -> None:
    """Check that FILE parses and can be simulated."""
    from autocomp import isa as language

    accelerator = language.load(file, overrides, paths)
    language.lower(accelerator)
    if as_json:
        print_json({"name": accelerator.name, "ok": True, "digest": accelerator.digest, "path": accelerator.path})
        return
    click.echo(
        f"{accelerator.name}: {len(accelerator.instructions)} instructions, {len(accelerator.aliases)} aliases, "
        f"{len(accelerator.memories)} memories, {len(accelerator.units)} units: fine"
    )
