"""`autocomp fidelity`: how true the simulator's timing is to measured cases."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from autocomp.cli.against import Programs, compare_with_rtl
from autocomp.cli.options import output_options, path_option, print_json, set_option
from autocomp.errors import ConfigError


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--accelerator", default=None, help="Accelerator of the traces (default: the only one that has their commands)."
)
@click.option("--case", "names", multiple=True, help="Replay only this case; repeatable.")
@click.option("--against", type=click.Choice(("rtl",)), default=None, help="Compare with the hardware description.")
@click.option(
    "--random", "count", type=click.IntRange(min=0), help="Number of random programs to run on it (default: 20)."
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the first random program (default: 0).")
@click.option("--length", type=click.IntRange(min=1), help="Most commands of a random program (default: 40).")
@click.option(
    "--bound",
    type=click.FloatRange(min=0),
    help="Largest relative error of cycles that counts as equal (default: 0.05).",
)
@click.option(
    "--seconds", type=click.FloatRange(min=0), help="Start no program after this many seconds (default: no limit)."
)
@set_option
@path_option
@output_options
def fidelity(
    folder: Path,
    accelerator: str | None,
    names: tuple[str, ...],
    against: str | None,
    count: int | None,
    seed: int | None,
    length: int | None,
    bound: float | None,
    seconds: float | None,
    overrides: dict[str, int | float],
    paths: tuple[Path, ...],
    as_json: bool,
    plain: bool,
) -> None:
    """Replay the measured cases in DIR (cycles.csv and traces/), and print the error of each group.

    With --against rtl the cases are measured anew on the hardware description of --accelerator, and the programs in DIR
    (*.c) and random legal ones run on both, each reported as it ends. Programs that differ are shrunk and written into
    DIR; the exit code is then 9.
    """
    from autocomp.report import make_console
    from autocomp.report.fidelity import errors_table
    from autocomp.targets.simulator.fidelity import by_group, measure, not_replayed, rank_correlation

    chosen = {"count": count, "seed": seed, "length": length, "bound": bound, "seconds": seconds}
    given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    if against is not None:
        programs = replace(Programs(), **given)
        return compare_with_rtl(folder, accelerator, overrides, names, programs, paths, as_json=as_json, plain=plain)
    if given or overrides:
        raise ConfigError("--random, --seed, --length, --bound, --seconds and --set need --against rtl")
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
        return None
    console = make_console(sys.stdout, plain)
    console.print(errors_table(groups))
    if correlation is not None:
        console.print(f"Spearman rank correlation over the GEMM schedules: {correlation:.4f}")
    for reason, count in not_replayed(cases).items():
        console.print(f"not replayed: {count}: {reason}", markup=False)
    return None


def _accelerator_of(folder: Path, paths: tuple[Path, ...]) -> str:
    """The accelerator that has all commands of the first trace for which there is just one."""
    from autocomp.cli.machine import accelerator_of

    traces = sorted((folder / "traces").glob("*.txt*"))
    missing = "has no traces" if folder.is_dir() else "is not a folder"
    refused = ConfigError(f"{folder} {missing}", hint="give a folder with cycles.csv and traces/")
    for trace in traces:
        try:
            return accelerator_of(trace, paths)
        except ConfigError as error:
            refused = error
    raise refused
