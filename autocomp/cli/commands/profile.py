"""`autocomp profile`: where the time of a kernel goes, and what would change it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from autocomp.cli.commands.run import read_kernel
from autocomp.cli.options import define_option, output_options, path_option, print_json, say, set_option, target_option
from autocomp.cli.problem import load_problem
from autocomp.data import write_output


@click.command()
@click.argument("kernel", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--workload", required=True, help="Workload of the kernel: a file, or the name of a shipped one.")
@click.option(
    "--trace", type=click.Path(path_type=Path, dir_okay=False), help="Also write a timeline to this file, for Perfetto."
)
@target_option
@set_option
@define_option
@path_option
@output_options
def profile(
    kernel: Path,
    workload: str,
    trace: Path | None,
    target_spec: str | None,
    overrides: dict[str, int | float],
    definitions: dict[str, int | float],
    paths: tuple[Path, ...],
    as_json: bool,
    plain: bool,
) -> None:
    """Show where the time of the kernel in the file KERNEL goes ("-" for standard input).

    The kernel is run once, on the workload's first input; its results are not checked (`autocomp run` does that).
    """
    from autocomp.report import make_console
    from autocomp.report.profile import print_profile
    from autocomp.targets.serial import to_document

    text = read_kernel(kernel)
    loaded, target = load_problem(workload, paths, overrides, target_spec, definitions=definitions)
    recorded = target.record(text, loaded, str(kernel))
    profiled = recorded.profile()
    if trace is not None:
        write_output(trace, json.dumps(recorded.timeline()))
    if as_json:
        print_json(to_document(profiled))
        return
    console = make_console(sys.stdout, plain)
    print_profile(console, profiled)
    for sentence in recorded.story():
        console.print(sentence, markup=False, highlight=False)
    if trace is not None:
        say(f"timeline: {trace}", err=True)
