"""`autocomp workloads`: what there is to search for."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from autocomp.cli.options import output_options, path_option, print_json, warn


@click.command()
@path_option
@output_options
def workloads(paths: tuple[Path, ...], as_json: bool, plain: bool) -> None:
    """List the workloads that a search finds by name."""
    from autocomp import workload as loader
    from autocomp.cli.listing import named_files
    from autocomp.errors import AutocompError
    from autocomp.report import make_console
    from autocomp.report.grid import Grid, name

    listed = []
    for file in named_files("workloads", ".yaml", paths).values():
        try:
            listed.append(loader.load(file, paths))
        except AutocompError as error:
            warn(f"left out {file}: {error}")
    if as_json:
        print_json(
            [
                {
                    "name": w.name,
                    "operation": w.operation,
                    "target": w.target,
                    "accelerator": w.accelerator,
                    "dims": dict(w.dims),
                    "multiply_accumulates": w.multiply_accumulates,
                    "path": w.path,
                }
                for w in listed
            ]
        )
        return
    grid = Grid("", *(name(heading) for heading in ("workload", "operation", "accelerator", "dims", "file")))
    for w in listed:
        dims = " ".join(f"{dimension}={size}" for dimension, size in w.dims.items())
        grid.add(w.name, w.operation, w.accelerator, dims, Path(w.path).name)
    make_console(sys.stdout, plain).print(grid)
