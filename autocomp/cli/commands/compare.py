"""`autocomp compare`: why one kernel of a workload is faster than another."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from autocomp.cli.commands.run import read_kernel
from autocomp.cli.options import define_option, output_options, path_option, print_json, set_option, target_option
from autocomp.cli.problem import load_problem


@click.command()
@click.argument("first", type=click.Path(path_type=Path, allow_dash=True))
@click.argument("second", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--workload", required=True, help="Workload of both kernels: a file, or the name of a shipped one.")
@target_option
@set_option
@define_option
@path_option
@output_options
def compare(
    first: Path,
    second: Path,
    workload: str,
    target_spec: str | None,
    overrides: dict[str, int | float],
    definitions: dict[str, int | float],
    paths: tuple[Path, ...],
    as_json: bool,
    plain: bool,
) -> None:
    """Explain how the time of the kernel SECOND differs from that of FIRST, by cause and by line.

    Each kernel is run once, on the workload's first input; results are not checked (`autocomp run` does that).
    """
    from autocomp.report import make_console
    from autocomp.report.compare import print_comparison
    from autocomp.targets.simulator.profile.compare import compare as compared

    if str(first) == str(second) == "-":
        raise click.UsageError("only one of the two kernels can come from standard input")
    texts = [(read_kernel(kernel), str(kernel)) for kernel in (first, second)]
    loaded, target = load_problem(workload, paths, overrides, target_spec, definitions=definitions)
    comparison = compared(*(target.record(text, loaded, name).profile() for text, name in texts))
    if as_json:
        print_json(comparison.to_json())
    else:
        print_comparison(make_console(sys.stdout, plain), comparison)
